// list_rows: each step of a list consists of rows that both sides share, of one element or more. A
// thread looks up where the steps of its vectors lie, and moves the vectors. Rows with nothing in
// the source become zeros, or are left alone. Values that change are taken in vectors of 16 bytes
// of the larger type, where all rows begin and end at such, and one by one otherwise.
#pragma once

#include <cstdint>

#include "kernels/casts.hpp"
#include "kernels/context.hpp"
#include "kernels/elements.hpp"
#include "kernels/lists.hpp"
#include "kernels/rows.hpp"
#include "kernels/scaled.hpp"
#include "kernels/walk.hpp"

namespace cornerturn::kernels {

struct ListRowsArgs {
  const std::byte* src = nullptr;
  std::byte* dst = nullptr;
  std::int64_t rows = 0;  ///< of all steps
  FastDivide64 length;    ///< elements of a row
  FastDivide short_length;
  /// Rows of a step, or, where those that follow each other belong to several steps, the steps.
  FastDivide fast;
  bool steps_are_fast = false;
  int element_bytes = 1;  ///< of what `length` counts: an element, or a vector of those that change
  bool single = false;    ///< one element a thread, for problems that do not fill the GPU
  bool leaves_missing = false;
  ListSide from;
  ListSide to;
  Walk walk;  ///< over the rows of a step
  ValueArgs values;
  bool vectors = false;  ///< of those that change
};

/// Where rows of a list begin, as RowsOfBlock asks for it.
template <class Ctx>
struct ListWalk {
  Ctx& ctx;
  const ListRowsArgs& a;

  template <int N>
  CT_DEVICE void at(const std::uint32_t (&row)[N], Offsets (&begin)[N]) const {
    std::uint32_t step[N], inner[N];
    bool inside[N];
    CT_UNROLL
    for (int i = 0; i < N; ++i) {
      const std::uint32_t slow = a.fast.quotient(row[i]);
      const std::uint32_t rest = row[i] - slow * a.fast.divisor;
      step[i] = a.steps_are_fast ? rest : slow;
      inner[i] = a.steps_are_fast ? slow : rest;
      inside[i] = row[i] < a.rows;
    }
    std::int64_t src[N], dst[N];
    a.from.offsets(ctx, step, inside, src);
    a.to.offsets(ctx, step, inside, dst);
    a.walk.at(inner, begin);
    CT_UNROLL
    for (int i = 0; i < N; ++i) {
      begin[i].src = src[i] == ListSide::nothing ? src[i] : begin[i].src + src[i];
      begin[i].dst = dst[i] == ListSide::nothing ? dst[i] : begin[i].dst + dst[i];
    }
  }
};

/// Elements of a thread, where there are many. Entries and elements are waited for one after the
/// other: more threads hide that better than more elements of each, whose registers leave room for
/// fewer threads.
inline constexpr int list_rows_at_once = 2;

/// An element, or a vector of them as words.
template <bool vectors, class T, int count>
struct OfVector {
  using type = T;
};
template <class T, int count>
struct OfVector<true, T, count> {
  using type = Vec<std::uint32_t, count* static_cast<int>(sizeof(T)) / 4>;
};

template <class Change, bool vectors, int count>
struct ListRows {
  static constexpr int threads = rows_threads;
  static constexpr int min_blocks = vectors ? 6 : 8;
  static constexpr int src_element = static_cast<int>(sizeof(typename Change::Src));
  static constexpr int dst_element = static_cast<int>(sizeof(typename Change::Dst));
  /// Elements of a vector.
  static constexpr int V =
      vectors ? 16 / (src_element > dst_element ? src_element : dst_element) : 1;
  using From = typename OfVector<vectors, typename Change::Src, V>::type;
  using To = typename OfVector<vectors, typename Change::Dst, V>::type;

  template <class Ctx>
  CT_DEVICE static void run(Ctx& ctx, const ListRowsArgs& a) {
    const std::int64_t first = std::int64_t{ctx.block_id().x} * (threads * count);
    int place[count];
    CT_UNROLL
    for (int i = 0; i < count; ++i) place[i] = ctx.thread_index() + i * threads;
    const struct {
      FastDivide64 length;
      FastDivide short_length;
      ListWalk<Ctx> walk;
    } listed{a.length, a.short_length, {ctx, a}};
    const RowsOfBlock<false, count> rows(listed, first, place);
    From v[count];
    CT_UNROLL
    for (int i = 0; i < count; ++i) {
      const bool there = rows.row[i] < a.rows && rows.begin[i].src != ListSide::nothing;
      v[i] = ctx.load_if(there, at<const From>(a.src, rows.begin[i].src, rows.at[i]));
    }
    CT_UNROLL
    for (int i = 0; i < count; ++i) {
      const bool left = a.leaves_missing && rows.begin[i].src == ListSide::nothing;
      const bool there = rows.row[i] < a.rows && rows.begin[i].dst != ListSide::nothing && !left;
      auto* const to = at<To>(a.dst, rows.begin[i].dst, rows.at[i]);
      if constexpr (vectors) {
        ctx.store_if(there, to, To{changed<Change>(a, v[i])});
      } else {
        ctx.store_if(there, to, Change::of(a, v[i]));
      }
    }
  }

 private:
  // Element or vector `k` of a row.
  template <class T, class Base>
  CT_DEVICE static T* at(Base* base, std::int64_t row, std::int64_t k) {
    return ListSide::behind(reinterpret_cast<T*>(base),
                            row + static_cast<std::int64_t>(sizeof(T)) * k);
  }
};

template <class Visit>
void dispatch(const ListRowsArgs& a, Visit&& visit) {
  if (a.values.converts) {
    with_common_cast(a.values.src, a.values.dst, [&]<class Change>() {
      a.vectors ? visit.template operator()<ListRows<Change, true, list_rows_at_once>>()
                : visit.template operator()<ListRows<Change, false, list_rows_at_once>>();
    });
    return;
  }
  with_element(a.element_bytes, [&]<class T>(T) {
    a.single ? visit.template operator()<ListRows<Move<T>, false, 1>>()
             : visit.template operator()<ListRows<Move<T>, false, list_rows_at_once>>();
  });
}

}  // namespace cornerturn::kernels
