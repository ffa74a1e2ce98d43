// rows, for values that change their type: runs that both sides share, all of which begin and end
// at whole vectors. A thread takes 16 bytes of the larger type, and as many elements of the other.
#pragma once

#include <cstdint>

#include "kernels/casts.hpp"
#include "kernels/rows.hpp"

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
};

template <class Change, bool long_rows>
struct RowsConvert {
  static constexpr int threads = rows_threads;
  static constexpr int min_blocks = 4;
  static constexpr int count = 4;  ///< vectors a thread
  static constexpr int src_size = static_cast<int>(sizeof(typename Change::Src));
  static constexpr int dst_size = static_cast<int>(sizeof(typename Change::Dst));
  static constexpr int V = 16 / (src_size > dst_size ? src_size : dst_size);
  using From = Vec<std::uint32_t, V * src_size / 4>;
  using To = Vec<std::uint32_t, V * dst_size / 4>;

  template <class Ctx>
  CT_DEVICE static void run(Ctx& ctx, const RowsConvertArgs& a) {
    const std::int64_t first = std::int64_t{ctx.block_id().x} * (threads * count);
    int place[count];
    CT_UNROLL
    for (int i = 0; i < count; ++i) place[i] = ctx.thread_index() + i * threads;
    const RowsOfBlock<long_rows, count> rows(a, first, place);
    From v[count];
    CT_UNROLL
    for (int i = 0; i < count; ++i) {
      const std::byte* from = a.src + rows.begin[i].src + V * src_size * rows.at[i];
      v[i] = ctx.load_if(rows.row[i] < a.rows, reinterpret_cast<const From*>(from));
    }
    CT_UNROLL
    for (int i = 0; i < count; ++i) {
      std::byte* to = a.dst + rows.begin[i].dst + V * dst_size * rows.at[i];
      ctx.store_if(rows.row[i] < a.rows, reinterpret_cast<To*>(to), To{changed<Change>(a, v[i])});
    }
  }
};

template <class Visit>
void dispatch(const RowsConvertArgs& a, Visit&& visit) {
  with_cast(a.values.src_kind, a.values.dst_kind, [&]<class Change>() {
    a.long_rows ? visit.template operator()<RowsConvert<Change, true>>()
                : visit.template operator()<RowsConvert<Change, false>>();
  });
}

}  // namespace cornerturn::kernels
