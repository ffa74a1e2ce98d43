// A kernel of this build, to ask the driver whether it has code for a GPU.
#pragma once

namespace cornerturn::cuda {

const void* some_kernel();

}  // namespace cornerturn::cuda
