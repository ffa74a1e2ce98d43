// What things cost a CPU's kernels, of all families together: what `planning_check --fit` fits to
// measurements, and what a file of devices/cpu/ holds for a processor.
#pragma once

#include <string>
#include <vector>

#include "plan/amax.hpp"
#include "plan/blocks.hpp"
#include "plan/boxes.hpp"
#include "plan/convert.hpp"
#include "plan/copy.hpp"
#include "plan/cost.hpp"
#include "plan/gather.hpp"
#include "plan/pack.hpp"
#include "plan/pack_lines.hpp"
#include "plan/passes.hpp"
#include "plan/rows.hpp"
#include "plan/shuffle.hpp"
#include "plan/strided.hpp"
#include "plan/swap.hpp"
#include "plan/tile.hpp"
#include "plan/units.hpp"

namespace cornerturn::plan {

/// Each family says what its own costs are. As they stand there, they are those of one thread of a
/// Zen 4 processor with AVX-512, unless the family names another, and hold where no file does.
struct CpuCosts {
  plan::copy::Costs copy;
  plan::rows::Costs rows;
  plan::units::Costs units;
  plan::tile::Costs tile;
  plan::pack_lines::Costs pack_lines;
  plan::pack::Costs pack;
  plan::boxes::Costs boxes;
  plan::shuffle::Costs shuffle;
  plan::strided::Costs strided;
  plan::convert::Costs convert;
  plan::gather::Costs gather;
  plan::blocks::Costs blocks;
  plan::amax::Costs amax;
  plan::swap::Costs swap;
  plan::passes::Costs passes;

  /// All numbers with their full names: "tile.read_line_ns".
  struct Named {
    std::string name;
    Cost* cost;
  };
  std::vector<Named> named();

  friend bool operator==(const CpuCosts&, const CpuCosts&) = default;
};

}  // namespace cornerturn::plan
