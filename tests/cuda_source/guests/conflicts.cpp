// Accesses of one warp that cost more than their bytes need, and some that do not. The comments say
// what each line's request costs: `store wavefronts 32` of shared memory, `load sectors 32` of
// global memory.
#include "guest.hpp"

__global__ void conflicts(float* out, double* wide, float4* vectors, float* in, float* sum) {
  __shared__ float column[32][32];
  __shared__ float padded[32][33];
  __shared__ float two[64];
  __shared__ double pairs[32][2];
  __shared__ float4 fours[32];
  __shared__ float4 apart[64];
  __shared__ int counters[32][32];
  __shared__ unsigned char bytes[32 * 32];
  const unsigned i = threadIdx.x;
  float v = in[i];                     // load sectors 4
  v += in[2 * i];                      // load sectors 8
  v += in[8 * i];                      // load sectors 32
  v += in[i + 1];                      // load sectors 5
  v += in[31 - i];                     // load sectors 4
  v += in[0];                          // load sectors 1
  v += in[i / 8 * 64];                 // load sectors 4
  column[i][0] = v;                    // store wavefronts 32
  column[0][i] = v;                    // store wavefronts 1
  padded[i][3] = v;                    // store wavefronts 1
  two[2 * i] = v;                      // store wavefronts 2
  two[2 * i + 1] = v;                  // store wavefronts 2
  pairs[i][0] = v;                     // store wavefronts 4
  fours[i] = make_float4(v, v, v, v);  // store wavefronts 4
  apart[2 * i] = fours[i];             // load wavefronts 4, store wavefronts 8
  counters[i][i % 4] = 0;              // store wavefronts 8
  bytes[i] = 1;                        // store wavefronts 1
  bytes[32 * i] = 1;                   // store wavefronts 8
  __syncwarp();
  v += column[0][7];        // load wavefronts 1
  v += column[i % 2][0];    // load wavefronts 2
  v += padded[31 - i][3];   // load wavefronts 1
  v += two[i ^ 5];          // load wavefronts 1
  v += pairs[31 - i][0];    // load wavefronts 4
  v += apart[2 * i].y;      // load wavefronts 8
  v += counters[i][i % 4];  // load wavefronts 8
  v += bytes[32 * i] + bytes[31 - i];
  out[32 * i] = v;                       // store sectors 32
  wide[i] = v;                           // store sectors 8
  wide[32 + 2 * i] = v;                  // store sectors 16
  vectors[i] = make_float4(v, v, v, v);  // store sectors 16
  if (i % 2 == 0) out[1 + 32 * i] = v;   // store sectors 16
}

int main() {
  void* memory[5];
  for (void*& p : memory) {
    cudaMalloc(&p, 8192);
    cudaMemset(p, 0, 8192);
  }
  LAUNCH(conflicts, 1, 32, static_cast<float*>(memory[0]), static_cast<double*>(memory[1]),
         static_cast<float4*>(memory[2]), static_cast<float*>(memory[3]),
         static_cast<float*>(memory[4]));
  for (void* p : memory) {
    cudaFree(p);
  }
}
