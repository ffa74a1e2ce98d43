// One access of a line is one request, as wide as the type: vectors, pairs, structs and unions of
// the program's own, whether they are copied, passed to a function or calculated with.
#include <cuda_fp16.h>

#include "guest.hpp"

union alignas(16) Pack {
  float4 f;
  half2 h[4];
};
struct Pair {
  int low, high;
};
__device__ float4 twice(float4 v) {
  return make_float4(2 * v.x, 2 * v.y, 2 * v.z, 2 * v.w);
}
__device__ half squared(half v) {
  return __hmul(v, v);
}

__device__ float4 braced(float a) {
  return float4(cornerturn::guest::whole(float4{a, a, a, a}));
}

__global__ void widths(float4* f, half* h, half2* p, Pair* s, Pack* u, double2* d, float* o) {
  const unsigned i = threadIdx.x;
  f[i] = f[i + 32];                                             // load 16, store 16
  f[i + 64] = twice(f[i + 96]);                                 // load 16, store 16
  h[i] = squared(h[i + 32]);                                    // load 2, store 2
  h[i + 64] = h[i + 96] + h[i + 128];                           // load 2, load 2, store 2
  o[i] = __half2float(h[i + 160]);                              // load 2, store 4
  p[i] = __hadd2(p[i + 32], __float2half2_rn(1));               // load 4, store 4
  s[i] = s[i + 32];                                             // load 8, store 8
  u[i] = u[i + 32];                                             // load 16, store 16
  d[i] = __ldg(&d[i + 32]);                                     // load 16, store 16
  f[i + 224] = make_float4(0, 1, 2, 3);                         // store 16
  f[i + 256] = float4(cornerturn::guest::whole(float4{0, 1}));  // store 16
  f[i + 288] = braced(3);                                       // store 16
  const float4 v = f[i + 128];                                  // load 16
  o[i + 32] = v.x + v.w;                                        // store 4
  o[i + 64] = __shfl_xor_sync(0xffffffffu, o[i + 96], 1);       // load 4, store 4
  atomicAdd(&o[i + 128], o[i + 160]);                           // load 4, atomic 4
  __stcs(&f[i + 160], __ldcg(&f[i + 192]));                     // load 16, store 16
}

int main() {
  void* memory[7];
  for (void*& p : memory) {
    cudaMalloc(&p, 8192);
    cudaMemset(p, 0, 8192);
  }
  LAUNCH(widths, 1, 32, static_cast<float4*>(memory[0]), static_cast<half*>(memory[1]),
         static_cast<half2*>(memory[2]), static_cast<Pair*>(memory[3]),
         static_cast<Pack*>(memory[4]), static_cast<double2*>(memory[5]),
         static_cast<float*>(memory[6]));
  for (void* p : memory) {
    cudaFree(p);
  }
}
