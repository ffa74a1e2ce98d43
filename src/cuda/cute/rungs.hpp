// The launches behind the table in cute_rungs.cu, without CuTe's headers.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "cuda/cute_rungs.hpp"

namespace cornerturn::with_cute {

using Element = std::uint32_t;

/// What a rung is asked: to launch, or, where `shape` is not null, only what it would launch.
struct Call {
  const Element* src = nullptr;
  Element* dst = nullptr;
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  cudaStream_t stream = nullptr;
  ladder::CuteLaunch* shape = nullptr;
};

cudaError_t cute_copy(const Call& call);

}  // namespace cornerturn::with_cute
