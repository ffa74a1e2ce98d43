// Libraries of CUDA are not run on a CPU.
#error "cublas_v2.h: this library is not run on a CPU"
