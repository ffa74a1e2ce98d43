// Calls of CUDA's runtime: what is right gives its results, and each argument names a misuse.
#include <cstring>
#include <string>
#include <vector>

#include "guest.hpp"

__constant__ float factors[4];
CT_GUEST_DEVICE_VARIABLE int total;

__global__ void scale(float* a) {
  a[threadIdx.x] *= factors[threadIdx.x % 4];
  if (threadIdx.x == 0) {
    total = 7;
  }
}

static void right() {
  const float host[4] = {1, 2, 3, 4};
  EXPECT(cudaMemcpyToSymbol(factors, host, sizeof(host)) == cudaSuccess);
  float* a = nullptr;
  size_t pitch = 0;
  EXPECT(cudaMallocPitch(&a, &pitch, 3 * sizeof(float), 2) == cudaSuccess && pitch >= 12);
  const float rows[8] = {1, 1, 1, -1, 2, 2, 2, -1};
  EXPECT(cudaMemcpy2D(a, pitch, rows, 16, 12, 2, cudaMemcpyHostToDevice) == cudaSuccess);
  LAUNCH(scale, 1, 3, a);
  EXPECT(cudaGetLastError() == cudaSuccess && cudaDeviceSynchronize() == cudaSuccess);
  float back[6];
  EXPECT(cudaMemcpy2D(back, 12, a, pitch, 12, 2, cudaMemcpyDeviceToHost) == cudaSuccess);
  EXPECT(back[0] == 1 && back[1] == 2 && back[2] == 3 && back[3] == 2);
  int seen = 0;
  EXPECT(cudaMemcpyFromSymbol(&seen, total, sizeof(seen)) == cudaSuccess && seen == 7);
  EXPECT(cudaFree(a) == cudaSuccess && cudaFree(nullptr) == cudaSuccess);

  int* managed = nullptr;
  EXPECT(cudaMallocManaged(&managed, 4 * sizeof(int)) == cudaSuccess);
  managed[3] = 5;
  int* pinned = nullptr;
  EXPECT(cudaMallocHost(&pinned, 4 * sizeof(int)) == cudaSuccess);
  EXPECT(cudaMemcpy(pinned, managed, 16, cudaMemcpyDefault) == cudaSuccess && pinned[3] == 5);
  EXPECT(cudaFree(managed) == cudaSuccess && cudaFreeHost(pinned) == cudaSuccess);

  cudaPitchedPtr box{};
  EXPECT(cudaMalloc3D(&box, make_cudaExtent(8, 3, 2)) == cudaSuccess);
  unsigned char bytes[48];
  for (int i = 0; i < 48; ++i) bytes[i] = static_cast<unsigned char>(i);
  cudaMemcpy3DParms copy{};
  copy.srcPtr = make_cudaPitchedPtr(bytes, 8, 8, 3);
  copy.dstPtr = box;
  copy.extent = make_cudaExtent(8, 3, 2);
  copy.kind = cudaMemcpyHostToDevice;
  EXPECT(cudaMemcpy3D(&copy) == cudaSuccess);
  unsigned char one = 0;
  cudaMemcpy(&one, static_cast<char*>(box.ptr) + 4 * box.pitch + 5, 1, cudaMemcpyDeviceToHost);
  EXPECT(one == 37);
  cudaFree(box.ptr);

  cudaEvent_t begin, end;
  cudaEventCreate(&begin);
  cudaEventCreate(&end);
  cudaEventRecord(begin);
  cudaEventRecord(end);
  float time = -1;
  EXPECT(cudaEventElapsedTime(&time, begin, end) == cudaSuccess && time >= 0);
  cudaEventDestroy(begin);
  cudaEventDestroy(end);

  cudaDeviceProp device{};
  int value = 0;
  EXPECT(cudaGetDeviceProperties(&device, 0) == cudaSuccess && device.warpSize == 32);
  cudaDeviceGetAttribute(&value, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0);
  EXPECT(static_cast<size_t>(value) == device.sharedMemPerBlockOptin);
  EXPECT(cudaSetDevice(1) == cudaErrorInvalidDevice);
  EXPECT(cudaPeekAtLastError() == cudaErrorInvalidDevice);
  EXPECT(cudaGetLastError() == cudaErrorInvalidDevice && cudaGetLastError() == cudaSuccess);
  EXPECT(std::strcmp(cudaGetErrorName(cudaErrorInvalidValue), "cudaErrorInvalidValue") == 0);
  EXPECT(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&value, scale, 256, 0) == cudaSuccess &&
         value == static_cast<int>(device.maxThreadsPerMultiProcessor / 256));
  std::printf("right\n");
}

int main(int, char** arguments) {
  const std::string what = arguments[1];
  if (what == "right") {
    right();
    return 0;
  }
  int host[8] = {};
  int* a = nullptr;
  if (what != "not_freed") {
    cudaMalloc(&a, 16);
  }
  bool freed = what == "not_freed";
  if (what == "copy_too_much") {
    cudaMemcpy(a, host, 32, cudaMemcpyHostToDevice);  // copy_too_much
  } else if (what == "copy_from_too_little") {
    cudaMemcpyAsync(host, a + 2, 16, cudaMemcpyDeviceToHost);  // copy_from_too_little
  } else if (what == "wrong_direction") {
    cudaMemcpy(a, host, 16, cudaMemcpyDeviceToHost);  // wrong_direction
  } else if (what == "host_for_device") {
    cudaMemcpy(host + 4, host, 16, cudaMemcpyHostToDevice);  // host_for_device
  } else if (what == "copy_of_freed") {
    cudaFree(a);
    freed = true;
    cudaMemcpy(host, a, 16, cudaMemcpyDeviceToHost);  // copy_of_freed
  } else if (what == "symbol_too_small") {
    cudaMemcpyToSymbol(factors, host, 20);  // symbol_too_small
  } else if (what == "set_too_much") {
    cudaMemset(a, 0, 17);  // set_too_much
  } else if (what == "free_twice") {
    cudaFree(a);
    cudaFree(a);  // free_twice
    freed = true;
  } else if (what == "free_inside") {
    cudaFree(a + 1);  // free_inside
  } else if (what == "free_of_host") {
    cudaFree(host);  // free_of_host
  } else if (what == "free_pinned") {
    cudaFreeHost(a);  // free_pinned
  } else if (what == "not_freed") {
    cudaMalloc(&a, 16);  // not_freed
  } else if (what == "small_pitch") {
    cudaMemcpy2D(a, 4, host, 8, 8, 2, cudaMemcpyHostToDevice);  // small_pitch
  } else if (what == "unasked_error") {
    LAUNCH(scale, 1, 4096, nullptr);
  }
  if (!freed) {
    cudaFree(a);
  }
  return 0;
}
