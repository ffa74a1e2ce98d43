// 16 bytes at any address: the aligned vectors around them, shifted; and parts of an aligned
// vector.
#pragma once

#include <cstdint>

#include "kernels/context.hpp"
#include "kernels/elements.hpp"

namespace cornerturn::kernels {

/// Bytes past a multiple of 16.
CT_HOST_DEVICE inline int phase_of(const void* p) {
  return static_cast<int>(reinterpret_cast<std::uintptr_t>(p) & 15U);
}

/// Addresses that may be read: what lies between the problem's lowest and highest source byte.
struct Span {
  const std::byte* low = nullptr;
  const std::byte* high = nullptr;

  /// Whether the aligned vectors around the 16 bytes at `p` lie inside.
  CT_HOST_DEVICE bool has_vectors(const std::byte* p) const {
    const int phase = phase_of(p);
    return p - phase >= low && p + (phase != 0 ? 32 - phase : 16) <= high;
  }
};

/// The two aligned vectors that hold the 16 bytes at an address.
struct VectorPair {
  Element16 low;
  Element16 high;

  template <class Ctx>
  CT_DEVICE static VectorPair load_if(Ctx& ctx, bool active, const std::byte* p) {
    const int phase = phase_of(p);
    const auto* first = reinterpret_cast<const Element16*>(p - phase);
    return {ctx.load_if(active, first), ctx.load_if(active && phase != 0, first + 1)};
  }

  /// The 16 bytes from byte `phase` on.
  CT_DEVICE Element16 from(int phase) const {
    std::uint32_t w[8];
    CT_UNROLL
    for (int i = 0; i < 4; ++i) {
      w[i] = low[i];
      w[i + 4] = high[i];
    }
    CT_UNROLL
    for (int i = 0; i < 6; ++i) w[i] = (phase & 8) != 0 ? w[i + 2] : w[i];
    CT_UNROLL
    for (int i = 0; i < 5; ++i) w[i] = (phase & 4) != 0 ? w[i + 1] : w[i];
    const std::uint32_t selector = 0x3210U + 0x1111U * static_cast<std::uint32_t>(phase & 3);
    Element16 v;
    CT_UNROLL
    for (int i = 0; i < 4; ++i) v[i] = byte_permute(w[i], w[i + 1], selector);
    return v;
  }
};

/// Bytes [0, count) of `a`, the others of `b`.
CT_DEVICE Element16 first_bytes(int count, const Element16& a, const Element16& b) {
  Element16 v;
  CT_UNROLL
  for (int i = 0; i < 4; ++i) {
    const int of_word = count - 4 * i;
    const std::uint32_t mask = of_word >= 4 ? ~0U : of_word <= 0 ? 0U : (1U << 8 * of_word) - 1;
    v[i] = (a[i] & mask) | (b[i] & ~mask);
  }
  return v;
}

/// Stores bytes [begin, end) of `v`, which belongs at the aligned address `to`: in pieces of 1, 2,
/// 4 and 8 bytes, small to large up to a boundary, then large to small. Both ends are multiples of
/// `granule`.
template <int granule, class Ctx>
CT_DEVICE void store_part(Ctx& ctx, std::byte* to, const Element16& v, int begin, int end) {
  Element16 left = VectorPair{v, {}}.from(begin);
  int count = end - begin;
  to += begin;
  const auto piece = [&]<class T>(bool active, T) {
    constexpr int size = sizeof(T);
    std::uint64_t low = std::uint64_t{left[1]} << 32 | left[0];
    ctx.store_if(active, reinterpret_cast<T*>(to), static_cast<T>(low));
    Element16 rest;
    CT_UNROLL
    for (int i = 0; i < 4; ++i) {
      constexpr int words = size / 4;
      if constexpr (words == 0) {
        rest[i] = left[i] >> 8 * size | (i < 3 ? left[(i + 1) % 4] << (32 - 8 * size) : 0U);
      } else {
        rest[i] = i + words < 4 ? left[(i + words) % 4] : 0U;
      }
      left[i] = active ? rest[i] : left[i];
    }
    to += active ? size : 0;
    count -= active ? size : 0;
  };
  const auto up = [&]<class T>(T t) {
    constexpr int size = sizeof(T);
    if constexpr (size >= granule) {
      piece((reinterpret_cast<std::uintptr_t>(to) & size) != 0 && count >= size, t);
    }
  };
  const auto down = [&]<class T>(T t) {
    constexpr int size = sizeof(T);
    if constexpr (size >= granule) piece(count >= size, t);
  };
  up(std::uint8_t{});
  up(std::uint16_t{});
  up(std::uint32_t{});
  up(std::uint64_t{});
  down(std::uint64_t{});
  down(std::uint32_t{});
  down(std::uint16_t{});
  down(std::uint8_t{});
}

}  // namespace cornerturn::kernels
