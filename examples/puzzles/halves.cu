// Puzzle halves: two elements in a word of a bank
//
// A transposition of elements of 2 bytes, which takes them in pairs: a bank is 4 bytes wide, and a
// lane should not ask for less. A thread takes a pair from each of two rows, and makes two pairs
// of two columns of them. It reads the tile at rows 2 x and 2 x + 1. So neighbouring lanes are two
// rows apart: neither a longer row nor an xor with the row itself parts all of them.
//
// Solved when each access takes no more wavefronts, and no more sectors, than it needs, a block no
// more than 8192 bytes of shared memory, and all warps together make at most 768 requests of
// global memory.
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <vector>

constexpr int side = 64;         // elements
constexpr int words = side / 2;  // pairs of a row of the tile

// `in` has `rows` rows of `cols` elements, in pairs.
__global__ void transpose(const uint32_t* in, uint32_t* out, int rows, int cols) {
  __shared__ uint32_t tile[side][words];
  const int x = threadIdx.x;
  const int first_row = blockIdx.y * side, first_col = blockIdx.x * side;
  for (int y = threadIdx.y; y < side; y += blockDim.y) {
    tile[y][x] = in[((first_row + y) * cols + first_col) / 2 + x];
  }
  __syncthreads();
  for (int y = threadIdx.y; y < words; y += blockDim.y) {
    const uint32_t upper = tile[2 * x][y];
    const uint32_t lower = tile[2 * x + 1][y];
    // The first elements of both pairs, then the second ones.
    out[((first_col + 2 * y) * rows + first_row) / 2 + x] = __byte_perm(upper, lower, 0x5410);
    out[((first_col + 2 * y + 1) * rows + first_row) / 2 + x] = __byte_perm(upper, lower, 0x7632);
  }
}

// ---- The rest of the puzzle stays as it is ----
int main() {
  const int rows = 128, cols = 192;
  std::vector<uint16_t> in(rows * cols), out(rows * cols);
  for (int i = 0; i < rows * cols; ++i) in[i] = i;
  uint32_t *from, *to;
  cudaMalloc(&from, 2 * rows * cols);
  cudaMalloc(&to, 2 * rows * cols);
  cudaMemcpy(from, in.data(), 2 * rows * cols, cudaMemcpyHostToDevice);
  transpose<<<dim3(cols / side, rows / side), dim3(words, 8)>>>(from, to, rows, cols);
  cudaMemcpy(out.data(), to, 2 * rows * cols, cudaMemcpyDeviceToHost);
  int wrong = 0;
  for (int i = 0; i < rows * cols; ++i) {
    if (out[i] == in[i % rows * cols + i / rows]) continue;
    if (wrong++ > 0) continue;
    std::printf("out[%d] is %d and should be %d\n", i, out[i], in[i % rows * cols + i / rows]);
  }
  if (wrong > 0) std::printf("%d of %d values are wrong\n", wrong, rows * cols);
  cudaFree(from);
  cudaFree(to);
  return wrong != 0;
}
