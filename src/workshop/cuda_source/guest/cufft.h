// Libraries of CUDA are not run on a CPU.
#error "cufft.h: this library is not run on a CPU"
