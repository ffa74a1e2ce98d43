// rows: runs of at least 16 bytes that source and destination share. Every thread moves vectors of
// 16 bytes, the destination's aligned ones, one after the other; where the source has another
// phase, each is shifted together from two. Where values change their type, all rows begin and end
// at whole vectors: of 16 bytes of the larger type, and as many elements of the other.
#pragma once

#include <cstdint>

#include "kernels/casts.hpp"
#include "kernels/context.hpp"
#include "kernels/scaled.hpp"
#include "kernels/unaligned.hpp"
#include "kernels/walk.hpp"

namespace cornerturn::kernels {

enum class RowForm : int {
  aligned,  ///< all rows begin and end at multiples of 16 bytes, on both sides
  dense,    ///< the destination's rows follow one another: one run
  gapped,   ///< every row by itself, at any address
};

struct RowsArgs {
  const std::byte* src = nullptr;
  std::byte* dst = nullptr;
  std::int64_t row_bytes = 0;
  std::int64_t rows = 1;
  std::int64_t src_low = 0;   ///< bytes from `src` to the lowest that may be read
  std::int64_t src_high = 0;  ///< and past the highest
  /// A row's length in what blocks are counted in: vectors (aligned), bytes (dense), or the most
  /// vectors that a row touches (gapped).
  FastDivide64 length;
  FastDivide short_length;  ///< the same where it is less than a block's
  RowForm form = RowForm::aligned;
  bool long_rows = false;  ///< a row is at least a block's work
  int in_flight = 4;       ///< vectors a thread
  int granule = 1;         ///< bytes: a divisor of all addresses
  Walk walk;               ///< over the rows
  ValueArgs values;        ///< if they change, `form` is aligned and `in_flight` 4
  GroupVector scale;
  GroupVector bias;
};

constexpr int rows_threads = 256;

/// Which rows a block's vectors lie in.
template <bool long_rows, int count>
struct RowsOfBlock {
  std::uint32_t row[count];
  std::int64_t at[count];  ///< within the row, in what `length` counts
  Offsets begin[count];    ///< of the row

  /// `first`: the block's first place; `place[i]`: how far behind it vector `i` lies.
  template <class Args>
  CT_DEVICE RowsOfBlock(const Args& a, std::int64_t first, const int (&place)[count]) {
    const auto length = static_cast<std::int64_t>(a.length.divisor);
    const auto first_row =
        static_cast<std::uint32_t>(a.length.quotient(static_cast<std::uint64_t>(first)));
    const std::int64_t rest = first - first_row * length;
    if constexpr (long_rows) {
      // The end of one row and the beginning of the next, at most.
      const std::uint32_t rows[] = {first_row, first_row + 1};
      Offsets begins[2];
      a.walk.at(rows, begins);
      CT_UNROLL
      for (int i = 0; i < count; ++i) {
        at[i] = rest + place[i];
        const bool over = at[i] >= length;
        row[i] = first_row + (over ? 1U : 0U);
        at[i] -= over ? length : 0;
        begin[i] = over ? begins[1] : begins[0];
      }
    } else {
      CT_UNROLL
      for (int i = 0; i < count; ++i) {
        const auto behind = static_cast<std::uint32_t>(static_cast<int>(rest) + max(place[i], 0));
        const std::uint32_t over = a.short_length.quotient(behind);
        row[i] = first_row + over;
        at[i] = static_cast<int>(behind - over * a.short_length.divisor) + min(place[i], 0);
      }
      a.walk.at(row, begin);
    }
  }

 private:
  CT_DEVICE static int min(int x, int y) { return x < y ? x : y; }
  CT_DEVICE static int max(int x, int y) { return x > y ? x : y; }
};

template <class Change, bool long_rows, int count>
struct RowsAligned {
  static constexpr int threads = rows_threads;
  static constexpr int src_size = static_cast<int>(sizeof(typename Change::Src));
  static constexpr int dst_size = static_cast<int>(sizeof(typename Change::Dst));
  static constexpr int V = 16 / (src_size > dst_size ? src_size : dst_size);
  static constexpr int min_blocks = count == 1 ? 8 : is_scaled<Change> && V == 8 ? 3 : 4;
  using From = Vec<std::uint32_t, V * src_size / 4>;
  using To = Vec<std::uint32_t, V * dst_size / 4>;

