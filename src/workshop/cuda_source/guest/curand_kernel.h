// Libraries of CUDA are not run on a CPU.
#error "curand_kernel.h: this library is not run on a CPU"
