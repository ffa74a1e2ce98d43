// Checks device functions against plain loops, and prints what is wrong. A sound program: nothing
// is to be found in it.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_pipeline.h>

#include <cmath>
#include <cstdio>
#include <cuda/atomic>
#include <cuda/barrier>
#include <cuda/pipeline>
#include <vector>

#include "guest.hpp"

namespace cg = cooperative_groups;

static int wrong = 0;
static void expect(bool right, const char* what, int at = 0) {
  if (!right) {
    printf("wrong: %s at %d\n", what, at);
    ++wrong;
  }
}

template <class T>
static std::vector<T> down(const T* device, int count) {
  std::vector<T> host(count);
  expect(cudaMemcpy(host.data(), device, count * sizeof(T), cudaMemcpyDeviceToHost) == cudaSuccess,
         "cudaMemcpy");
  return host;
}

// Shuffles: lane i gives 100 + i.
template <class T>
__global__ void shuffle(T* out, int width, int step) {
  const T mine = static_cast<T>(100 + static_cast<int>(threadIdx.x));
  T* const row = out + 4 * threadIdx.x;
  row[0] = __shfl_sync(0xffffffffu, mine, step, width);
  row[1] = __shfl_up_sync(0xffffffffu, mine, step, width);
  row[2] = __shfl_down_sync(0xffffffffu, mine, step, width);
  row[3] = __shfl_xor_sync(0xffffffffu, mine, step, width);
}
template <class T>
static void check_shuffles(const char* type) {
  T* out;
  cudaMalloc(&out, 128 * sizeof(T));
  for (int width = 1; width <= 32; width *= 2) {
    for (const int step : {0, 1, 3, 5, 16, 31}) {
      LAUNCH(shuffle<T>, 1, 32, out, width, step);
      const auto got = down(out, 128);
      for (int lane = 0; lane < 32; ++lane) {
        const int first = lane / width * width;
        const int last = first + width - 1;
        const int sources[4] = {first + step % width, lane - step >= first ? lane - step : lane,
                                lane + step <= last ? lane + step : lane,
                                (lane ^ step) <= last ? lane ^ step : lane};
        for (int i = 0; i < 4; ++i) {
          expect(static_cast<float>(got[4 * lane + i]) == 100 + sources[i], type, lane);
        }
      }
    }
  }
  cudaFree(out);
}

__global__ void vote(unsigned* out) {
  const unsigned lane = threadIdx.x;
  unsigned* const row = out + 12 * lane;
  row[0] = __ballot_sync(0xffffffffu, lane % 3 == 0);
  row[1] = __any_sync(0xffffffffu, lane == 7);
  row[2] = __all_sync(0xffffffffu, lane < 31);
  row[3] = __match_any_sync(0xffffffffu, lane / 5);
  int all = -1;
  row[4] = __match_all_sync(0xffffffffu, 9, &all);
  row[5] = all;
  row[6] = __reduce_add_sync(0xffffffffu, lane);
  row[7] = static_cast<unsigned>(__reduce_min_sync(0xffffffffu, static_cast<int>(lane) - 20));
  row[8] = __reduce_xor_sync(0xffffffffu, lane * lane);
  row[9] = __activemask();
  if (lane < 16) {
    row[10] = __ballot_sync(0x0000ffffu, lane & 1);
    row[11] = __reduce_max_sync(0x0000ffffu, lane);
  }
}
static void check_votes() {
  unsigned* out;
  cudaMalloc(&out, 32 * 12 * sizeof(unsigned));
  cudaMemset(out, 0, 32 * 12 * sizeof(unsigned));
  LAUNCH(vote, 1, 32, out);
  const auto got = down(out, 32 * 12);
  unsigned thirds = 0;
  unsigned squares = 0;
  for (unsigned lane = 0; lane < 32; ++lane) {
    thirds |= lane % 3 == 0 ? 1u << lane : 0;
    squares ^= lane * lane;
  }
  for (unsigned lane = 0; lane < 32; ++lane) {
    unsigned fifths = 0;
    for (unsigned other = 0; other < 32; ++other) {
      fifths |= other / 5 == lane / 5 ? 1u << other : 0;
    }
    const bool low = lane < 16;
    const unsigned wanted[12] = {thirds,
                                 1,
                                 0,
                                 fifths,
                                 ~0u,
                                 1,
                                 496,
                                 static_cast<unsigned>(-20),
                                 squares,
                                 ~0u,
                                 low ? 0xaaaau : 0,
                                 low ? 15u : 0};
    for (int i = 0; i < 12; ++i) {
      expect(got[12 * lane + i] == wanted[i], "vote", static_cast<int>(12 * lane) + i);
    }
  }
  cudaFree(out);
}