  template <class Ctx>
  CT_DEVICE static void run(Ctx& ctx, const RowsArgs& a) {
    const std::int64_t first = std::int64_t{ctx.block_id().x} * (threads * count);
    int place[count];
    CT_UNROLL
    for (int i = 0; i < count; ++i) place[i] = ctx.thread_index() + i * threads;
    const RowsOfBlock<long_rows, count> rows(a, first, place);
    const Scaling<Change> scaling(ctx, a, 0);
    From v[count];
    CT_UNROLL
    for (int i = 0; i < count; ++i) {
      const std::byte* from = a.src + rows.begin[i].src + V * src_size * rows.at[i];
      v[i] = ctx.load_if(rows.row[i] < a.rows, reinterpret_cast<const From*>(from));
    }
    CT_UNROLL
    for (int i = 0; i < count; ++i) {
      const bool inside = rows.row[i] < a.rows;
      std::byte* to = a.dst + rows.begin[i].dst + V * dst_size * rows.at[i];
      if constexpr (changes_values<Change>) {
        const auto across =
            scaling.template line<Along::rows, false, 1>(ctx, a, inside, rows.row[i]);
        const auto line = scaling.template line<Along::columns, true, V>(
            ctx, a, inside, static_cast<std::uint32_t>(V * rows.at[i]));
        ctx.store_if(
            inside, reinterpret_cast<To*>(to),
            To{changed<Change>(a, v[i], scaling.template with<Along::rows>(a, line, across, 0))});
      } else {
        ctx.store_if(inside, reinterpret_cast<To*>(to), v[i]);
      }
    }
  }
};

/// The destination is one run; a vector may hold the end of one row and the beginning of the next.
template <bool long_rows, int count>
struct RowsDense {
  static constexpr int threads = rows_threads;
  static constexpr int min_blocks = 4;

  template <class Ctx>
  CT_DEVICE static void run(Ctx& ctx, const RowsArgs& a) {
    const std::int64_t all = a.rows * a.row_bytes;
    const int phase = phase_of(a.dst);
    const Span span{a.src + a.src_low, a.src + a.src_high};
    // Bytes of the destination; the first vector begins before them.
    std::int64_t first = std::int64_t{ctx.block_id().x} * (threads * count * 16) - phase;
    const int before = first < 0 ? phase : 0;
    first += before;
    int place[count];
    CT_UNROLL
    for (int i = 0; i < count; ++i) place[i] = 16 * (ctx.thread_index() + i * threads) - before;
    const RowsOfBlock<long_rows, count> rows(a, first, place);

    const std::byte* from[count];
    bool whole[count];
    VectorPair pair[count];
    CT_UNROLL
    for (int i = 0; i < count; ++i) {
      from[i] = a.src + rows.begin[i].src + rows.at[i];
      whole[i] = place[i] >= 0 && first + place[i] + 16 <= all && span.has_vectors(from[i]);
      pair[i] = VectorPair::load_if(ctx, whole[i], from[i]);
    }
    CT_UNROLL
    for (int i = 0; i < count; ++i) {
      const std::int64_t left = all - (first + place[i]);
      if (left <= 0) continue;
      Element16 v = pair[i].from(phase_of(from[i]));
      const std::byte* then = from[i];
      const std::int64_t of_row = a.row_bytes - rows.at[i];
      if (of_row < 16 && rows.row[i] + 1 < a.rows) {
        // The other bytes are the next row's first.
        then = a.src + a.walk.at(rows.row[i] + 1).src - of_row;
        whole[i] = whole[i] && span.has_vectors(then);
        const VectorPair next = VectorPair::load_if(ctx, whole[i], then);
        v = first_bytes(static_cast<int>(of_row), v, next.from(phase_of(then)));
      }
      std::byte* to = a.dst + first + place[i];
      if (whole[i]) {
        ctx.store(reinterpret_cast<Element16*>(to), v);
      } else {
        // At an end of either side: byte by byte.
        for (int k = place[i] < 0 ? -place[i] : 0; k < 16 && k < left; ++k) {
          ctx.store(to + k, ctx.load((k < of_row ? from[i] : then) + k));
        }
      }
    }
  }
};

/// Rows that stand alone in the destination: their first and last vectors are stored in parts.
template <bool long_rows, int granule, int count>
struct RowsGapped {
  static constexpr int threads = rows_threads;
  static constexpr int min_blocks = 4;

