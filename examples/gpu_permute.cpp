// A tensor of 5 axes and half-precision elements on the GPU, its axes in another order. The library
// sees that the pointers are the GPU's; the CUDA runtime is here for the memory and the stream
// only.
#include <cuda_runtime_api.h>

#include <cstdint>
#include <cstdio>
#include <exception>
#include <vector>

#include "cornerturn/cornerturn.hpp"

int main() try {
  const cornerturn::Extents shape = {4, 6, 32, 24, 40};
  const cornerturn::ElementType f16(cornerturn::Kind::f16);
  std::vector<std::uint16_t> in(4 * 6 * 32 * 24 * 40), out(in.size());
  for (std::size_t i = 0; i < in.size(); ++i)
    in[i] = static_cast<std::uint16_t>(i * 2654435761U >> 16);
  const std::size_t bytes = 2 * in.size();
  void* src = nullptr;
  void* dst = nullptr;
  cornerturn::Options options;
  cudaStream_t stream = nullptr;
  if (cudaMalloc(&src, bytes) != cudaSuccess || cudaMalloc(&dst, bytes) != cudaSuccess ||
      cudaStreamCreate(&stream) != cudaSuccess) {
    throw cornerturn::Error(cornerturn::Status::unsupported, "no GPU to allocate on");
  }
  options.stream = stream;

  cudaMemcpyAsync(src, in.data(), bytes, cudaMemcpyHostToDevice, stream);
  cornerturn::permute(dst, cornerturn::ConstView(src, f16, shape), {0, 3, 1, 4, 2}, options);
  cudaMemcpyAsync(out.data(), dst, bytes, cudaMemcpyDeviceToHost, stream);
  if (cudaStreamSynchronize(stream) != cudaSuccess) return 1;

  // Element (3, 11, 5, 7, 30) of the result is element (3, 5, 30, 11, 7) of the tensor.
  const std::size_t to = (((3 * 24 + 11) * 6 + 5) * 40 + 7) * 32 + 30;
  const std::size_t from = (((3 * 6 + 5) * 32 + 30) * 24 + 11) * 40 + 7;
  std::printf("element (3, 11, 5, 7, 30) is %s\n", out[to] == in[from] ? "in its place" : "wrong");
  return out[to] == in[from] ? 0 : 1;
} catch (const std::exception& error) {
  std::fprintf(stderr, "gpu_permute: %s\n", error.what());
  return 1;
}
