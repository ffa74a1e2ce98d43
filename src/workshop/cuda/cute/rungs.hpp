// The launches behind the table in cute_rungs.cu, without CuTe's headers.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "workshop/cuda/cute_rungs.hpp"

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
cudaError_t cute_tma_copy(const Call& call);
cudaError_t cute_naive(const Call& call);
cudaError_t cute_naive_wide(const Call& call);
cudaError_t cute_smem(const Call& call);
cudaError_t cute_smem_pad(const Call& call);
cudaError_t cute_smem_swizzle(const Call& call);
cudaError_t cute_smem_swizzle_2way(const Call& call);
cudaError_t cute_smem_swizzle_64(const Call& call);
cudaError_t cute_tma_store(const Call& call);
cudaError_t cute_tma(const Call& call);
cudaError_t cute_tma_diagonal(const Call& call);

}  // namespace cornerturn::with_cute
