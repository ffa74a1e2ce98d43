// 16 bytes at any address: the aligned vectors around them, shifted; and parts of an aligned
// vector.
#pragma once

#include <cstdint>

#include "kernels/context.hpp"
#include "kernels/elements.hpp"

namespace cornerturn::kernels {

using Words = Element16;

/// Bytes shift ... shift + 15 of (low, high), for a shift below `most` that is a multiple of
/// `step`.
template <int step, int most = 16>
CT_DEVICE Words funnel(const Words& low, const Words& high, unsigned shift) {
  std::uint32_t w[8];
  CT_UNROLL
  for (int i = 0; i < 4; ++i) {
    w[i] = low[i];
    w[i + 4] = high[i];
  }
  if constexpr (step <= 8 && most > 8) {
    const bool two_words = (shift & 8) != 0;
    CT_UNROLL
    for (int i = 0; i < 6; ++i) w[i] = two_words ? w[i + 2] : w[i];
  }
  if constexpr (step <= 4 && most > 4) {
    const bool one_word = (shift & 4) != 0;
    CT_UNROLL
    for (int i = 0; i < 5; ++i) w[i] = one_word ? w[i + 1] : w[i];
  }
  if constexpr (step < 4) {
    const std::uint32_t selector = 0x3210U + 0x1111U * (shift & 3U);
    CT_UNROLL
    for (int i = 0; i < 4; ++i) w[i] = byte_permute(w[i], w[i + 1], selector);
  }
  return {w[0], w[1], w[2], w[3]};
}

/// Bytes past a multiple of 16.
CT_HOST_DEVICE inline int phase_of(const void* p) {
  return static_cast<int>(reinterpret_cast<std::uintptr_t>(p) & 15U);
}

/// Addresses that may be read: what lies between the problem's lowest and highest source byte.
struct Span {
  const std::byte* low = nullptr;
  const std::byte* high = nullptr;

  /// Whether the aligned vector lies inside.
  CT_HOST_DEVICE bool holds(const std::byte* vector) const {
    return vector >= low && vector + 16 <= high;
  }
  /// Whether the aligned vector and the one behind it lie inside.
  CT_HOST_DEVICE bool holds_two(const std::byte* vector) const {
    return static_cast<bool>(static_cast<int>(vector >= low) &
                             static_cast<int>(vector <= high - 32));
  }
  /// Whether the aligned vectors around the 16 bytes at `p` surely lie inside, whatever its phase.
  CT_HOST_DEVICE bool has_vectors(const std::byte* p) const {
    return static_cast<bool>(static_cast<int>(p >= low + 15) & static_cast<int>(p <= high - 32));
  }
};

/// The two aligned vectors that hold the 16 bytes at an address.
struct VectorPair {
  Element16 low;
  Element16 high;

  /// `lines`: the L2 shall fetch whole lines.
  template <bool lines, class Ctx>
  CT_DEVICE static VectorPair load(Ctx& ctx, const std::byte* p) {
    const auto* first = reinterpret_cast<const Element16*>(p - phase_of(p));
    if constexpr (lines) return {ctx.load_line_if(true, first), ctx.load_line_if(true, first + 1)};
    return {ctx.load(first), ctx.load(first + 1)};
  }
  template <class Ctx>
  CT_DEVICE static VectorPair load_if(Ctx& ctx, bool active, const std::byte* p) {
    const int phase = phase_of(p);
    const auto* first = reinterpret_cast<const Element16*>(p - phase);
    return {ctx.load_if(active, first), ctx.load_if(active && phase != 0, first + 1)};
  }

