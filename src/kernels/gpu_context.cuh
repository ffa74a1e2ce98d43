// The context of a real GPU thread. Accesses are inline PTX, so that the compiler can neither split
// a wide one nor merge narrow ones. Members as in context.hpp.
#pragma once

#include <type_traits>

#include "kernels/context.hpp"

namespace cornerturn {

namespace gpu {

template <int N>
struct Words {
  std::uint32_t at[N];
};

// A value of 1-16 bytes as the registers that its access uses.
template <class V>
using Bits = std::conditional_t<
    sizeof(V) == 1, std::uint8_t,
    std::conditional_t<sizeof(V) == 2, std::uint16_t,
                       std::conditional_t<sizeof(V) == 4, std::uint32_t,
                                          std::conditional_t<sizeof(V) == 8, Words<2>, Words<4>>>>>;

#define CT_ACCESSES(SPACE, CONSTRAINT, ADDRESS)                                                \
  CT_DEVICE void load_##SPACE(std::uint8_t& v, ADDRESS p) {                                    \
    std::uint32_t word;                                                                        \
    asm volatile("ld." #SPACE ".u8 %0, [%1];" : "=r"(word) : CONSTRAINT(p) : "memory");        \
    v = static_cast<std::uint8_t>(word);                                                       \
  }                                                                                            \
  CT_DEVICE void load_##SPACE(std::uint16_t& v, ADDRESS p) {                                   \
    asm volatile("ld." #SPACE ".u16 %0, [%1];" : "=h"(v) : CONSTRAINT(p) : "memory");          \
  }                                                                                            \
  CT_DEVICE void load_##SPACE(std::uint32_t& v, ADDRESS p) {                                   \
    asm volatile("ld." #SPACE ".u32 %0, [%1];" : "=r"(v) : CONSTRAINT(p) : "memory");          \
  }                                                                                            \
  CT_DEVICE void load_##SPACE(Words<2>& v, ADDRESS p) {                                        \
    asm volatile("ld." #SPACE ".v2.u32 {%0, %1}, [%2];"                                        \
                 : "=r"(v.at[0]), "=r"(v.at[1])                                                \
                 : CONSTRAINT(p)                                                               \
                 : "memory");                                                                  \
  }                                                                                            \
  CT_DEVICE void load_##SPACE(Words<4>& v, ADDRESS p) {                                        \
    asm volatile("ld." #SPACE ".v4.u32 {%0, %1, %2, %3}, [%4];"                                \
                 : "=r"(v.at[0]), "=r"(v.at[1]), "=r"(v.at[2]), "=r"(v.at[3])                  \
                 : CONSTRAINT(p)                                                               \
                 : "memory");                                                                  \
  }                                                                                            \
  CT_DEVICE void store_##SPACE(ADDRESS p, std::uint8_t v) {                                    \
    const std::uint32_t word = v;                                                              \
    asm volatile("st." #SPACE ".u8 [%0], %1;" ::CONSTRAINT(p), "r"(word) : "memory");          \
  }                                                                                            \
  CT_DEVICE void store_##SPACE(ADDRESS p, std::uint16_t v) {                                   \
    asm volatile("st." #SPACE ".u16 [%0], %1;" ::CONSTRAINT(p), "h"(v) : "memory");            \
  }                                                                                            \
  CT_DEVICE void store_##SPACE(ADDRESS p, std::uint32_t v) {                                   \
    asm volatile("st." #SPACE ".u32 [%0], %1;" ::CONSTRAINT(p), "r"(v) : "memory");            \
  }                                                                                            \
  CT_DEVICE void store_##SPACE(ADDRESS p, Words<2> v) {                                        \
    asm volatile("st." #SPACE ".v2.u32 [%0], {%1, %2};" ::CONSTRAINT(p), "r"(v.at[0]),         \
                 "r"(v.at[1])                                                                  \
                 : "memory");                                                                  \
  }                                                                                            \
  CT_DEVICE void store_##SPACE(ADDRESS p, Words<4> v) {                                        \
    asm volatile("st." #SPACE ".v4.u32 [%0], {%1, %2, %3, %4};" ::CONSTRAINT(p), "r"(v.at[0]), \
                 "r"(v.at[1]), "r"(v.at[2]), "r"(v.at[3])                                      \
                 : "memory");                                                                  \
  }

