// The rungs of the ladder on a GPU: each run, checked and timed. Plain C++: no CUDA types, and
// callable in every build; without a GPU everything but rungs() throws Error(unsupported).
//
//   cuda::LadderCase matrices(4096, 4096, 4);
//   for (const cuda::RungInfo& rung : cuda::rungs()) show(matrices.measure(rung.name));
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cornerturn/element_type.hpp"
#include "cuda/device.hpp"

struct CUstream_st;

namespace cornerturn::cuda {

struct DeviceMatrix;

struct RungInfo {
  std::string name;
  std::string shows;               ///< one line
  std::string family;              ///< "cuda" or "cute"
  bool transposes = true;          ///< false: a plain copy
  std::vector<int> element_bytes;  ///< those it takes
};

/// In the order of the climb: those of workshop/rungs/registry.hpp, which every build lists, then
/// CuTe's, which builds with the CUTLASS headers have.
std::vector<RungInfo> rungs();

/// Why the CuTe rungs are missing from rungs(), in one line; empty if they are there.
std::string why_no_cute();

/// Enqueues one launch of the rung on a stream of GPU number `device`, where both matrices are,
/// apart from each other; any extents >= 0. Throws Error: invalid_argument for an unknown rung and
/// wrong extents, unsupported where the rung does not apply, with the reason, and where there is no
/// GPU.
void run_rung(std::string_view rung, const DeviceMatrix& matrix, int device, CUstream_st* stream);

/// The same for a rung that changes the type of the elements; `matrix.element_bytes` is not read.
void run_converting_rung(std::string_view rung, const DeviceMatrix& matrix, ElementType src_type,
                         ElementType dst_type, int device, CUstream_st* stream);

/// How often something was timed, and what came out.
struct Timing {
  double seconds = 0;  ///< median of one launch
  double noise = 0;    ///< median absolute deviation, scaled to a standard deviation, as a share
  int runs = 0;
};

/// What one launch occupies.
struct Occupancy {
  std::int64_t blocks = 0;  ///< of the grid
  int threads = 0;          ///< of a block
  int registers = 0;        ///< of a thread
  int local_bytes = 0;      ///< of a thread: stack and spilled registers; 0 is what one wants
  int shared_bytes = 0;     ///< of a block, static and dynamic
  int blocks_per_sm = 0;    ///< resident at once
};

struct Measurement {
  std::string why_not;  ///< not empty: the rung does not apply to this case, and nothing was run
  bool verified = false;
  std::string wrong;  ///< where the result first differs, or what else is wrong; empty if verified
  Occupancy occupancy;
  /// Cold: the L2 cache was filled with other data before each launch. Warm: launched again and
  /// again on the same matrices, from a graph; those that fit into the L2 cache stay there.
  Timing cold;
  Timing warm;
  /// The fastest of three plain copies of the same bytes, in rounds with the rung.
  Timing copy_cold;
  Timing copy_warm;
  std::string copy_cold_by;  ///< "cudaMemcpyAsync", the same "in whole 4 KiB", or "vector copy"
  std::string copy_warm_by;
};

struct MeasureOptions {
  bool verify = true;
  bool time = true;
  double budget = 0.2;  ///< seconds for each of cold and warm, after which no run is added
  int min_runs = 5;     ///< even past the budget
  int max_runs = 50;
  /// Elements by which the first element of either matrix is moved from an aligned address.
  int src_offset = 0;
  int dst_offset = 0;
  /// Of each guard zone. 0 lets a memory checker see the very first byte beyond a matrix.
  std::int64_t guard_bytes = 65536;
};

/// How many matrices a case has, one after the other; fused: row 0 of each, then row 1 of each.
struct Stack {
  std::int64_t batch = 1;
  bool fused = false;
};

/// A rows x cols matrix of numbers on the GPU, or a stack of them, and room for what a rung makes
/// of it.
///
/// `measure` compares all elements bitwise with a reference that computes each on its own; before
/// each launch that is checked, the output holds the complement of what is expected everywhere, and
/// both matrices lie between guard zones, which must not change; nor must the source.
class LadderCase {
 public:
  /// Throws Error: invalid_argument (a negative extent or batch, elements not of 1, 2, 4, 8 bytes),
  /// overflow, unsupported (no GPU), out_of_memory (too little GPU memory).
  LadderCase(std::int64_t rows, std::int64_t cols, int element_bytes,
             const MeasureOptions& options = {}, const Stack& stack = {});
  ~LadderCase();
  LadderCase(LadderCase&&) noexcept;
  LadderCase& operator=(LadderCase&&) noexcept;

  /// Throws Error(invalid_argument) for an unknown rung and Error(internal) when a launch fails.
  Measurement measure(std::string_view rung);

  /// Launches the rung once, unchecked, and lets a profiler that was told to wait (ncu
  /// --profile-from-start off) see this launch alone. Returns why it does not apply, or nothing.
  std::string launch(std::string_view rung);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace cornerturn::cuda
