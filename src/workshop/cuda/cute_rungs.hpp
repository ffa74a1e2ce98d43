// The ladder's rungs in CuTe's words and with TMA: one row each, in the order of the climb.
#pragma once

#include <cstdint>
#include <span>

struct CUstream_st;

namespace cornerturn::ladder {

/// What a launch starts, for its attributes and its occupancy.
struct CuteLaunch {
  const void* kernel = nullptr;  ///< the __global__ function
  std::int64_t blocks = 0;
  int threads = 0;
  int dynamic_shared = 0;  ///< bytes
};

struct CuteRung {
  const char* name;
  const char* shows;
  bool transposes;  ///< or it copies
  int element_bytes;

  /// Null where it can run; otherwise the rule that this case breaks.
  const char* (*why_not)(std::int64_t rows, std::int64_t cols, int element_bytes);

  // The other two are null in a build without CuTe.

  /// rows x cols, row-major and packed, becomes cols x rows. Asynchronous on the stream; the
  /// answer, a cudaError_t, is about the launch alone. Both pointers are multiples of 16 bytes, or
  /// it is cudaErrorMisalignedAddress. Only for cases that why_not lets pass.
  int (*launch)(const void* src, void* dst, std::int64_t rows, std::int64_t cols,
                CUstream_st* stream);

  CuteLaunch (*shape)(std::int64_t rows, std::int64_t cols);
};

/// All of them, also where the build had no CuTe: then why_not says so of each.
std::span<const CuteRung> cute_rungs();

}  // namespace cornerturn::ladder