// Atomics of two blocks of 96 threads each.
struct Sums {
  int add, least, most, exchanged;
  unsigned inc, dec, all_or, all_and, all_xor, swapped;
  unsigned long long wide;
  float real;
  double precise;
  __half small;
  __half2 pair;
};
__global__ void collect(Sums* s) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  atomicAdd(&s->add, i);
  atomicMin(&s->least, i - 50);
  atomicMax(&s->most, i);
  atomicExch(&s->exchanged, 7);
  atomicInc(&s->inc, 9);
  atomicDec(&s->dec, 9);
  atomicOr(&s->all_or, 1u << (i % 5));
  atomicAnd(&s->all_and, ~(1u << (i % 7)));
  atomicXor(&s->all_xor, static_cast<unsigned>(i));
  atomicAdd(&s->wide, 1ull << 40);
  atomicAdd(&s->real, 0.5f);
  atomicAdd(&s->precise, 0.25);
  atomicAdd(&s->small, __float2half(1));
  atomicAdd(&s->pair, __floats2half2_rn(1, 2));
  unsigned seen = 0;
  for (;;) {
    const unsigned old = atomicCAS(&s->swapped, seen, seen + 3);
    if (old == seen) {
      break;
    }
    seen = old;
  }
  cuda::atomic_ref<int, cuda::thread_scope_device> again(s->add);
  again.fetch_add(1, cuda::memory_order_relaxed);
}
static void check_atomics() {
  Sums* s;
  cudaMalloc(&s, sizeof(Sums));
  cudaMemset(s, 0, sizeof(Sums));
  const unsigned ones = ~0u;
  cudaMemcpy(&s->all_and, &ones, sizeof(ones), cudaMemcpyHostToDevice);
  LAUNCH(collect, 2, 96, s);
  const Sums got = down(s, 1)[0];
  unsigned all_xor = 0, inc = 0, dec = 0;
  for (unsigned i = 0; i < 192; ++i) {
    all_xor ^= i;
    inc = inc >= 9 ? 0 : inc + 1;
    dec = dec == 0 || dec > 9 ? 9 : dec - 1;
  }
  expect(got.add == 191 * 192 / 2 + 192, "atomicAdd of int");
  expect(got.least == -50 && got.most == 191 && got.exchanged == 7, "atomicMin, Max, Exch");
  expect(got.inc == inc && got.dec == dec, "atomicInc, atomicDec");
  expect(got.all_or == 31 && got.all_and == (~0u << 7) && got.all_xor == all_xor, "atomicOr, And");
  expect(got.wide == 192ull << 40 && got.real == 96 && got.precise == 48, "atomicAdd, wide");
  expect(static_cast<float>(got.small) == 192 && __high2float(got.pair) == 384, "atomicAdd, half");
  expect(got.swapped == 3 * 192, "atomicCAS");
  cudaFree(s);
}

// Groups of 8 lanes, of the odd lanes, and the barriers' results.
__global__ void groups(float* out) {
  const auto block = cg::this_thread_block();
  const auto tile = cg::tiled_partition<8>(block);
  const unsigned i = block.thread_rank();
  float* const row = out + 8 * i;
  row[0] = cg::reduce(tile, static_cast<float>(i), cg::plus<float>());
  row[1] = tile.shfl(static_cast<float>(i), 3);
  row[2] = tile.shfl_down(static_cast<float>(i), 2);
  row[3] = static_cast<float>(tile.ballot(i % 2 == 0));
  row[4] = static_cast<float>(tile.meta_group_rank());
  row[5] = static_cast<float>(__syncthreads_count(i < 10));
  row[6] = static_cast<float>(__syncthreads_and(i < 64) + 2 * __syncthreads_or(i == 70));
  row[7] = 0;
  if (i % 2 != 0) {
    const auto odd = cg::coalesced_threads();
    row[7] = static_cast<float>(odd.size() * 100 + odd.thread_rank());
  }
}
static void check_groups() {
  float* out;
  cudaMalloc(&out, 64 * 8 * sizeof(float));
  LAUNCH(groups, 1, 64, out);
  const auto got = down(out, 64 * 8);
  for (int i = 0; i < 64; ++i) {
    const int first = i / 8 * 8;
    const float wanted[7] = {static_cast<float>(8 * first + 28),
                             static_cast<float>(first + 3),
                             static_cast<float>(i % 8 < 6 ? i + 2 : i),
                             0x55,
                             static_cast<float>(i / 8),
                             10,
                             1};
    for (int j = 0; j < 7; ++j) {
      expect(got[8 * i + j] == wanted[j], "group", 8 * i + j);
    }
    if (i % 2 != 0) {
      expect(got[8 * i + 7] == 1600 + i % 32 / 2, "coalesced_threads", i);
    }
  }
  cudaFree(out);
}