  /// The 16 bytes from byte `phase` on, a multiple of `step`.
  template <int step = 1>
  CT_DEVICE Element16 from(int phase) const {
    return funnel<step>(low, high, static_cast<unsigned>(phase));
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

/// Stores the first bytes of a vector as a half, a word, half a word and a byte, as far as there
/// are such. `bytes`: 0 to 15, a multiple of `granule`; `to`: a multiple of 16.
template <int granule, class Ctx>
CT_DEVICE void store_first(Ctx& ctx, std::byte* to, const Words& v, int bytes) {
  const bool has_half = (bytes & 8) != 0;
  ctx.store_if(has_half, reinterpret_cast<Vec<std::uint32_t, 2>*>(to), {v[0], v[1]});
  if constexpr (granule <= 4) {
    const bool has_word = (bytes & 4) != 0;
    const std::uint32_t word = has_half ? v[2] : v[0];
    ctx.store_if(has_word, reinterpret_cast<std::uint32_t*>(to + (bytes & 8)), word);
    if constexpr (granule <= 2) {
      const std::uint32_t next = has_half ? v[3] : v[1];
      const std::uint32_t last = has_word ? next : word;
      ctx.store_if((bytes & 2) != 0, reinterpret_cast<std::uint16_t*>(to + (bytes & 12)),
                   static_cast<std::uint16_t>(last));
      if constexpr (granule == 1) {
        const auto byte = static_cast<std::uint8_t>(last >> (bytes & 2) * 8);
        ctx.store_if((bytes & 1) != 0, reinterpret_cast<std::uint8_t*>(to + (bytes & 14)), byte);
      }
    }
  }
}

/// A part of a vector that a lane has to store: bytes [begin, end) of `v`, which belongs at the
/// aligned address `to`.
struct VectorPart {
  std::byte* to = nullptr;
  Element16 v = {};
  int begin = 0;
  int end = 0;
};

/// Stores what the lanes of a warp have of vectors, in as few requests as it can: one for a part of
/// a sector takes the L2 longer than one for all of it, however few bytes it has. All lanes must
/// come here. Whole words leave by twos where they can. Bytes leave two parts at a time, a byte a
/// lane: each part in one request, and neighbours in one if they lie in the same sector.
template <int granule, class Ctx>
CT_DEVICE void store_parts(Ctx& ctx, bool has_part, const VectorPart& part) {
  if constexpr (granule % 4 == 0) {
    using Two = Vec<std::uint32_t, 2>;
    CT_UNROLL
    for (int i = 0; i < 2; ++i) {
      std::byte* const to = part.to + 8 * i;
      const int begin = part.begin - 8 * i, end = part.end - 8 * i;
      const bool both = begin <= 0 && end >= 8;
      ctx.store_if(has_part && both, reinterpret_cast<Two*>(to),
                   {part.v[2 * i], part.v[2 * i + 1]});
      CT_UNROLL
      for (int k = 0; k < 2; ++k) {
        const bool one = begin <= 4 * k && 4 * k < end && !both;
        ctx.store_if(has_part && one, reinterpret_cast<std::uint32_t*>(to) + k, part.v[2 * i + k]);
      }
    }
  } else {
    const unsigned lane = ctx.thread_id().x % 32;
    const unsigned byte = lane % 16;
    std::uint32_t left = ctx.ballot(has_part);
    CT_NO_UNROLL
    while (left != 0) {
      // Half of the lanes take the first part that is left, the others the second.
      const int first = lowest_bit(left);
      left &= left - 1;
      const bool takes = lane < 16 || left != 0;
      const int from = lane < 16 || left == 0 ? first : lowest_bit(left);
      left &= left - 1;
      std::uint32_t word = 0;
      CT_UNROLL
      for (unsigned i = 0; i < 4; ++i) {
        const std::uint32_t its = ctx.shuffle(part.v[static_cast<int>(i)], from);
        word = byte / 4 == i ? its : word;
      }
      const auto ends = ctx.shuffle(static_cast<std::uint32_t>(part.begin | part.end << 8), from);
      const auto to = ctx.shuffle(reinterpret_cast<std::uint64_t>(part.to), from);
      const bool inside = byte >= (ends & 0xffU) && byte < ends >> 8;
      // NOLINTNEXTLINE(performance-no-int-to-ptr): it was one
      auto* const bytes = reinterpret_cast<std::uint8_t*>(to);
      ctx.store_if(takes && inside, bytes + byte,
                   static_cast<std::uint8_t>(word >> 8 * (byte % 4)));
    }
  }
}

/// All bytes moved up by an element, which then is the lowest.
template <class T>
CT_DEVICE Words pushed(const Words& w, T value) {
  if constexpr (sizeof(T) == 8) {
    return {static_cast<std::uint32_t>(value), static_cast<std::uint32_t>(value >> 32), w[0], w[1]};
  } else if constexpr (sizeof(T) == 4) {
    return {value, w[0], w[1], w[2]};
  } else {
    constexpr int bits = 8 * static_cast<int>(sizeof(T));
    Words up;
    up[0] = w[0] << bits | value;
    CT_UNROLL
    for (int i = 1; i < 4; ++i) up[i] = w[i] << bits | w[i - 1] >> (32 - bits);
    return up;
  }
}

/// The vector at `from`, a multiple of 16, of which only elements inside the span are read.
template <class T, class Ctx>
CT_DEVICE Words load_inside(Ctx& ctx, bool active, const std::byte* from, const Span& span) {
  const bool whole = span.holds(from);
  Words words = ctx.load_if(active && whole, reinterpret_cast<const Words*>(from));
  if constexpr (sizeof(T) < 16) {
    if (active && !whole && from < span.high && from + 16 > span.low) {
      // Elements from the last to the first, each pushed in at the bottom.
      constexpr int size = static_cast<int>(sizeof(T));
      CT_NO_UNROLL
      for (int at = 16 - size; at >= 0; at -= size) {
        const std::byte* element = from + at;
        const bool inside = element >= span.low && element + size <= span.high;
        const T value = ctx.load_if(inside, reinterpret_cast<const T*>(element));
        words = pushed(words, value);
      }
    }
  }
  return words;
}

/// Stores the elements in bytes [begin, end) of `v`, which belongs at the aligned address `to`, one
/// by one.
template <class T, class Ctx>
CT_DEVICE void store_elements(Ctx& ctx, std::byte* to, const Element16& v, int begin, int end) {
  constexpr int size = sizeof(T);
  CT_NO_UNROLL
  for (int at = begin; at < end; at += size) {
    const int word = at / 4;
    const std::uint32_t low = word < 2 ? (word == 0 ? v[0] : v[1]) : (word == 2 ? v[2] : v[3]);
    std::uint64_t bits = low >> 8 * (at % 4);
    if constexpr (size == 8) bits |= std::uint64_t{word < 2 ? v[1] : v[3]} << 32;
    ctx.store(reinterpret_cast<T*>(to + at), static_cast<T>(bits));
  }
}

/// V elements side by side, the first in the lowest bytes.
template <class T, int V>
CT_DEVICE Words joined(const T (&v)[V]) {
  constexpr int size = static_cast<int>(sizeof(T));
  static_assert(size * V == 16);
  Words words;
  if constexpr (size == 1) {
    CT_UNROLL
    for (int k = 0; k < 4; ++k) {
      words[k] = byte_permute(byte_permute(v[4 * k], v[4 * k + 1], 0x3340),
                              byte_permute(v[4 * k + 2], v[4 * k + 3], 0x3340), 0x5410);
    }
  } else if constexpr (size == 2) {
    CT_UNROLL
    for (int k = 0; k < 4; ++k) words[k] = byte_permute(v[2 * k], v[2 * k + 1], 0x5410);
  } else if constexpr (size == 4) {
    CT_UNROLL
    for (int k = 0; k < 4; ++k) words[k] = v[k];
  } else if constexpr (size == 8) {
    CT_UNROLL
    for (int k = 0; k < 2; ++k) {
      words[2 * k] = static_cast<std::uint32_t>(v[k]);
      words[2 * k + 1] = static_cast<std::uint32_t>(v[k] >> 32);
    }
  } else {
    words = v[0];
  }
  return words;
}

}  // namespace cornerturn::kernels
