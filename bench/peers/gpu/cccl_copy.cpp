#include "cccl_copy.hpp"

#include <cuda/std/version>
#include <exception>
#include <string>

namespace cornerturn::bench {
namespace {

bool copy_elements(int element_bytes, const CcclCopy& copy) {
  switch (element_bytes) {
    case 1:
      return cccl_copy<1>(copy);
    case 2:
      return cccl_copy<2>(copy);
    case 4:
      return cccl_copy<4>(copy);
    case 8:
      return cccl_copy<8>(copy);
    case 16:
      return cccl_copy<16>(copy);
    default:
      return false;
  }
}

}  // namespace
}  // namespace cornerturn::bench

const char* cornerturn_cccl_copy(int element_bytes, int rank, const std::int32_t* extents,
                                 const std::int32_t* src_strides, const std::int32_t* dst_strides,
                                 const void* src, void* dst, void* stream) {
  thread_local std::string error;
  try {
    const bool done = cornerturn::bench::copy_elements(
        element_bytes, {rank, extents, src_strides, dst_strides, src, dst, stream});
    return done ? nullptr : "it was not compiled for this rank or element";
  } catch (const std::exception& e) {
    error = e.what();
    return error.c_str();
  }
}

int cornerturn_cccl_version() {
  return CCCL_VERSION;
}