// Copies that go on beside the threads, in each of CUDA's forms, of 16 floats a block row.
__global__ void pipelines(const float* in, float* out) {
  __shared__ float by_words[64];
  __shared__ __align__(16) float by_group[64];
  __shared__ __align__(16) float by_stage[64];
  __shared__ cuda::barrier<cuda::thread_scope_block> arrived;
  const auto block = cg::this_thread_block();
  const unsigned i = block.thread_rank();
  if (i == 0) {
    init(&arrived, block.size());
  }
  __pipeline_memcpy_async(&by_words[i], &in[i], sizeof(float), i % 2 == 0 ? 0 : 4);
  __pipeline_commit();
  __pipeline_wait_prior(0);
  block.sync();
  cuda::memcpy_async(block, by_group, in, sizeof(by_group), arrived);
  arrived.arrive_and_wait();
  auto stages = cuda::make_pipeline();
  stages.producer_acquire();
  cuda::memcpy_async(&by_stage[i], &in[i], sizeof(float), stages);
  stages.producer_commit();
  stages.consumer_wait();
  stages.consumer_release();
  block.sync();
  out[i] = by_words[63 - i] + 1000 * by_group[63 - i] + 1000000 * by_stage[63 - i];
}
static void check_pipelines() {
  float *in, *out;
  cudaMallocManaged(&in, 64 * sizeof(float));
  cudaMalloc(&out, 64 * sizeof(float));
  for (int i = 0; i < 64; ++i) {
    in[i] = static_cast<float>(i % 10);
  }
  LAUNCH(pipelines, 1, 64, in, out);
  const auto got = down(out, 64);
  for (int i = 0; i < 64; ++i) {
    const int from = 63 - i;
    const int v = from % 10;
    expect(got[i] == (from % 2 == 0 ? v : 0) + 1000 * v + 1000000 * v, "pipeline", i);
  }
  cudaFree(in);
  cudaFree(out);
}

// Integers and roundings, which the host may call as well.
static void check_values() {
  const unsigned samples[] = {0,           1,           2,           0x80000000u,
                              0xffffffffu, 0x12345678u, 0x00ff00ffu, 0xdeadbeefu};
  for (const unsigned a : samples) {
    int bits = 0, leading = 0, first = 0;
    unsigned reversed = 0;
    for (int i = 0; i < 32; ++i) {
      bits += a >> i & 1;
      reversed |= (a >> i & 1) << (31 - i);
    }
    while (leading < 32 && (a >> (31 - leading) & 1) == 0) {
      ++leading;
    }
    for (int i = 31; i >= 0; --i) {
      first = (a >> i & 1) != 0 ? i + 1 : first;
    }
    expect(__popc(a) == bits && __brev(a) == reversed, "__popc, __brev");
    expect(__clz(static_cast<int>(a)) == leading && __ffs(static_cast<int>(a)) == first, "__clz");
    for (const unsigned b : samples) {
      const unsigned long long both = static_cast<unsigned long long>(b) << 32 | a;
      unsigned dot = 5;
      for (int i = 0; i < 4; ++i) {
        dot += (a >> 8 * i & 255) * (b >> 8 * i & 255);
      }
      expect(__umulhi(a, b) == static_cast<unsigned long long>(a) * b >> 32, "__umulhi");
      expect(__byte_perm(a, b, 0x7241) ==
                 ((b >> 24 << 24) | (a >> 16 & 255) << 16 | (b & 255) << 8 | (a >> 8 & 255)),
             "__byte_perm");
      expect(__dp4a(a, b, 5u) == dot, "__dp4a");
      for (unsigned shift = 0; shift < 32; ++shift) {
        expect(__funnelshift_r(a, b, shift) == static_cast<unsigned>(both >> shift), "funnel");
        expect(__funnelshift_l(a, b, shift) == static_cast<unsigned>(both << shift >> 32),
               "funnel");
      }
      for (const unsigned c : samples) {
        expect(cornerturn::guest::asm_lop3(a, b, c, 0xe8) == ((a & b) | (a & c) | (b & c)), "lop3");
      }
    }
  }
  expect(__mul24(-3, 5) == -15 && __sad(-4, 3, 1) == 8u && __hadd(-1, 2) == 0, "__mul24, __sad");
  for (const float a : {1.f, 3.f, 0.1f, -7.3f, 1e30f, 1.17e-38f}) {
    for (const float b : {3.f, -0.7f, 1e-9f, 5e7f}) {
      const double exact[3] = {static_cast<double>(a) + b, static_cast<double>(a) * b,
                               static_cast<double>(a) / b};
      const float below[3] = {__fadd_rd(a, b), __fmul_rd(a, b), __fdiv_rd(a, b)};
      const float above[3] = {__fadd_ru(a, b), __fmul_ru(a, b), __fdiv_ru(a, b)};
      const float zero[3] = {__fadd_rz(a, b), __fmul_rz(a, b), __fdiv_rz(a, b)};
      for (int i = 0; i < 3; ++i) {
        const bool bracket = below[i] <= exact[i] && exact[i] <= above[i];
        const bool close = above[i] <= nextafterf(below[i], INFINITY);
        expect(bracket && close && zero[i] == (exact[i] < 0 ? above[i] : below[i]), "rounding", i);
      }
    }
  }
  expect(__float2int_rn(2.5f) == 2 && __float2int_ru(2.1f) == 3 && __float2int_rd(-2.1f) == -3 &&
             __float2int_rz(-2.9f) == -2 && __float2int_rn(3e9f) == 2147483647 &&
             __float2uint_rn(-1.f) == 0u && __float2int_rn(NAN) == 0,
         "__float2int");
  expect(__saturatef(2.f) == 1 && __saturatef(NAN) == 0 && rsqrtf(4) == 0.5f && sinpif(1) == 0,
         "math");
  expect(min(3, 4u) == 3u && max(-1, 2) == 2 && max(1.5f, 2.5) == 2.5, "min, max");
}

