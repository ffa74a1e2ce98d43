// A stream of the CUDA runtime, for headers that plain C++ reads.
#pragma once

struct CUstream_st;

namespace cornerturn::cuda {

using Stream = CUstream_st*;

}  // namespace cornerturn::cuda
