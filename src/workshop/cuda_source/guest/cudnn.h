// Libraries of CUDA are not run on a CPU.
#error "cudnn.h: this library is not run on a CPU"
