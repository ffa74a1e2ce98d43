// The work of a call, once all is numbers: addresses, a shape and strides in bytes.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "cornerturn/element_type.hpp"
#include "cornerturn/epilogue.hpp"
#include "cornerturn/plan.hpp"

namespace cornerturn::python {

struct Sides {
  std::uintptr_t dst = 0;
  std::uintptr_t src = 0;
  std::int64_t itemsize = 0;
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> dst_strides;  ///< in bytes
  std::vector<std::int64_t> src_strides;  ///< in bytes
};

constexpr int host = -1;

/// dst[i] = src[i] for every index i. `device` is the number of a GPU, or `host`; `stream` the
/// cudaStream_t on which a GPU works. Does not need the GIL. Throws cornerturn::Error.
void execute(const Sides& sides, int device, std::uintptr_t stream);

/// The same with values that change: from elements of one type to those of another, with an
/// epilogue, whose vectors lie on the same device.
void execute_converting(const Sides& sides, ElementType dst_type, ElementType src_type,
                        const Epilogue& epilogue, int device, std::uintptr_t stream);

/// The plan for it. Addresses may be 0; `gpu` is then of no meaning.
Plan make_plan(const Sides& sides, int gpu, const Options& options);

/// work(), while the GPU `device` is the current one; for `host` as things are.
void on_device(int device, const std::function<void()>& work);

/// The number of the GPU in whose memory `address` lies; `host` for host memory.
int gpu_of(std::uintptr_t address);

/// Waits until a GPU's stream has done its work.
void synchronize(int device, std::uintptr_t stream);

}  // namespace cornerturn::python
