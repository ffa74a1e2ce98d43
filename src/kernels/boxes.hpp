// boxes: runs of at least 16 bytes that source and destination share, where rows that are
// neighbours on one side lie far apart on the other. A block moves a box of them: some neighbours
// in the destination times some in the source, so that both sides see whole lines of memory.
#pragma once

#include <cstdint>

#include "kernels/context.hpp"
#include "kernels/unaligned.hpp"
#include "kernels/walk.hpp"

namespace cornerturn::kernels {

/// A mode along which a box has several rows.
struct BoxSide {
  std::uint32_t extent = 1;
  std::uint32_t rows = 1;  ///< of a box
  FastDivide before;       ///< boxes that have the same index along this mode
  FastDivide boxes;        ///< along it
  std::int64_t src_step = 0;
  std::int64_t dst_step = 0;

  /// The first row along this mode that box number `n` has, where boxes have whole rows.
  CT_HOST_DEVICE constexpr std::uint32_t first_row(std::uint32_t n) const {
    const std::uint32_t count = before.quotient(n);
    return (count - boxes.quotient(count) * boxes.divisor) * rows;
  }
};

struct BoxesArgs {
  const std::byte* src = nullptr;
  std::byte* dst = nullptr;
  std::int64_t row_bytes = 0;
  std::int64_t src_low = 0;   ///< bytes from `src` to the lowest that may be read
  std::int64_t src_high = 0;  ///< and past the highest
  int granule = 16;           ///< bytes: a divisor of all addresses; 16: rows are whole vectors
  int in_flight = 4;          ///< vectors a thread
  std::uint32_t vectors = 1;  ///< that a row touches, at most
  FastDivide width;           ///< vectors of a row that are a box's
  FastDivide parts;           ///< boxes along a row
  BoxSide dst_side;           ///< neighbours in the destination
  BoxSide src_side;           ///< neighbours in the source
  FastDivide next_to;         ///< rows of dst_side that neighbouring threads take
  FastDivide src_rows;        ///< src_side.rows
  Walk boxes;                 ///< of whole rows, in the destination's order
};

/// What one block moves.
struct Box {
  Offsets base;
  std::uint32_t first_vector = 0;  ///< within its rows
  std::uint32_t width = 0, dst_rows = 0, src_rows = 0;

  CT_DEVICE Box(const BoxesArgs& a, std::uint32_t block) {
    std::uint32_t left = a.parts.quotient(block);
    first_vector = (block - left * a.parts.divisor) * a.width.divisor;
    base = a.boxes.at(left);
    width = least(a.width.divisor, a.vectors - first_vector);
    dst_rows = least(a.dst_side.rows, a.dst_side.extent - a.dst_side.first_row(left));
    src_rows = least(a.src_side.rows, a.src_side.extent - a.src_side.first_row(left));
  }

 private:
  CT_DEVICE static std::uint32_t least(std::uint32_t x, std::uint32_t y) { return x < y ? x : y; }
};

/// Where vector number `n` of a box lies.
struct BoxPlace {
  Offsets row;               ///< its first byte
  std::uint32_t vector = 0;  ///< of the row
  bool inside = false;       ///< the box is not always full

  // Vectors of a row first, then a few neighbours in the destination, those in the source, and the
  // other ones in the destination.
  CT_DEVICE BoxPlace(const BoxesArgs& a, const Box& box, std::uint32_t n) {
    const std::uint32_t r = a.width.quotient(n);
    const std::uint32_t v = n - r * a.width.divisor;
    const std::uint32_t s = a.next_to.quotient(r);
    const std::uint32_t u = a.src_rows.quotient(s);
    const std::uint32_t p = r - s * a.next_to.divisor + u * a.next_to.divisor;
    const std::uint32_t q = s - u * a.src_rows.divisor;
    row.src = box.base.src + p * a.dst_side.src_step + q * a.src_side.src_step;
    row.dst = box.base.dst + p * a.dst_side.dst_step + q * a.src_side.dst_step;
    vector = box.first_vector + v;
    inside = v < box.width && p < box.dst_rows && q < box.src_rows;
  }
};

template <int count>
struct BoxesAligned {
  static constexpr int threads = 256;
  static constexpr int min_blocks = count == 4 ? 5 : 8;

