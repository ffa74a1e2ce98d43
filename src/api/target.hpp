// Where the work of a call is done: what its pointers and its options say.
#pragma once

#include <optional>
#include <vector>

#include "api/any_plan.hpp"
#include "core/normalise.hpp"
#include "cornerturn/epilogue.hpp"
#include "cornerturn/plan.hpp"
#include "cornerturn/view.hpp"

namespace cornerturn {

struct Target {
  int gpu = -1;           ///< the number of the current GPU; -1: the CPU
  std::int64_t src = 16;  ///< for a GPU: the alignment of the source pointer, at most 16
  std::int64_t dst = 16;

  friend bool operator==(const Target&, const Target&) = default;
};

/// That of an address, at most 16.
inline std::int64_t alignment_of(const void* pointer) {
  const auto address = reinterpret_cast<std::uintptr_t>(pointer) | 16;
  return static_cast<std::int64_t>(address & -address);
}

/// Throws an Error that names the argument unless both pointers (where they are set) lie where
/// options.device says, or on one side: the host's, or the current GPU's.
Target target_of(const Options& options, const void* dst, const void* src,
                 const Vectors& vectors = {});

/// A pointer and what an error calls it; null ones lie nowhere.
struct NamedPointer {
  const char* name;
  const void* pointer;
};

/// The number of the current GPU where all pointers lie on it (or are managed), -1 where all lie in
/// host memory. Throws an Error that names one that lies elsewhere than the others.
int gpu_of(const std::vector<NamedPointer>& pointers);

/// Throws an Error that names the argument unless its elements lie at multiples of their size, as
/// on a GPU, where an element is one access.
void check_elements_aligned(const char* name, const void* data, ElementType type,
                            const Extents& strides);

/// copy(), where the caller knows that both sides lie on `target`.
void copy_on(const Target& target, const View& dst, const ConstView& src, const Epilogue& epilogue,
             const Options& options);

/// The GPU that options.device describes; nothing when it asks for the CPU or a GPU here.
std::optional<plan::gpu::DeviceInfo> described_device(const Options& options);

/// Throws unless the pointers are set, do not overlap, lie where the plan runs and are aligned as
/// it needs.
void check_runs_on(const plan::AnyPlan& plan, const void* dst, const void* src,
                   const Vectors& vectors);

}  // namespace cornerturn
