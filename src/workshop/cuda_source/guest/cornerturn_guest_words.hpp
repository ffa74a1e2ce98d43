// CUDA's words, as a C++ compiler without CUDA reads them. The front end rewrites what a macro
// cannot: launches, extern __shared__ arrays, __device__ variables and inline assembly.
#pragma once

#include "cornerturn_guest_abi.hpp"

#define CORNERTURN_CHECK 1
#define __CUDACC__ 1
#define __NVCC__ 1
#define __CUDACC_VER_MAJOR__ 12
#define __CUDACC_VER_MINOR__ 8
#define __CUDACC_VER_BUILD__ 0
#define CUDART_VERSION 12080
#define CUDA_VERSION 12080
// By these, headers of the user's own ask whether CUDA's were included before them.
#define __CUDA_RUNTIME_H__
#define __CUDA_RUNTIME_API_H__
#define __DRIVER_TYPES_H__
#define __HOST_DEFINES_H__
#define __VECTOR_TYPES_H__
// What the newer architectures add is written in inline assembly that the check refuses by name.
#define __CUDA_ARCH__ 800

#define __global__ __attribute__((noinline))
#define __device__
#define __host__
#define __forceinline__ __inline__ __attribute__((always_inline))
// The standard library writes __attribute__((__noinline__)), so the word stands for nothing here.
#define __noinline__
#define __launch_bounds__(...)
#define __maxnreg__(...)
#define __cluster_dims__(...)
#define __grid_constant__
#define __align__(n) __attribute__((aligned(n)))
#define __builtin_align__(n) __attribute__((aligned(n)))
// nvcc aligns an array by its elements. 16 bytes are what its widest vector access needs.
#define __shared__ static __thread __attribute__((aligned(16)))
#define __constant__ __attribute__((section("ct_constant")))
#define __managed__ __attribute__((section("ct_managed")))
#define CT_GUEST_DEVICE_VARIABLE __attribute__((section("ct_device")))
#define CUDARTAPI
#define CUDART_CB
#define CUDAAPI
#define CUDA_CB

// CT_GUEST_PLAIN (in the ABI's header) marks a function of ours whose own accesses are not the
// user's. It is never inlined into code that is watched: g++ refuses to mix the two.

// A function of ours whose accesses are the user's, at the line of the caller.
#define CT_GUEST_INLINE inline __attribute__((always_inline))

#if defined(__clang__)
// clang copies structs by calls of these. The runtime library's own calls stay the C library's.
__asm__(".set memcpy, cornerturn_memcpy");
__asm__(".set memmove, cornerturn_memmove");
__asm__(".set memset, cornerturn_memset");
#endif

#define CT_GUEST_TEXT(...) CT_GUEST_TEXT_(__VA_ARGS__)
#define CT_GUEST_TEXT_(...) #__VA_ARGS__