  template <class Ctx>
  CT_DEVICE static void run(Ctx& ctx, const BoxesArgs& a) {
    const Box box(a, ctx.block_id().x);
    Element16 v[count];
    Element16* to[count];
    bool inside[count];
    CT_UNROLL
    for (int i = 0; i < count; ++i) {
      const BoxPlace place(
          a, box,
          static_cast<unsigned>(ctx.thread_index()) + static_cast<unsigned>(i) * ctx.block_dim().x);
      inside[i] = place.inside;
      to[i] = reinterpret_cast<Element16*>(a.dst + place.row.dst + 16 * std::int64_t{place.vector});
      v[i] = ctx.load_if(inside[i], reinterpret_cast<const Element16*>(
                                        a.src + place.row.src + 16 * std::int64_t{place.vector}));
    }
    CT_UNROLL
    for (int i = 0; i < count; ++i) ctx.store_if(inside[i], to[i], v[i]);
  }
};

/// Rows that begin anywhere: the destination's aligned vectors, each shifted together from two of
/// the source; a row's first and last one are stored in parts.
template <int granule, int count>
struct BoxesShifted {
  static constexpr int threads = 256;
  static constexpr int min_blocks = granule == 4 ? (count == 1 ? 6 : 5) : (count == 1 ? 5 : 4);

  template <class Ctx>
  CT_DEVICE static void run(Ctx& ctx, const BoxesArgs& a) {
    const Box box(a, ctx.block_id().x);
    const Span span{a.src + a.src_low, a.src + a.src_high};
    const std::byte* from[count];
    std::byte* to[count];
    int begin[count], end[count];  // the row's bytes of the vector
    bool loaded[count];
    VectorPair pair[count];
    CT_UNROLL
    for (int i = 0; i < count; ++i) {
      const BoxPlace place(
          a, box,
          static_cast<unsigned>(ctx.thread_index()) + static_cast<unsigned>(i) * ctx.block_dim().x);
      to[i] = a.dst + place.row.dst;
      const int phase = phase_of(to[i]);
      const std::int64_t at = 16 * std::int64_t{place.vector} - phase;
      to[i] += at;
      from[i] = a.src + place.row.src + at;
      begin[i] = at < 0 ? phase : 0;
      const std::int64_t left = a.row_bytes - at;
      end[i] = !place.inside || left <= 0 ? 0 : left < 16 ? static_cast<int>(left) : 16;
      loaded[i] = begin[i] < end[i] && span.has_vectors(from[i]);
      pair[i] = VectorPair::load_if(ctx, loaded[i], from[i]);
    }
    CT_UNROLL
    for (int i = 0; i < count; ++i) {
      const bool whole = end[i] - begin[i] == 16;
      const Element16 v = pair[i].template from<granule>(phase_of(from[i]));
      ctx.store_if(loaded[i] && whole, reinterpret_cast<Element16*>(to[i]), v);
      store_parts<granule>(ctx, loaded[i] && !whole, {to[i], v, begin[i], end[i]});
      if (!loaded[i] && begin[i] < end[i]) {
        // At an end of the source: byte by byte.
        CT_NO_UNROLL
        for (int k = begin[i]; k < end[i]; ++k) ctx.store(to[i] + k, ctx.load(from[i] + k));
      }
    }
  }
};

template <class Visit>
void dispatch(const BoxesArgs& a, Visit&& visit) {
  const auto of_count = [&]<int count>() {
    if (a.granule == 16) {
      visit.template operator()<BoxesAligned<count>>();
    } else if (a.granule >= 4) {
      visit.template operator()<BoxesShifted<4, count>>();
    } else {
      visit.template operator()<BoxesShifted<1, count>>();
    }
  };
  switch (a.in_flight) {
    case 1:
      return of_count.template operator()<1>();
    case 2:
      return of_count.template operator()<2>();
    default:
      return visit.template operator()<BoxesAligned<4>>();
  }
}

}  // namespace cornerturn::kernels
