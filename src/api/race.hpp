// A race on the caller's data: the first few per cent of a large job are done by the best
// candidates, one after the other, and the rest by the fastest of them. All of it is useful work,
// so a wrong estimate costs per cents.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "plan/learning.hpp"
#include "plan/plan.hpp"

namespace cornerturn {

/// Jobs of fewer bytes are not raced, nor are those of less than 4 MiB for each thread.
inline constexpr std::int64_t race_bytes = 16 << 20;

struct Raced {
  plan::Plan plan;                      ///< with the winner chosen
  std::vector<const plan::Row*> close;  ///< that may still be the fastest; empty: any may
};

/// Solves the plan's problem by `run_part`, and returns the plan with the winner chosen. Nothing is
/// done, and nothing returned, where a race is not worth it: for a GPU, for less than race_bytes,
/// where no other kernel is expected to take less than four times as long, and where the problem
/// cannot be cut into slices. `dst_phase` is that of the plan's request: estimates of the parts add
/// their offsets to it.
std::optional<Raced> raced(const plan::Plan& plan, const plan::TimedRun& run_part,
                           int dst_phase = 0);

}  // namespace cornerturn
