// CT_HOST_DEVICE: callable from the GPU too when nvcc compiles; nothing otherwise.
#pragma once

#if defined(__CUDACC__)
#define CT_HOST_DEVICE __host__ __device__
#else
#define CT_HOST_DEVICE
#endif
