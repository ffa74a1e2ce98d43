// Libraries of CUDA are not run on a CPU.
#error "curand.h: this library is not run on a CPU"
