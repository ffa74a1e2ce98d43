// The work of a call, once all is numbers: addresses, a shape and strides in bytes.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <functional>
#include <vector>

#include "cornerturn/epilogue.hpp"
#include "cornerturn/plan.hpp"
#include "cornerturn/view.hpp"

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

/// The same where the GIL was released: a long call on the CPU works piece by piece, and throws
/// nanobind::python_error between two of them when a signal's handler has raised (Ctrl-C).
void execute_in_pieces(const Sides& sides, int device, std::uintptr_t stream);

/// The link between host memory and a GPU, and the stream on which the GPU works.
struct Link {
  int gpu = 0;
  std::uintptr_t stream = 0;
  bool waits = true;  ///< until the stream has done the work
  int blocks = 0;     ///< of kernels that reach over it, at most; 0: as many as the GPU takes
};

/// execute_in_pieces() where one side lies in host memory, the other one in that of a GPU. True:
/// the GPU may still reach for the host's side, which is pinned, when it returns.
bool execute_across(const Sides& sides, const Link& link);

/// Arrays of host memory, packed and of one shape: `rows` rows of `row` elements.
struct Stack {
  std::vector<std::uintptr_t> arrays;
  std::int64_t itemsize = 0;
  std::int64_t rows = 0;
  std::int64_t row = 1;
};

/// dst[r][k] = arrays[k][r] for every row r, piece by piece like execute_in_pieces.
void interleave_in_pieces(std::uintptr_t dst, const Stack& stack);

/// Sets the most bytes of a piece, and returns what was set before.
std::int64_t check_signals_every(std::int64_t bytes);

/// The same with values that change on their way. The epilogue's vectors lie on the same device.
void execute_converting(const View& dst, const ConstView& src, const Epilogue& epilogue, int device,
                        std::uintptr_t stream);

/// execute_across() with values that change on their way. Each of the epilogue's vectors lies on
/// one of the two sides.
bool convert_across(const View& dst, const ConstView& src, const Epilogue& epilogue,
                    const Link& link);

/// The plan for it. Addresses may be 0; `gpu` is then of no meaning.
Plan make_plan(const Sides& sides, int gpu, Options options);

/// The same with values that change on their way.
Plan make_plan(const View& dst, const ConstView& src, int gpu, Options options);

/// work(), while the GPU `device` is the current one; for `host` as things are.
void on_device(int device, const std::function<void()>& work);

/// The number of the GPU in whose memory `address` lies; `host` for host memory.
int gpu_of(std::uintptr_t address);

/// How many GPUs are here, one at least: throws otherwise.
int gpu_count();

/// The number of the calling thread's current GPU.
int current_gpu();

/// Keeps `object` alive until a GPU's stream has done what it has to do now. The GIL is held. A
/// stream that is being captured keeps nothing: a graph's memory belongs to whoever made the graph.
void keep(nanobind::object object, int device, std::uintptr_t stream);

/// Waits until a GPU's stream has done its work.
void synchronize(int device, std::uintptr_t stream);

}  // namespace cornerturn::python
