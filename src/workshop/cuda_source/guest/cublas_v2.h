// cuBLAS is not run on a CPU. Programs that compare with it compile, and are refused where they
// call it, so that their kernels can still be checked one by one.
#pragma once

#include "cornerturn_guest.hpp"

typedef struct cublasContext* cublasHandle_t;
enum cublasStatus_t {
  CUBLAS_STATUS_SUCCESS,
  CUBLAS_STATUS_NOT_INITIALIZED,
  CUBLAS_STATUS_INTERNAL_ERROR = 14
};
enum cublasOperation_t { CUBLAS_OP_N, CUBLAS_OP_T, CUBLAS_OP_C };
enum cublasMath_t {
  CUBLAS_DEFAULT_MATH,
  CUBLAS_TENSOR_OP_MATH,
  CUBLAS_PEDANTIC_MATH,
  CUBLAS_TF32_TENSOR_OP_MATH
};
enum cublasComputeType_t {
  CUBLAS_COMPUTE_16F = 64,
  CUBLAS_COMPUTE_32F = 68,
  CUBLAS_COMPUTE_32F_FAST_16F = 74,
  CUBLAS_COMPUTE_32F_FAST_TF32 = 77,
  CUBLAS_COMPUTE_64F = 70,
  CUBLAS_COMPUTE_32I = 72
};
enum cublasGemmAlgo_t { CUBLAS_GEMM_DEFAULT = -1, CUBLAS_GEMM_DEFAULT_TENSOR_OP = 99 };
enum cudaDataType {
  CUDA_R_32F = 0,
  CUDA_R_64F = 1,
  CUDA_R_16F = 2,
  CUDA_R_8I = 3,
  CUDA_R_32I = 10,
  CUDA_R_16BF = 14
};
typedef cudaDataType cudaDataType_t;

inline cublasStatus_t cublasCreate(cublasHandle_t* handle) {
  *handle = nullptr;
  return CUBLAS_STATUS_SUCCESS;
}
inline cublasStatus_t cublasDestroy(cublasHandle_t) {
  return CUBLAS_STATUS_SUCCESS;
}
inline cublasStatus_t cublasSetStream(cublasHandle_t, cudaStream_t) {
  return CUBLAS_STATUS_SUCCESS;
}
inline cublasStatus_t cublasSetMathMode(cublasHandle_t, cublasMath_t) {
  return CUBLAS_STATUS_SUCCESS;
}
#define CT_GUEST_REFUSED_BLAS(NAME)     \
  template <class... A>                 \
  cublasStatus_t NAME(A&&...) {         \
    ::cornerturn::guest::refuse(#NAME); \
  }
CT_GUEST_REFUSED_BLAS(cublasSgemm)
CT_GUEST_REFUSED_BLAS(cublasDgemm)
CT_GUEST_REFUSED_BLAS(cublasHgemm)
CT_GUEST_REFUSED_BLAS(cublasSgemv)
CT_GUEST_REFUSED_BLAS(cublasDgemv)
CT_GUEST_REFUSED_BLAS(cublasSgeam)
CT_GUEST_REFUSED_BLAS(cublasSdot)
CT_GUEST_REFUSED_BLAS(cublasSaxpy)
CT_GUEST_REFUSED_BLAS(cublasGemmEx)
CT_GUEST_REFUSED_BLAS(cublasGemmStridedBatchedEx)
CT_GUEST_REFUSED_BLAS(cublasSgemmStridedBatched)
#undef CT_GUEST_REFUSED_BLAS
