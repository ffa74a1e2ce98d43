// Barriers, shuffles, votes and reductions of a warp's lanes.
#pragma once

#include <cstring>

#include "cornerturn_guest_launch.hpp"

CT_GUEST_INLINE void __syncthreads() {
  ::cornerturn::guest::block_barrier();
}
CT_GUEST_INLINE int __syncthreads_count(int predicate) {
  return ::cornerturn::guest::block_barrier_count(predicate);
}
CT_GUEST_INLINE int __syncthreads_and(int predicate) {
  return ::cornerturn::guest::block_barrier_and(predicate);
}
CT_GUEST_INLINE int __syncthreads_or(int predicate) {
  return ::cornerturn::guest::block_barrier_or(predicate);
}
CT_GUEST_INLINE void __syncwarp(unsigned mask = 0xffffffffu) {
  ::cornerturn::guest::warp_barrier(mask);
}
CT_GUEST_INLINE unsigned __activemask() {
  return ::cornerturn::guest::active_mask();
}

namespace cornerturn::guest {

CT_GUEST_PLAIN inline unsigned lane_id() {
  return thread_rank() % 32;
}

// A value's bits as the low bytes of 64, and back. They are called with copies on the stack.
template <class T>
CT_GUEST_PLAIN std::uint64_t to_bits(T value) {
  static_assert(sizeof(T) <= 8, "a lane exchanges at most 8 bytes");
  std::uint64_t bits = 0;
  __builtin_memcpy(&bits, &value, sizeof(T));
  return bits;
}
template <class T>
CT_GUEST_PLAIN T from_bits(std::uint64_t bits) {
  T value;
  __builtin_memcpy(&value, &bits, sizeof(T));
  return value;
}

// Which lane a shuffle reads. A segment has `width` lanes, a power of two.
CT_GUEST_PLAIN inline unsigned shuffle_index(unsigned lane, unsigned source, unsigned width) {
  return (lane & ~(width - 1)) | (source & (width - 1));
}
CT_GUEST_PLAIN inline unsigned shuffle_up(unsigned lane, unsigned delta, unsigned width) {
  const unsigned first = lane & ~(width - 1);
  return delta > lane - first ? lane : lane - delta;
}
CT_GUEST_PLAIN inline unsigned shuffle_down(unsigned lane, unsigned delta, unsigned width) {
  const unsigned last = lane | (width - 1);
  return delta > last - lane ? lane : lane + delta;
}
CT_GUEST_PLAIN inline unsigned shuffle_xor(unsigned lane, unsigned bits, unsigned width) {
  const unsigned other = lane ^ bits;
  return other > (lane | (width - 1)) ? lane : other;
}
CT_GUEST_PLAIN inline std::uint64_t slot(const std::uint64_t* slots, unsigned lane) {
  return slots[lane % 32];
}

// A vote sends 1 for yes and 2 for no, because a lane that has ended sends 0 and has no vote.
CT_GUEST_PLAIN inline unsigned vote(const std::uint64_t* slots, std::uint64_t word) {
  unsigned mask = 0;
  for (unsigned lane = 0; lane < 32; ++lane) {
    mask |= slots[lane] == word ? 1u << lane : 0u;
  }
  return mask;
}
CT_GUEST_PLAIN inline unsigned match(const std::uint64_t* slots, unsigned mask,
                                     std::uint64_t mine) {
  return vote(slots, mine) & mask;
}
template <class T, class Operation>
CT_GUEST_PLAIN T reduce_slots(const std::uint64_t* slots, unsigned mask, Operation operation) {
  mask &= active_mask();
  bool first = true;
  T sum{};
  for (unsigned lane = 0; lane < 32; ++lane) {
    if ((mask >> lane & 1u) != 0) {
      const T value = from_bits<T>(slots[lane]);
      sum = first ? value : operation(sum, value);
      first = false;
    }
  }
  return sum;
}

}  // namespace cornerturn::guest

