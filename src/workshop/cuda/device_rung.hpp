// A rung as the launcher sees it. The rungs of the kernel form become such rows by one template
// (kernel_rungs.cu), those in CuTe's own words from the table in cute_rungs.hpp.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "cornerturn/element_type.hpp"
#include "cuda/stream.hpp"
#include "workshop/cuda/ladder.hpp"

namespace cornerturn::cuda {

/// rows x cols, row-major, becomes cols x rows, row-major; or a stack of such matrices becomes the
/// stack of their transposes. Both are device memory.
struct DeviceMatrix {
  const void* src = nullptr;
  void* dst = nullptr;
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  int element_bytes = 4;
  std::int64_t batch = 1;
  bool fused = false;  ///< the source has row 0 of each matrix, then row 1 of each

  bool is_stack() const { return batch != 1 || fused; }
};

/// The kernel that a launch would start, for its attributes and its occupancy.
struct LaunchShape {
  const void* kernel = nullptr;  ///< the __global__ function
  std::int64_t blocks = 0;
  int threads = 0;
  int dynamic_shared = 0;  ///< bytes
};

struct DeviceRung {
  RungInfo info;
  bool takes_stacks = false;
  /// Why this case is not applicable, in one line; empty if it is. Called for element sizes that
  /// `info` names and for any extents >= 0.
  std::function<std::string(const DeviceMatrix&)> why_not;
  std::function<LaunchShape(const DeviceMatrix&)> shape;
  /// Enqueues one launch, and sets the attributes it needs. Does nothing for an empty matrix. The
  /// caller asks CUDA for errors afterwards.
  std::function<void(const DeviceMatrix&, Stream)> launch;
  /// The same with elements that change their type; null where the rung converts none. False: it
  /// does not know these types.
  bool (*convert)(const DeviceMatrix&, Kind src, Kind dst, Stream) = nullptr;
};

}  // namespace cornerturn::cuda
