// What the front end writes for instructions of inline assembly. Addresses are pointers or
// integers; those of shared memory are what __cvta_generic_to_shared gives.
#pragma once

#include "cornerturn_guest_math.hpp"
#include "cornerturn_guest_memory.hpp"

namespace cornerturn::guest {

template <class A>
CT_GUEST_INLINE char* global_pointer(A address, long offset) {
  if constexpr (std::is_pointer_v<A>) {
    return const_cast<char*>(reinterpret_cast<const volatile char*>(address)) + offset;
  } else {
    return reinterpret_cast<char*>(static_cast<std::uintptr_t>(address)) + offset;
  }
}
template <class A>
CT_GUEST_INLINE char* shared_pointer(A address, long offset) {
  if constexpr (std::is_pointer_v<A>) {
    return const_cast<char*>(reinterpret_cast<const volatile char*>(address)) + offset;
  } else {
    return static_cast<char*>(from_shared_address(static_cast<std::uint64_t>(address))) + offset;
  }
}

// A register has no type: the bits of a value are cut off or filled with zeros, or with its sign.
template <class T, class V>
CT_GUEST_INLINE T asm_get(V value) {
  if constexpr (std::is_same_v<T, V>) {
    return value;
  } else if constexpr (std::is_integral_v<T> && std::is_integral_v<V>) {
    return static_cast<T>(value);
  } else if constexpr (std::is_pointer_v<V> && std::is_integral_v<T>) {
    return static_cast<T>(reinterpret_cast<std::uintptr_t>(value));
  } else if constexpr (std::is_pointer_v<T> && std::is_integral_v<V>) {
    return reinterpret_cast<T>(static_cast<std::uintptr_t>(value));
  } else {
    return from_bits<T>(to_bits(value));
  }
}
template <class Out, class V>
CT_GUEST_INLINE void asm_put(Out& out, V value) {
  out = asm_get<Out>(value);
}

template <class T, int count>
struct alignas(sizeof(T) * count) Registers {
  T value[count];
};

template <class T, class... Out>
CT_GUEST_INLINE void asm_load(const char* at, Out&... out) {
  const auto loaded = *reinterpret_cast<const Registers<T, sizeof...(Out)>*>(at);
  int next = 0;
  (asm_put(out, loaded.value[next++]), ...);
}
template <class T, class... V>
CT_GUEST_INLINE void asm_store(char* at, V... values) {
  const Registers<T, sizeof...(V)> stored{{asm_get<T>(values)...}};
  *reinterpret_cast<Registers<T, sizeof...(V)>*>(at) = stored;
}
template <class T, class A, class... Out>
CT_GUEST_INLINE void asm_load_global(A address, long offset, Out&... out) {
  asm_load<T>(global_pointer(address, offset), out...);
}
template <class T, class A, class... Out>
CT_GUEST_INLINE void asm_load_shared(A address, long offset, Out&... out) {
  asm_load<T>(shared_pointer(address, offset), out...);
}
template <class T, class A, class... V>
CT_GUEST_INLINE void asm_store_global(A address, long offset, V... values) {
  asm_store<T>(global_pointer(address, offset), values...);
}
template <class T, class A, class... V>
CT_GUEST_INLINE void asm_store_shared(A address, long offset, V... values) {
  asm_store<T>(shared_pointer(address, offset), values...);
}

template <int bytes, bool through_l1, class S, class G>
CT_GUEST_INLINE void asm_cp_async(S shared, G global, int source_bytes) {
  copy_async(shared_pointer(shared, 0), global_pointer(global, 0), bytes, source_bytes, through_l1);
}

template <int count, bool transposed, class A, class... Out>
CT_GUEST_INLINE void asm_ldmatrix(A shared, long offset, Out&... out) {
  static_assert(sizeof...(Out) == count, "ldmatrix has as many registers as matrices");
  std::uint32_t loaded[count];
  load_matrices(loaded, count, transposed, shared_pointer(shared, offset));
  int next = 0;
  (asm_put(out, loaded[next++]), ...);
}
template <int count, bool transposed, class A, class... V>
CT_GUEST_INLINE void asm_stmatrix(A shared, long offset, V... values) {
  static_assert(sizeof...(V) == count, "stmatrix has as many registers as matrices");
  const std::uint32_t stored[count] = {asm_get<std::uint32_t>(values)...};
  store_matrices(stored, count, transposed, shared_pointer(shared, offset));
}

// Which lane a shfl instruction reads, and whether that lane is in range. `clamp` holds the last
// lane of a segment in its low 5 bits and the mask of the segment from bit 8.
struct ShuffleSource {
  unsigned lane;
  bool in_range;
};
template <char mode>
CT_GUEST_PLAIN ShuffleSource shuffle_source(unsigned lane, unsigned operand, unsigned clamp) {
  const unsigned segment = clamp >> 8 & 31u;
  const unsigned last = (lane & segment) | (clamp & 31u & ~segment);
  operand &= 31u;
  unsigned source = lane;
  bool in_range = true;
  if constexpr (mode == 'i') {
    source = (operand & ~segment) | (lane & segment);
    in_range = source <= last;
  } else if constexpr (mode == 'u') {
    in_range = static_cast<int>(lane) - static_cast<int>(operand) >= static_cast<int>(last);
    source = lane - operand;
  } else if constexpr (mode == 'd') {
    source = lane + operand;
    in_range = source <= last;
  } else {
    source = lane ^ operand;
    in_range = source <= last;
  }
  return {in_range ? source : lane, in_range};
}
template <char mode, class V>
CT_GUEST_INLINE std::uint32_t asm_shuffle(V value, unsigned operand, unsigned clamp, unsigned mask,
                                          bool* predicate) {
  const auto* slots = warp_exchange(mask, asm_get<std::uint32_t>(value));
  const auto source = shuffle_source<mode>(lane_id(), operand, clamp);
  if (predicate != nullptr) {
    *predicate = source.in_range;
  }
  return static_cast<std::uint32_t>(lane_value(slots, source.lane));
}

CT_GUEST_PLAIN inline std::uint32_t asm_prmt(std::uint32_t a, std::uint32_t b, std::uint32_t c) {
  return __byte_perm(a, b, c);
}
// Bit i of the table tells the result for the three bits of i: that of `a` is worth 4.
CT_GUEST_PLAIN inline std::uint32_t asm_lop3(std::uint32_t a, std::uint32_t b, std::uint32_t c,
                                             unsigned table) {
  std::uint32_t result = 0;
  for (unsigned i = 0; i < 8; ++i) {
    if ((table >> i & 1u) != 0) {
      result |= ((i & 4u) != 0 ? a : ~a) & ((i & 2u) != 0 ? b : ~b) & ((i & 1u) != 0 ? c : ~c);
    }
  }
  return result;
}
CT_GUEST_PLAIN inline std::uint32_t asm_bfe_u32(std::uint32_t a, unsigned position,
                                                unsigned length) {
  position &= 255u;
  length &= 255u;
  const std::uint64_t moved = position < 32 ? a >> position : 0u;
  return static_cast<std::uint32_t>(length < 32 ? moved & ((1ull << length) - 1) : moved);
}
CT_GUEST_PLAIN inline std::uint32_t asm_bfi_b32(std::uint32_t a, std::uint32_t b, unsigned position,
                                                unsigned length) {
  position &= 255u;
  length &= 255u;
  if (position > 31) {
    return b;
  }
  const std::uint32_t field =
      static_cast<std::uint32_t>((length < 32 ? (1ull << length) - 1 : 0xffffffffull) << position);
  return (b & ~field) | (a << position & field);
}
CT_GUEST_PLAIN inline std::uint32_t asm_brev(std::uint32_t a) {
  return __brev(a);
}
CT_GUEST_PLAIN inline std::uint32_t asm_popc(std::uint32_t a) {
  return static_cast<std::uint32_t>(__popc(a));
}
CT_GUEST_PLAIN inline std::uint32_t asm_clz(std::uint32_t a) {
  return static_cast<std::uint32_t>(__clz(static_cast<int>(a)));
}

// Special registers by name.
CT_GUEST_PLAIN inline std::uint64_t asm_special(const char* name) {
  const unsigned lane = lane_id();
  const auto is = [name](const char* other)
                      CT_GUEST_PLAIN { return __builtin_strcmp(name, other) == 0; };
  const std::uint32_t below = (1u << lane) - 1;
  const std::uint32_t here = 1u << lane;
  return is("laneid")        ? lane
         : is("warpid")      ? thread_rank() / 32
         : is("nsmid")       ? 1
         : is("clock")       ? static_cast<std::uint32_t>(clock64())
         : is("clock64")     ? static_cast<std::uint64_t>(clock64())
         : is("globaltimer") ? static_cast<std::uint64_t>(clock64())
         : is("lanemask_lt") ? below
         : is("lanemask_le") ? below | here
         : is("lanemask_eq") ? here
         : is("lanemask_gt") ? ~(below | here)
         : is("lanemask_ge") ? ~below
                             : 0;
}

template <class T, char operation, class A, class V>
CT_GUEST_INLINE T asm_atomic(A address, long offset, V value, V second = V{}) {
  T* const at = reinterpret_cast<T*>(global_pointer(address, offset));
  const T a = asm_get<T>(value);
  if constexpr (operation == 'a') {
    return atomic_update<Add, T>(at, a);
  } else if constexpr (operation == 'm') {
    return atomic_update<Min, T>(at, a);
  } else if constexpr (operation == 'M') {
    return atomic_update<Max, T>(at, a);
  } else if constexpr (operation == 'e') {
    return atomic_update<Exchange, T>(at, a);
  } else if constexpr (operation == 'c') {
    return atomic_update<CompareAndSwap, T>(at, a, asm_get<T>(second));
  } else if constexpr (operation == '&') {
    return atomic_update<And, T>(at, a);
  } else if constexpr (operation == '|') {
    return atomic_update<Or, T>(at, a);
  } else {
    return atomic_update<Xor, T>(at, a);
  }
}

}  // namespace cornerturn::guest
