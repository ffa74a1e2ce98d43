// Issues every pattern of patterns.hpp once, one kernel launch a pattern, for a profiler to count.
//   access_probe --list              prints the patterns as JSON; needs no GPU
//   access_probe --from A --count N  launches patterns A .. A + N - 1
// The widths are written in PTX, so that no compiler splits or merges an access.
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>
#include <vector>

#include "access/patterns.hpp"

namespace {

using cornerturn::bench::Instruction;
using cornerturn::bench::Pattern;

struct LaneOffsets {
  std::uint32_t offset[32];
  std::uint32_t source[32];
  std::uint32_t active;
  std::uint32_t never;  // no result equals it: keeps loads alive
};

#define CT_LOAD(SPACE, TYPE, REG, VALUE)                                                  \
  asm volatile("{.reg .pred p; setp.ne.u32 p, %1, 0; @p ld." SPACE "." TYPE " %0, [%2];}" \
               : REG(VALUE)                                                               \
               : "r"(on), "l"(address)                                                    \
               : "memory")

#define CT_STORE(SPACE, TYPE, REG, VALUE)                                   \
  asm volatile("{.reg .pred p; setp.ne.u32 p, %0, 0; @p st." SPACE "." TYPE \
               " [%1], %2;}" ::"r"(on),                                     \
               "l"(address), REG(VALUE)                                     \
               : "memory")

// Loads W bytes; what came is folded into one word.
#define CT_DEFINE_LOAD(NAME, SPACE)                                                               \
  template <int W>                                                                                \
  __device__ std::uint32_t NAME(std::uint64_t address, std::uint32_t on) {                        \
    std::uint32_t a = 0, b = 0, c = 0, d = 0;                                                     \
    if constexpr (W == 1) CT_LOAD(SPACE, "u8", "+r", a);                                          \
    if constexpr (W == 2) CT_LOAD(SPACE, "u16", "+r", a);                                         \
    if constexpr (W == 4) CT_LOAD(SPACE, "u32", "+r", a);                                         \
    if constexpr (W == 8) {                                                                       \
      asm volatile("{.reg .pred p; setp.ne.u32 p, %2, 0; @p ld." SPACE ".v2.u32 {%0, %1}, [%3];}" \
                   : "+r"(a), "+r"(b)                                                             \
                   : "r"(on), "l"(address)                                                        \
                   : "memory");                                                                   \
    }                                                                                             \
    if constexpr (W == 16) {                                                                      \
      asm volatile("{.reg .pred p; setp.ne.u32 p, %4, 0; @p ld." SPACE                            \
                   ".v4.u32 {%0, %1, %2, %3}, [%5];}"                                             \
                   : "+r"(a), "+r"(b), "+r"(c), "+r"(d)                                           \
                   : "r"(on), "l"(address)                                                        \
                   : "memory");                                                                   \
    }                                                                                             \
    return a ^ b ^ c ^ d;                                                                         \
  }

#define CT_DEFINE_STORE(NAME, SPACE)                                                      \
  template <int W>                                                                        \
  __device__ void NAME(std::uint64_t address, std::uint32_t on, std::uint32_t value) {    \
    if constexpr (W == 1) CT_STORE(SPACE, "u8", "r", value);                              \
    if constexpr (W == 2) CT_STORE(SPACE, "u16", "h", static_cast<std::uint16_t>(value)); \
    if constexpr (W == 4) CT_STORE(SPACE, "u32", "r", value);                             \
    if constexpr (W == 8) {                                                               \
      asm volatile("{.reg .pred p; setp.ne.u32 p, %0, 0; @p st." SPACE                    \
                   ".v2.u32 [%1], {%2, %2};}" ::"r"(on),                                  \
                   "l"(address), "r"(value)                                               \
                   : "memory");                                                           \
    }                                                                                     \
    if constexpr (W == 16) {                                                              \
      asm volatile("{.reg .pred p; setp.ne.u32 p, %0, 0; @p st." SPACE                    \
                   ".v4.u32 [%1], {%2, %2, %2, %2};}" ::"r"(on),                          \
                   "l"(address), "r"(value)                                               \
                   : "memory");                                                           \
    }                                                                                     \
  }

CT_DEFINE_LOAD(load_shared, "shared")
CT_DEFINE_LOAD(load_global, "global")
CT_DEFINE_STORE(store_shared, "shared")
CT_DEFINE_STORE(store_global, "global")

// All lanes issue a matrix instruction; lanes 0 .. 8 * Matrices - 1 give the rows.
template <int Matrices>
__device__ std::uint32_t load_matrices(std::uint32_t address) {
  std::uint32_t a = 0, b = 0, c = 0, d = 0;
  if constexpr (Matrices == 1) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];"
                 : "=r"(a)
                 : "r"(address)
                 : "memory");
  } else if constexpr (Matrices == 2) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
                 : "=r"(a), "=r"(b)
                 : "r"(address)
                 : "memory");
  } else {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(a), "=r"(b), "=r"(c), "=r"(d)
                 : "r"(address)
                 : "memory");
  }
  return a ^ b ^ c ^ d;
}