CT_ACCESSES(global, "l", const void*)
CT_ACCESSES(shared, "r", std::uint32_t)
#undef CT_ACCESSES

}  // namespace gpu

class GpuContext {
 public:
  CT_DEVICE Dim3 thread_id() const { return {threadIdx.x, threadIdx.y, threadIdx.z}; }
  CT_DEVICE Dim3 block_id() const { return {blockIdx.x, blockIdx.y, blockIdx.z}; }
  CT_DEVICE Dim3 block_dim() const { return {blockDim.x, blockDim.y, blockDim.z}; }
  CT_DEVICE Dim3 grid_dim() const { return {gridDim.x, gridDim.y, gridDim.z}; }
  CT_DEVICE int thread_index() const {
    return static_cast<int>(threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z));
  }
  CT_DEVICE int lane() const { return thread_index() % 32; }
  CT_DEVICE int warp() const { return thread_index() / 32; }

  template <class T, int count, int id = 0>
  CT_DEVICE SharedPointer<T> shared() {
    __shared__ __align__(128) unsigned char storage[count * sizeof(T)];
    return {static_cast<std::uint32_t>(__cvta_generic_to_shared(storage))};
  }
  template <class T>
  CT_DEVICE SharedPointer<T> dynamic_shared() {
    extern __shared__ __align__(1024) unsigned char cornerturn_dynamic_shared[];
    return {static_cast<std::uint32_t>(__cvta_generic_to_shared(cornerturn_dynamic_shared))};
  }

  template <class V>
  CT_DEVICE V load(const V* from) {
    gpu::Bits<V> bits;
    gpu::load_global(bits, from);
    return __builtin_bit_cast(V, bits);
  }
  template <class V>
  CT_DEVICE V load(SharedPointer<V> from) {
    gpu::Bits<V> bits;
    gpu::load_shared(bits, from.address);
    return __builtin_bit_cast(V, bits);
  }
  template <class V>
  CT_DEVICE void store(V* to, const V& value) {
    gpu::store_global(to, __builtin_bit_cast(gpu::Bits<V>, value));
  }
  template <class V>
  CT_DEVICE void store(SharedPointer<V> to, const V& value) {
    gpu::store_shared(to.address, __builtin_bit_cast(gpu::Bits<V>, value));
  }
  template <class V>
  CT_DEVICE V load_if(bool active, const V* from) {
    gpu::Bits<V> bits{};  // chosen as the registers it is loaded into, not byte by byte
    if (active) gpu::load_global(bits, from);
    return __builtin_bit_cast(V, bits);
  }
  template <class V>
  CT_DEVICE V load_line_if(bool active, const V* from) {
    static_assert(sizeof(V) == 16);
    gpu::Bits<V> bits{};
    if (active) {
      asm volatile("ld.global.L2::128B.v4.u32 {%0, %1, %2, %3}, [%4];"
                   : "=r"(bits.at[0]), "=r"(bits.at[1]), "=r"(bits.at[2]), "=r"(bits.at[3])
                   : "l"(from)
                   : "memory");
    }
    return __builtin_bit_cast(V, bits);
  }
  template <class V>
  CT_DEVICE V load_if(bool active, SharedPointer<V> from) {
    gpu::Bits<V> bits{};  // chosen as the registers it is loaded into, not byte by byte
    if (active) gpu::load_shared(bits, from.address);
    return __builtin_bit_cast(V, bits);
  }
  template <class V>
  CT_DEVICE void store_if(bool active, V* to, const V& value) {
    if (active) store(to, value);
  }
  template <class V>
  CT_DEVICE void store_if(bool active, SharedPointer<V> to, const V& value) {
    if (active) store(to, value);
  }

  CT_DEVICE void prefetch(const void* p) {
    asm volatile("prefetch.global.L2 [%0];" ::"l"(p) : "memory");
  }

  CT_DEVICE void barrier() { __syncthreads(); }
  CT_DEVICE void warp_barrier() { __syncwarp(); }

  template <class V>
  CT_DEVICE V shuffle(const V& value, int from_lane) {
    return exchange(value, [=](std::uint32_t w) { return __shfl_sync(~0U, w, from_lane); });
  }
  template <class V>
  CT_DEVICE V shuffle_xor(const V& value, int mask) {
    return exchange(value, [=](std::uint32_t w) { return __shfl_xor_sync(~0U, w, mask); });
  }
  CT_DEVICE std::uint32_t ballot(bool mine) { return __ballot_sync(~0U, mine); }

  template <class V>
  CT_DEVICE void copy_async(SharedPointer<V> to, const V* from) {
    static_assert(sizeof(V) == 4 || sizeof(V) == 8 || sizeof(V) == 16);
    if constexpr (sizeof(V) == 16) {
      asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to.address), "l"(from)
                   : "memory");
    } else {
      asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(to.address), "l"(from),
                   "n"(sizeof(V))
                   : "memory");
    }
  }
  template <class V>
  CT_DEVICE void copy_async_if(bool active, SharedPointer<V> to, const V* from) {
    if (active) copy_async(to, from);
  }
  template <class V>
  CT_DEVICE void copy_line_async_if(bool active, bool through_l1, SharedPointer<V> to,
                                    const V* from) {
    static_assert(sizeof(V) == 16);
    if (active && through_l1) {
      asm volatile("cp.async.ca.shared.global.L2::128B [%0], [%1], 16;" ::"r"(to.address), "l"(from)
                   : "memory");
    }
    if (active && !through_l1) {
      asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16;" ::"r"(to.address), "l"(from)
                   : "memory");
    }
  }
  CT_DEVICE void commit_async() { asm volatile("cp.async.commit_group;" ::: "memory"); }
  template <int pending>
  CT_DEVICE void wait_async() {
    asm volatile("cp.async.wait_group %0;" ::"n"(pending) : "memory");
  }

  CT_DEVICE std::uint32_t take_ticket(std::uint32_t* counter) { return atomicAdd(counter, 1U); }
  CT_DEVICE void announce(std::uint32_t* flag) {
    __threadfence();
    asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(flag), "r"(1U) : "memory");
  }
  CT_DEVICE void wait_for(const std::uint32_t* flag) {
    std::uint32_t announced;
    do {
      asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(announced) : "l"(flag) : "memory");
    } while (announced == 0);
  }

  /// Lane 8 m + r gives row r of matrix m; each lane gets two neighbouring elements of every
  /// matrix: row lane / 4, columns 2 (lane % 4) and the next.
  template <int count, class T>
  CT_DEVICE Vec<std::uint32_t, count> load_matrices(SharedPointer<T> row) {
    static_assert(count == 1 || count == 2 || count == 4);
    Vec<std::uint32_t, count> v;
    if constexpr (count == 1) {
      asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];"
                   : "=r"(v.at[0])
                   : "r"(row.address)
                   : "memory");
    } else if constexpr (count == 2) {
      asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
                   : "=r"(v.at[0]), "=r"(v.at[1])
                   : "r"(row.address)
                   : "memory");
    } else {
      asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                   : "=r"(v.at[0]), "=r"(v.at[1]), "=r"(v.at[2]), "=r"(v.at[3])
                   : "r"(row.address)
                   : "memory");
    }
    return v;
  }
  template <int count, class T>
  CT_DEVICE void store_matrices(SharedPointer<T> row, const Vec<std::uint32_t, count>& v) {
    static_assert(count == 1 || count == 2 || count == 4);
    if constexpr (count == 1) {
      asm volatile("stmatrix.sync.aligned.m8n8.x1.shared.b16 [%0], {%1};" ::"r"(row.address),
                   "r"(v.at[0])
                   : "memory");
    } else if constexpr (count == 2) {
      asm volatile("stmatrix.sync.aligned.m8n8.x2.shared.b16 [%0], {%1, %2};" ::"r"(row.address),
                   "r"(v.at[0]), "r"(v.at[1])
                   : "memory");
    } else {
      asm volatile(
          "stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(row.address),
          "r"(v.at[0]), "r"(v.at[1]), "r"(v.at[2]), "r"(v.at[3])
          : "memory");
    }
  }

 private:
  template <class V, class Exchange>
  CT_DEVICE static V exchange(const V& value, Exchange&& of_word) {
    static_assert(sizeof(V) == 4 || sizeof(V) == 8);
    auto words = __builtin_bit_cast(gpu::Words<sizeof(V) / 4>, value);
    CT_UNROLL
    for (auto& word : words.at) word = of_word(word);
    return __builtin_bit_cast(V, words);
  }
};

}  // namespace cornerturn