// Each half of a register is calculated by itself, and the product of fma is not rounded.
void check_assembly() {
  namespace g = cornerturn::guest;
  const auto half2_bits = [](float x, float y) {
    return static_cast<unsigned>(g::to_bits(__floats2half2_rn(x, y)));
  };
  const auto bf2_bits = [](float x, float y) {
    return static_cast<unsigned>(g::to_bits(__floats2bfloat162_rn(x, y)));
  };
  const unsigned a = half2_bits(3, -0.5f), b = half2_bits(0.25f, 8), c = half2_bits(1, 2);
  expect(g::asm_f16x2<'+'>(a, b) == half2_bits(3.25f, 7.5f), "add.f16x2");
  expect(g::asm_f16x2<'-'>(a, b) == half2_bits(2.75f, -8.5f), "sub.f16x2");
  expect(g::asm_f16x2<'*'>(a, b) == half2_bits(0.75f, -4), "mul.f16x2");
  expect(g::asm_f16x2<'f'>(a, b, c) == half2_bits(1.75f, -2), "fma.f16x2");
  expect(g::asm_f16x2<'m'>(a, b) == half2_bits(0.25f, -0.5f), "min.f16x2");
  expect(g::asm_f16x2<'M'>(a, b) == half2_bits(3, 8), "max.f16x2");
  const float next = 1 + 1.f / 1024;  // its square less 1 needs more bits than a half has
  const unsigned square = g::asm_f16x2<'f'>(half2_bits(next, next), half2_bits(next, next),
                                            half2_bits(-1, -1 - 2.f / 1024));
  expect(square == half2_bits(next * next - 1, 1.f / (1024 * 1024)), "fma.f16x2 rounds once");
  const unsigned d = bf2_bits(3, -0.5f), e = bf2_bits(0.25f, 8), f = bf2_bits(1, 2);
  expect(g::asm_bf16x2<'+'>(d, e) == bf2_bits(3.25f, 7.5f), "add.bf16x2");
  expect(g::asm_bf16x2<'f'>(d, e, f) == bf2_bits(1.75f, -2), "fma.bf16x2");
  expect(g::asm_f16<'*'>(static_cast<std::uint16_t>(a), static_cast<std::uint16_t>(b)) ==
             (half2_bits(0.75f, 0) & 0xffffu),
         "mul.f16");
}

int main() {
  check_assembly();
  check_shuffles<int>("shuffle of int");
  check_shuffles<float>("shuffle of float");
  check_shuffles<double>("shuffle of double");
  check_shuffles<long long>("shuffle of long long");
  check_shuffles<__half>("shuffle of half");
  check_votes();
  check_atomics();
  check_groups();
  check_pipelines();
  check_values();
  printf("%d wrong\n", wrong);
  return wrong != 0;
}
