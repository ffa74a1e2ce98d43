// Libraries of CUDA are not run on a CPU.
#error "cusparse.h: this library is not run on a CPU"
