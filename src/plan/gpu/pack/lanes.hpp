// Inside the setup of pack: how runs of the destination that begin anywhere are cut into pieces,
// and how lanes are laid over them. pack/setup.hpp is what others see.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/problem.hpp"
#include "kernels/pack.hpp"
#include "plan/gpu/pack.hpp"
#include "plan/gpu/pack/box.hpp"

namespace cornerturn::plan::gpu::pack {

/// The table of places has so many bytes at most, and no more than half of the box's or `little`.
struct TableRoom {
  static constexpr std::int64_t most = 16 << 10, little = 4 << 10;

  static std::int64_t of(std::int64_t box_bytes) {
    return std::min(most, std::max(box_bytes / 2, little));
  }
};

/// Whether lanes write single elements: of so short runs most lie in no whole unit.
bool takes_single(const Box& box, const Problem& normal);

/// The runs that such lanes take, or those of the box: several short ones count as one run, with
/// the gaps between them.
Box::Side single_runs(const Box& box, const Problem& normal);

/// The runs as lanes take them: those of the box, or what some of their modes make. Lanes then have
/// the same offsets in more of them.
Box::Side runs_for_lanes(const PackConfig& config, const Box& box, const Problem& normal);

/// Cuts such runs into pieces, and lays lanes over these.
void choose_lanes(kernels::PackArgs& args, const PackConfig& config, const Box& box,
                  const Box::Side& to, const Problem& normal);

}  // namespace cornerturn::plan::gpu::pack
