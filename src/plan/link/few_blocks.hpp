// Kernels that can run in few blocks, each of which does the work of many.
#pragma once

#include "plan/family.hpp"
#include "plan/gpu/copy.hpp"
#include "plan/gpu/rows.hpp"
#include "plan/gpu/tile.hpp"
#include "plan/plan.hpp"

namespace cornerturn::plan::link {

/// THE list. Blocks of these families ask for nothing but their own number, which is block_id().x.
using FewBlocksFamilies = TypeList<gpu::copy::Family, gpu::rows::Family, gpu::tile::Family>;

bool runs_in_few_blocks(const Row& row);

/// What a block of such a plan loads before it stores, in bytes.
double bytes_of_block(const Plan& plan);

}  // namespace cornerturn::plan::link
