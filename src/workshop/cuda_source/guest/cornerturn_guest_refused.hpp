// What is not run on a CPU: textures, surfaces and memory of other processes. Programs that use
// them compile, and are refused by name where a thread reaches them, so that their other kernels
// are still checked.
#pragma once

#include "cornerturn_guest_runtime.hpp"

struct cudaArray;
struct cudaIpcMemHandle_t {
  char reserved[64];
};
struct cudaIpcEventHandle_t {
  char reserved[64];
};
constexpr unsigned cudaIpcMemLazyEnablePeerAccess = 1;
enum cudaTextureAddressMode {
  cudaAddressModeWrap,
  cudaAddressModeClamp,
  cudaAddressModeMirror,
  cudaAddressModeBorder
};
enum cudaTextureFilterMode { cudaFilterModePoint, cudaFilterModeLinear };
enum cudaTextureReadMode { cudaReadModeElementType, cudaReadModeNormalizedFloat };
enum cudaChannelFormatKind {
  cudaChannelFormatKindSigned,
  cudaChannelFormatKindUnsigned,
  cudaChannelFormatKindFloat,
  cudaChannelFormatKindNone
};
enum cudaResourceType {
  cudaResourceTypeArray,
  cudaResourceTypeMipmappedArray,
  cudaResourceTypeLinear,
  cudaResourceTypePitch2D
};
enum cudaSurfaceBoundaryMode { cudaBoundaryModeZero, cudaBoundaryModeClamp, cudaBoundaryModeTrap };
enum : unsigned {
  cudaArrayDefault = 0,
  cudaArrayLayered = 1,
  cudaArraySurfaceLoadStore = 2,
  cudaArrayCubemap = 4
};
struct cudaChannelFormatDesc {
  int x, y, z, w;
  cudaChannelFormatKind f;
};
struct cudaResourceDesc {
  cudaResourceType resType;
  union {
    struct {
      cudaArray_t array;
    } array;
    struct {
      void* devPtr;
      cudaChannelFormatDesc desc;
      std::size_t sizeInBytes;
    } linear;
    struct {
      void* devPtr;
      cudaChannelFormatDesc desc;
      std::size_t width, height, pitchInBytes;
    } pitch2D;
  } res;
};
struct cudaTextureDesc {
  cudaTextureAddressMode addressMode[3];
  cudaTextureFilterMode filterMode;
  cudaTextureReadMode readMode;
  int sRGB;
  float borderColor[4];
  int normalizedCoords;
  unsigned maxAnisotropy;
};
struct cudaResourceViewDesc;

CT_GUEST_INLINE cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w,
                                                            cudaChannelFormatKind kind) {
  return {x, y, z, w, kind};
}
template <class T>
cudaChannelFormatDesc cudaCreateChannelDesc() {
  return {8 * static_cast<int>(sizeof(T)), 0, 0, 0, cudaChannelFormatKindNone};
}

#define CT_GUEST_REFUSED_CALL(NAME)          \
  template <class... A>                      \
  CT_GUEST_INLINE cudaError_t NAME(A&&...) { \
    ::cornerturn::guest::refuse(#NAME);      \
  }
#define CT_GUEST_REFUSED_READ(NAME)     \
  template <class T, class... A>        \
  CT_GUEST_INLINE T NAME(A&&...) {      \
    ::cornerturn::guest::refuse(#NAME); \
  }
#define CT_GUEST_REFUSED_WRITE(NAME)    \
  template <class... A>                 \
  CT_GUEST_INLINE void NAME(A&&...) {   \
    ::cornerturn::guest::refuse(#NAME); \
  }
CT_GUEST_REFUSED_CALL(cudaCreateTextureObject)
CT_GUEST_REFUSED_CALL(cudaDestroyTextureObject)
CT_GUEST_REFUSED_CALL(cudaCreateSurfaceObject)
CT_GUEST_REFUSED_CALL(cudaDestroySurfaceObject)
CT_GUEST_REFUSED_CALL(cudaMallocArray)
CT_GUEST_REFUSED_CALL(cudaMalloc3DArray)
CT_GUEST_REFUSED_CALL(cudaFreeArray)
CT_GUEST_REFUSED_CALL(cudaMemcpyToArray)
CT_GUEST_REFUSED_CALL(cudaMemcpy2DToArray)
CT_GUEST_REFUSED_CALL(cudaMemcpy2DFromArray)
CT_GUEST_REFUSED_CALL(cudaLaunchKernelEx)
CT_GUEST_REFUSED_CALL(cudaIpcGetMemHandle)
CT_GUEST_REFUSED_CALL(cudaIpcOpenMemHandle)
CT_GUEST_REFUSED_CALL(cudaIpcCloseMemHandle)
CT_GUEST_REFUSED_CALL(cudaIpcGetEventHandle)
CT_GUEST_REFUSED_CALL(cudaIpcOpenEventHandle)
CT_GUEST_REFUSED_CALL(cudaStreamBeginCapture)
CT_GUEST_REFUSED_CALL(cudaGraphLaunch)
CT_GUEST_REFUSED_READ(tex1D)
CT_GUEST_REFUSED_READ(tex1Dfetch)
CT_GUEST_REFUSED_READ(tex2D)
CT_GUEST_REFUSED_READ(tex2DLayered)
CT_GUEST_REFUSED_READ(tex3D)
CT_GUEST_REFUSED_READ(texCubemap)
CT_GUEST_REFUSED_READ(surf2Dread)
CT_GUEST_REFUSED_READ(surf3Dread)
CT_GUEST_REFUSED_WRITE(surf1Dwrite)
CT_GUEST_REFUSED_WRITE(surf2Dwrite)
CT_GUEST_REFUSED_WRITE(surf3Dwrite)
#undef CT_GUEST_REFUSED_CALL
#undef CT_GUEST_REFUSED_READ
#undef CT_GUEST_REFUSED_WRITE
