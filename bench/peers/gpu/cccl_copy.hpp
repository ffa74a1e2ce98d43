// What cccl_peer.py calls: cuda::copy of CCCL between two device mdspans of up to 12 axes.
#pragma once

#include <cstdint>

/// Copies elements of `element_bytes` from `src` to `dst`, which are the addresses of the elements
/// of index 0; strides are in elements. Returns nullptr, or what is wrong, which stays valid until
/// the next call on the same thread.
extern "C" __attribute__((visibility("default"))) const char* cornerturn_cccl_copy(
    int element_bytes, int rank, const std::int32_t* extents, const std::int32_t* src_strides,
    const std::int32_t* dst_strides, const void* src, void* dst, void* stream);

/// The version of CCCL: 3006000 is 3.6.0.
extern "C" __attribute__((visibility("default"))) int cornerturn_cccl_version();

namespace cornerturn::bench {

struct CcclCopy {
  int rank;
  const std::int32_t* extents;
  const std::int32_t* src_strides;
  const std::int32_t* dst_strides;
  const void* src;
  void* dst;
  void* stream;
};

/// Copies elements of so many bytes, each compiled from cccl_copy.cu on its own. False where the
/// rank is none that was compiled.
template <int ElementBytes>
bool cccl_copy(const CcclCopy& copy);

}  // namespace cornerturn::bench
