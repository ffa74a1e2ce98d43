// rows, for values that change their type: runs that both sides share, all of which begin and end
// at whole vectors. A thread takes 16 bytes of the larger type, and as many elements of the other.
#pragma once

#include <cstdint>

#include "kernels/rows.hpp"
#include "kernels/scaled.hpp"

namespace cornerturn::kernels {

struct RowsConvertArgs {
  const std::byte* src = nullptr;
  std::byte* dst = nullptr;
  std::int64_t rows = 1;
  FastDivide64 length;      ///< vectors of a row
  FastDivide short_length;  ///< the same where it is less than a block's
  bool long_rows = false;   ///< a row is at least a block's work
  Walk walk;                ///< over the rows
  ValueArgs values;
  GroupVector scale;
  GroupVector bias;
};

template <class Change, bool long_rows>
struct RowsConvert {
  static constexpr int threads = rows_threads;
  static constexpr int count = 4;  ///< vectors a thread
  static constexpr int src_size = static_cast<int>(sizeof(typename Change::Src));
  static constexpr int dst_size = static_cast<int>(sizeof(typename Change::Dst));
  static constexpr int V = 16 / (src_size > dst_size ? src_size : dst_size);
  static constexpr int min_blocks = is_scaled<Change> && V == 8 ? 3 : 4;
  using From = Vec<std::uint32_t, V * src_size / 4>;
  using To = Vec<std::uint32_t, V * dst_size / 4>;

  template <class Ctx>
  CT_DEVICE static void run(Ctx& ctx, const RowsConvertArgs& a) {
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
      const auto across = scaling.template line<Along::rows, false, 1>(ctx, a, inside, rows.row[i]);
      const auto line = scaling.template line<Along::columns, true, V>(
          ctx, a, inside, static_cast<std::uint32_t>(V * rows.at[i]));
      std::byte* to = a.dst + rows.begin[i].dst + V * dst_size * rows.at[i];
      ctx.store_if(
          inside, reinterpret_cast<To*>(to),
          To{changed<Change>(a, v[i], scaling.template with<Along::rows>(a, line, across, 0))});
    }
  }
};

template <class Visit>
void dispatch(const RowsConvertArgs& a, Visit&& visit) {
  with_change(a, [&]<class Change>() {
    a.long_rows ? visit.template operator()<RowsConvert<Change, true>>()
                : visit.template operator()<RowsConvert<Change, false>>();
  });
}

}  // namespace cornerturn::kernels
