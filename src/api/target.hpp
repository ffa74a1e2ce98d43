// Where the work of a call is done: what its pointers and its options say.
#pragma once

#include <optional>

#include "api/any_plan.hpp"
#include "core/normalise.hpp"
#include "cornerturn/plan.hpp"

namespace cornerturn {

struct Target {
  int gpu = -1;           ///< the number of the current GPU; -1: the CPU
  std::int64_t src = 16;  ///< for a GPU: the alignment of the source pointer, at most 16
  std::int64_t dst = 16;

  friend bool operator==(const Target&, const Target&) = default;
};

/// Throws an Error that names the argument unless both pointers (where they are set) lie where
/// options.device says, or on one side: the host's, or the current GPU's.
Target target_of(const Options& options, const void* dst, const void* src);

/// The GPU that options.device describes; nothing when it asks for the CPU or a GPU here.
std::optional<plan::gpu::DeviceInfo> described_device(const Options& options);

/// Throws unless the pointers are set, do not overlap, lie where the plan runs and are aligned as
/// it needs.
void check_runs_on(const plan::AnyPlan& plan, const void* dst, const void* src);

}  // namespace cornerturn
