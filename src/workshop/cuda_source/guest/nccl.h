// Libraries of CUDA are not run on a CPU.
#error "nccl.h: this library is not run on a CPU"
