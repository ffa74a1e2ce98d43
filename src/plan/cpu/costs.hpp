// What things cost a CPU's kernels, of all families together: what `planning_check --fit` fits to
// measurements, and what a file of devices/cpu/ holds for a processor.
#pragma once

#include <string>
#include <vector>

#include "plan/cost.hpp"
#include "plan/cpu/amax.hpp"
#include "plan/cpu/blocks.hpp"
#include "plan/cpu/boxes.hpp"
#include "plan/cpu/convert.hpp"
#include "plan/cpu/copy.hpp"
#include "plan/cpu/gather.hpp"
#include "plan/cpu/pack.hpp"
#include "plan/cpu/pack_lines.hpp"
#include "plan/cpu/passes.hpp"
#include "plan/cpu/rows.hpp"
#include "plan/cpu/shuffle.hpp"
#include "plan/cpu/strided.hpp"
#include "plan/cpu/swap.hpp"
#include "plan/cpu/tile.hpp"
#include "plan/cpu/units.hpp"

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