template <int Matrices>
__device__ void store_matrices(std::uint32_t address, std::uint32_t value) {
  if constexpr (Matrices == 1) {
    asm volatile("stmatrix.sync.aligned.m8n8.x1.shared.b16 [%0], {%1};" ::"r"(address), "r"(value)
                 : "memory");
  } else if constexpr (Matrices == 2) {
    asm volatile("stmatrix.sync.aligned.m8n8.x2.shared.b16 [%0], {%1, %1};" ::"r"(address),
                 "r"(value)
                 : "memory");
  } else {
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %1, %1, %1};" ::"r"(address),
                 "r"(value)
                 : "memory");
  }
}

template <int W, bool Bypass>
__device__ void copy_async(std::uint32_t shared, std::uint64_t global, std::uint32_t on) {
  if constexpr (Bypass) {
    asm volatile(
        "{.reg .pred p; setp.ne.u32 p, %0, 0; @p cp.async.cg.shared.global [%1], [%2], 16;}" ::"r"(
            on),
        "r"(shared), "l"(global)
        : "memory");
  } else {
    asm volatile(
        "{.reg .pred p; setp.ne.u32 p, %0, 0; @p cp.async.ca.shared.global [%1], [%2], %3;}" ::"r"(
            on),
        "r"(shared), "l"(global), "n"(W)
        : "memory");
  }
  asm volatile("cp.async.wait_all;" ::: "memory");
}

// N: bytes a lane, or the matrices of a matrix instruction.
template <Instruction Kind, int N>
__global__ void probe(const __grid_constant__ LaneOffsets lanes, unsigned char* global,
                      std::uint32_t* sink) {
  __shared__ alignas(1024) unsigned char shared[cornerturn::bench::shared_span];
  const std::uint32_t lane = threadIdx.x;
  const std::uint32_t on = (lanes.active >> lane) & 1U;
  const std::uint32_t offset = lanes.offset[lane];
  const std::uint32_t shared_at = static_cast<std::uint32_t>(__cvta_generic_to_shared(shared));
  std::uint32_t result = 0;
  if constexpr (Kind == Instruction::shared_load) result = load_shared<N>(shared_at + offset, on);
  if constexpr (Kind == Instruction::shared_store) store_shared<N>(shared_at + offset, on, lane);
  if constexpr (Kind == Instruction::ldmatrix) result = load_matrices<N>(shared_at + offset);
  if constexpr (Kind == Instruction::stmatrix) store_matrices<N>(shared_at + offset, lane);
  const std::uint64_t global_at = reinterpret_cast<std::uint64_t>(global) + offset;
  if constexpr (Kind == Instruction::global_load) result = load_global<N>(global_at, on);
  if constexpr (Kind == Instruction::global_store) store_global<N>(global_at, on, lane);
  if constexpr (Kind == Instruction::async_copy || Kind == Instruction::async_copy_bypass) {
    const std::uint64_t from = reinterpret_cast<std::uint64_t>(global) + lanes.source[lane];
    copy_async<N, Kind == Instruction::async_copy_bypass>(shared_at + offset, from, on);
  }
  if (result == lanes.never) *sink = result;
}