#define CT_GUEST_SHUFFLE(NAME, LANE_TYPE, WHICH)                                             \
  template <class T>                                                                         \
  CT_GUEST_INLINE T NAME(unsigned mask, T value, LANE_TYPE lane, int width = 32) {           \
    namespace g = ::cornerturn::guest;                                                       \
    const auto* slots = g::warp_exchange(mask, g::to_bits(value));                           \
    return g::from_bits<T>(g::lane_value(                                                    \
        slots,                                                                               \
        g::WHICH(g::lane_id(), static_cast<unsigned>(lane), static_cast<unsigned>(width)))); \
  }
CT_GUEST_SHUFFLE(__shfl_sync, int, shuffle_index)
CT_GUEST_SHUFFLE(__shfl_up_sync, unsigned, shuffle_up)
CT_GUEST_SHUFFLE(__shfl_down_sync, unsigned, shuffle_down)
CT_GUEST_SHUFFLE(__shfl_xor_sync, int, shuffle_xor)
#undef CT_GUEST_SHUFFLE

CT_GUEST_INLINE unsigned __ballot_sync(unsigned mask, int predicate) {
  namespace g = ::cornerturn::guest;
  return g::vote(g::warp_exchange(mask, predicate != 0 ? 1 : 2), 1);
}
CT_GUEST_INLINE int __all_sync(unsigned mask, int predicate) {
  namespace g = ::cornerturn::guest;
  return g::vote(g::warp_exchange(mask, predicate != 0 ? 1 : 2), 2) == 0;
}
CT_GUEST_INLINE int __any_sync(unsigned mask, int predicate) {
  namespace g = ::cornerturn::guest;
  return g::vote(g::warp_exchange(mask, predicate != 0 ? 1 : 2), 1) != 0;
}
CT_GUEST_INLINE int __uni_sync(unsigned mask, int predicate) {
  namespace g = ::cornerturn::guest;
  const auto* slots = g::warp_exchange(mask, predicate != 0 ? 1 : 2);
  return g::vote(slots, 1) == 0 || g::vote(slots, 2) == 0;
}
template <class T>
CT_GUEST_INLINE unsigned __match_any_sync(unsigned mask, T value) {
  namespace g = ::cornerturn::guest;
  const auto bits = g::to_bits(value);
  return g::match(g::warp_exchange(mask, bits), mask, bits) & g::active_mask();
}
template <class T>
CT_GUEST_INLINE unsigned __match_all_sync(unsigned mask, T value, int* predicate) {
  namespace g = ::cornerturn::guest;
  const auto bits = g::to_bits(value);
  const unsigned there = mask & g::active_mask();
  const bool all = (g::match(g::warp_exchange(mask, bits), mask, bits) & there) == there;
  *predicate = all ? 1 : 0;
  return all ? mask : 0u;
}

#define CT_GUEST_REDUCE(NAME, TYPE, EXPRESSION)                                      \
  CT_GUEST_INLINE TYPE NAME(unsigned mask, TYPE value) {                             \
    namespace g = ::cornerturn::guest;                                               \
    return g::reduce_slots<TYPE>(g::warp_exchange(mask, g::to_bits(value)), mask,    \
                                 [](TYPE a, TYPE b)                                  \
                                     CT_GUEST_PLAIN -> TYPE { return EXPRESSION; }); \
  }
CT_GUEST_REDUCE(__reduce_add_sync, unsigned, a + b)
CT_GUEST_REDUCE(__reduce_min_sync, unsigned, (a < b ? a : b))
CT_GUEST_REDUCE(__reduce_max_sync, unsigned, (a > b ? a : b))
CT_GUEST_REDUCE(__reduce_add_sync, int,
                static_cast<int>(static_cast<unsigned>(a) + static_cast<unsigned>(b)))
CT_GUEST_REDUCE(__reduce_min_sync, int, (a < b ? a : b))
CT_GUEST_REDUCE(__reduce_max_sync, int, (a > b ? a : b))
CT_GUEST_REDUCE(__reduce_and_sync, unsigned, (a & b))
CT_GUEST_REDUCE(__reduce_or_sync, unsigned, (a | b))
CT_GUEST_REDUCE(__reduce_xor_sync, unsigned, (a ^ b))
#undef CT_GUEST_REDUCE
