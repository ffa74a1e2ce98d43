// Puzzle async: a copy that is asked for is not yet there
//
// A block adds up 8 pieces of an array, each of them backwards. cp.async copies a piece to shared
// memory while the piece before it is added: there are two buffers. But nobody waits for a copy to
// end, nor for the others before their buffer is filled again.
//
// Solved when nothing races, the sums are right, and a block takes at most 1024 bytes of shared
// memory.
#include <cuda_pipeline.h>
#include <cuda_runtime.h>

#include <cstdio>
#include <vector>

constexpr int block = 128, pieces = 8;

__global__ void add_backwards(const float* in, float* out) {
  __shared__ float buffer[2][block];
  const int t = threadIdx.x;
  __pipeline_memcpy_async(&buffer[0][t], in + t, sizeof(float));
  __pipeline_commit();
  float sum = 0;
  for (int piece = 0; piece < pieces; ++piece) {
    if (piece + 1 < pieces) {
      const float* next = in + (piece + 1) * block + t;
      __pipeline_memcpy_async(&buffer[(piece + 1) % 2][t], next, sizeof(float));
    }
    __pipeline_commit();
    sum += buffer[piece % 2][block - 1 - t];
  }
  out[t] = sum;
}

// ---- The rest of the puzzle stays as it is ----
int main() {
  std::vector<float> in(pieces * block), out(block), sums(block);
  for (int i = 0; i < pieces * block; ++i) {
    in[i] = i * i % 23;
    sums[block - 1 - i % block] += in[i];
  }
  float *from, *to;
  cudaMalloc(&from, in.size() * sizeof(float));
  cudaMalloc(&to, out.size() * sizeof(float));
  cudaMemcpy(from, in.data(), in.size() * sizeof(float), cudaMemcpyHostToDevice);
  add_backwards<<<1, block>>>(from, to);
  cudaMemcpy(out.data(), to, out.size() * sizeof(float), cudaMemcpyDeviceToHost);
  int wrong = 0;
  for (int i = 0; i < block; ++i) {
    if (out[i] == sums[i]) continue;
    if (wrong++ > 0) continue;
    std::printf("out[%d] is %g and should be %g\n", i, out[i], sums[i]);
  }
  if (wrong > 0) std::printf("%d of %d values are wrong\n", wrong, block);
  cudaFree(from);
  cudaFree(to);
  return wrong != 0;
}
