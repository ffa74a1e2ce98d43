// THE list: every family of routes across the link, in the order in which equals are preferred.
#pragma once

#include "plan/family.hpp"
#include "plan/link/batch.hpp"
#include "plan/link/chunks.hpp"
#include "plan/link/direct.hpp"
#include "plan/link/packed.hpp"

namespace cornerturn::plan::link {

using Families = TypeList<direct::Family, batch::Family, chunks::Family, packed::Family>;

}  // namespace cornerturn::plan::link
