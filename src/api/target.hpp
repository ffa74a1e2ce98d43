// Where the work of a call is done: what its pointers and its options say.
#pragma once

#include <optional>
#include <vector>

#include "core/buffers.hpp"
#include "core/normalise.hpp"
#include "cornerturn/epilogue.hpp"
#include "cornerturn/plan.hpp"
#include "cornerturn/view.hpp"
#include "plan/link/link_info.hpp"
#include "plan/plan.hpp"

namespace cornerturn {

struct Target {
  int gpu = -1;                  ///< the number of the current GPU; -1: the CPU
  Alignment alignment{true};     ///< for a GPU: of the pointers, each at most 16
  plan::Crossing crossing = {};  ///< where one side lies in host memory, the other one on the GPU

  friend bool operator==(const Target&, const Target&) = default;
};

/// That of an address, at most 16.
inline std::int64_t alignment_of(const void* pointer) {
  const auto address = reinterpret_cast<std::uintptr_t>(pointer) | 16;
  return static_cast<std::int64_t>(address & -address);
}

/// The target of pointers of which the caller knows that they lie there. gpu = -1: the CPU.
inline Target target_on(int gpu, const void* dst, const void* src) {
  Target target{gpu};
  if (gpu < 0) return target;
  target.alignment.dst = alignment_of(dst);
  target.alignment.src = alignment_of(src);
  return target;
}

/// Throws an Error that names the argument unless both pointers (where they are set) lie where
/// options.device says, or each of them in host memory or on the current GPU.
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

/// The target of a call with any number of pointers; the caller fills in the alignments of a GPU's.
Target target_of(const Options& options, const std::vector<NamedPointer>& pointers);

/// That of a copy by lists: `dst` and `src` are null where pointers say where a side lies, and the
/// tables, in memory of the GPU, are null where there are none. Both sides may lie across the link.
Target target_of_lists(const Options& options, const void* dst, const void* src,
                       const Vectors& vectors, const ListTables& tables);

/// Throws where options.blocks is negative, or given although nothing crosses the link.
void check_blocks(const Options& options, bool crosses);

/// Throws unless options.device is a device that is here.
void require_here(const Options& options);

/// The GPU that options.device describes; nothing when it asks for the CPU or a GPU here.
std::optional<plan::gpu::DeviceInfo> described_device(const Options& options);

/// Throws unless the pointers are set, do not overlap, lie where the plan runs and are aligned as
/// it needs.
void check_runs_on(const plan::Plan& plan, const Buffers& buffers);

}  // namespace cornerturn