using Kernel = void (*)(LaneOffsets, unsigned char*, std::uint32_t*);

template <Instruction Kind>
Kernel of_width(int width) {
  switch (width) {
    case 4:
      return probe<Kind, 4>;
    case 8:
      return probe<Kind, 8>;
    case 16:
      return probe<Kind, 16>;
    default:
      break;
  }
  if constexpr (Kind != Instruction::async_copy) {
    return width == 1 ? probe<Kind, 1> : probe<Kind, 2>;
  }
  return nullptr;
}

template <Instruction Kind>
Kernel of_matrices(std::uint32_t active) {
  if (active == 0xffU) return probe<Kind, 1>;
  return active == 0xffffU ? probe<Kind, 2> : probe<Kind, 4>;
}

Kernel kernel_of(const Pattern& pattern) {
  const int width = pattern.request.width;
  switch (pattern.instruction) {
    case Instruction::shared_load:
      return of_width<Instruction::shared_load>(width);
    case Instruction::shared_store:
      return of_width<Instruction::shared_store>(width);
    case Instruction::global_load:
      return of_width<Instruction::global_load>(width);
    case Instruction::global_store:
      return of_width<Instruction::global_store>(width);
    case Instruction::async_copy:
      return of_width<Instruction::async_copy>(width);
    case Instruction::async_copy_bypass:
      return probe<Instruction::async_copy_bypass, 16>;
    case Instruction::ldmatrix:
      return of_matrices<Instruction::ldmatrix>(pattern.request.active);
    case Instruction::stmatrix:
      return of_matrices<Instruction::stmatrix>(pattern.request.active);
  }
  return nullptr;
}

void check(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "access_probe: %s: %s\n", what, cudaGetErrorString(error));
  std::exit(1);
}

void list(const std::vector<Pattern>& patterns) {
  nlohmann::ordered_json out = nlohmann::ordered_json::array();
  for (const Pattern& pattern : patterns) {
    out.push_back({{"name", pattern.name},
                   {"instruction", cornerturn::bench::name_of(pattern.instruction)},
                   {"width", pattern.request.width},
                   {"active", pattern.request.active},
                   {"offsets", pattern.request.address}});
    if (cornerturn::bench::is_async(pattern.instruction)) out.back()["source"] = pattern.source;
  }
  std::puts(out.dump().c_str());
}

void launch(const std::vector<Pattern>& patterns, std::size_t from, std::size_t count) {
  unsigned char* global = nullptr;
  std::uint32_t* sink = nullptr;
  check(cudaMalloc(&global, cornerturn::bench::global_span), "cudaMalloc");
  check(cudaMalloc(&sink, sizeof *sink), "cudaMalloc");
  check(cudaMemset(global, 1, cornerturn::bench::global_span), "cudaMemset");
  for (std::size_t i = from; i < patterns.size() && i - from < count; ++i) {
    LaneOffsets lanes{};
    for (std::size_t lane = 0; lane < 32; ++lane) {
      lanes.offset[lane] = static_cast<std::uint32_t>(patterns[i].request.address[lane]);
      lanes.source[lane] = static_cast<std::uint32_t>(patterns[i].source[lane]);
    }
    lanes.active = patterns[i].request.active;
    lanes.never = 0x9e3779b9U;
    kernel_of(patterns[i])<<<1, 32>>>(lanes, global, sink);
    check(cudaGetLastError(), patterns[i].name.c_str());
  }
  check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  check(cudaFree(global), "cudaFree");
  check(cudaFree(sink), "cudaFree");
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<Pattern> patterns = cornerturn::bench::access_patterns();
  if (argc == 2 && std::strcmp(argv[1], "--list") == 0) {
    list(patterns);
    return 0;
  }
  if (argc == 5 && std::strcmp(argv[1], "--from") == 0 && std::strcmp(argv[3], "--count") == 0) {
    launch(patterns, std::strtoull(argv[2], nullptr, 10), std::strtoull(argv[4], nullptr, 10));
    return 0;
  }
  std::fprintf(stderr, "usage: access_probe --list | --from FIRST --count N\n");
  return 2;
}
