// THE list: every family of kernels for GPUs, in the order in which equals are preferred. The one
// that takes longest to plan for comes after all others that move values: it often need not be
// planned for (Family::least_demand). The build reads the list as well, for the files that are
// compiled once a family.
#pragma once

#include <vector>

#include "plan/gpu/amax.hpp"
#include "plan/gpu/blocks.hpp"
#include "plan/gpu/copy.hpp"
#include "plan/gpu/cycles.hpp"
#include "plan/gpu/dequantise.hpp"
#include "plan/gpu/family.hpp"
#include "plan/gpu/fine.hpp"
#include "plan/gpu/gather.hpp"
#include "plan/gpu/list_rows.hpp"
#include "plan/gpu/pack.hpp"
#include "plan/gpu/pages.hpp"
#include "plan/gpu/panels.hpp"
#include "plan/gpu/passes.hpp"
#include "plan/gpu/quantise.hpp"
#include "plan/gpu/repeat.hpp"
#include "plan/gpu/rows.hpp"
#include "plan/gpu/skew.hpp"
#include "plan/gpu/slide.hpp"
#include "plan/gpu/structures.hpp"
#include "plan/gpu/swap.hpp"
#include "plan/gpu/tile.hpp"

namespace cornerturn::plan::gpu {

// The build reads one a line.
// clang-format off
using Families = TypeList<
    copy::Family,
    rows::Family,
    structures::Family,
    tile::Family,
    skew::Family,
    fine::Family,
    gather::Family,
    repeat::Family,
    pack::Family,
    list_rows::Family,
    pages::Family,
    quantise::Family,
    dequantise::Family,
    blocks::Family,
    amax::Family,
    swap::Family,
    panels::Family,
    cycles::Family,
    slide::Family,
    passes::Family>;
// clang-format on

/// Everything that `planning_check --fit` fits.
struct Costs {
  SharedCosts shared;
  CostsOf<Families> families;

  /// All numbers with their full names: "src_run", "tile.lane".
  using Named = NamedCost;
  std::vector<Named> named();
};

}  // namespace cornerturn::plan::gpu