  template <class Ctx>
  CT_DEVICE static void run(Ctx& ctx, const RowsArgs& a) {
    const Span span{a.src + a.src_low, a.src + a.src_high};
    const std::int64_t first = std::int64_t{ctx.block_id().x} * (threads * count);
    int place[count];
    CT_UNROLL
    for (int i = 0; i < count; ++i) place[i] = ctx.thread_index() + i * threads;
    const RowsOfBlock<long_rows, count> rows(a, first, place);

    const std::byte* from[count];
    std::byte* to[count];
    int begin[count], end[count];  // the row's bytes of the vector
    bool loaded[count];
    VectorPair pair[count];
    CT_UNROLL
    for (int i = 0; i < count; ++i) {
      to[i] = a.dst + rows.begin[i].dst;
      const int phase = phase_of(to[i]);
      const std::int64_t at = 16 * rows.at[i] - phase;
      to[i] += at;
      from[i] = a.src + rows.begin[i].src + at;
      begin[i] = at < 0 ? phase : 0;
      const std::int64_t left = a.row_bytes - at;
      end[i] = rows.row[i] >= a.rows || left <= 0 ? 0 : left < 16 ? static_cast<int>(left) : 16;
      loaded[i] = span.has_vectors(from[i]);
      pair[i] = VectorPair::load_if(ctx, loaded[i] && begin[i] < end[i], from[i]);
    }
    CT_UNROLL
    for (int i = 0; i < count; ++i) {
      const bool whole = end[i] - begin[i] == 16;
      const Element16 v = pair[i].from(phase_of(from[i]));
      const bool some = begin[i] < end[i];
      ctx.store_if(loaded[i] && whole, reinterpret_cast<Element16*>(to[i]), v);
      store_parts<granule>(ctx, loaded[i] && some && !whole, {to[i], v, begin[i], end[i]});
      if (!loaded[i] && some) {
        // At an end of the source: byte by byte.
        CT_NO_UNROLL
        for (int k = begin[i]; k < end[i]; ++k) ctx.store(to[i] + k, ctx.load(from[i] + k));
      }
    }
  }
};

template <class Visit>
void dispatch(const RowsArgs& a, Visit&& visit) {
  const auto of_length = [&]<bool long_rows>() {
    if (a.values.converts) {
      with_change(a, [&]<class Change>() {
        visit.template operator()<RowsAligned<Change, long_rows, 4>>();
      });
      return;
    }
    using Vectors = Move<Element16>;
    switch (a.form) {
      case RowForm::aligned:
        a.in_flight == 1 ? visit.template operator()<RowsAligned<Vectors, long_rows, 1>>()
                         : visit.template operator()<RowsAligned<Vectors, long_rows, 4>>();
        break;
      case RowForm::dense:
        a.in_flight == 1 ? visit.template operator()<RowsDense<long_rows, 1>>()
                         : visit.template operator()<RowsDense<long_rows, 3>>();
        break;
      case RowForm::gapped:
        if (a.granule >= 4) {
          a.in_flight == 1 ? visit.template operator()<RowsGapped<long_rows, 4, 1>>()
                           : visit.template operator()<RowsGapped<long_rows, 4, 3>>();
        } else {
          a.in_flight == 1 ? visit.template operator()<RowsGapped<long_rows, 1, 1>>()
                           : visit.template operator()<RowsGapped<long_rows, 1, 3>>();
        }
        break;
    }
  };
  a.long_rows ? of_length.template operator()<true>() : of_length.template operator()<false>();
}

}  // namespace cornerturn::kernels
