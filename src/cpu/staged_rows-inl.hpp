// Rows of the destination that are put together in a stage. Included once for each vector target.
#if defined(CORNERTURN_CPU_STAGED_ROWS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef CORNERTURN_CPU_STAGED_ROWS_INL
#undef CORNERTURN_CPU_STAGED_ROWS_INL
#else
#define CORNERTURN_CPU_STAGED_ROWS_INL
#endif

#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "cpu/apart_rows-inl.hpp"
#include "cpu/row_boxes.hpp"
#include "cpu/short_rows-inl.hpp"
#include "cpu/stream-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace cornerturn::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

constexpr std::int64_t stage_bytes = 4096;
static_assert(plan::rows::longest_repeated <= stage_bytes - line);

// Rows are put together here, in lines of the destination. Rows that follow each other there share
// lines, over the ends of series and boxes too.
template <bool non_temporal>
class LineStage {
 public:
  // Bytes behind the room that may be spoilt.
  static constexpr std::int64_t spare = 2 * line;

  // Where the next byte goes, in the stage.
  HWY_INLINE std::byte* next() { return stage_ + fill_; }

  HWY_INLINE std::int64_t room() const { return stage_bytes - fill_; }

  // The next row belongs to `dst`.
  HWY_INLINE void go_to(std::byte* dst) {
    if (dst == to_ + fill_) return;
    finish();
    begin_ = line_phase(dst);
    fill_ = begin_;
    to_ = dst - begin_;
  }

  // `bytes` more are known now. Afterwards there is room for `needed`.
  HWY_INLINE void advance(std::int64_t bytes, std::int64_t needed) {
    fill_ += bytes;
    if (needed > room()) flush();
  }

  HWY_INLINE void finish() {
    flush();
    if (fill_ == begin_) return;  // before the first row there is no address yet
    std::memcpy(to_ + begin_, stage_ + begin_, static_cast<std::size_t>(fill_ - begin_));
    begin_ = fill_;
  }

 private:
  // Writes the whole lines of the stage; what is left of the last one moves to its front.
  HWY_INLINE void flush() {
    const std::int64_t lines = fill_ / line;
    if (lines == 0) return;
    const std::int64_t partial = begin_ > 0 ? 1 : 0;
    if (partial == 1) {
      std::memcpy(to_ + begin_, stage_ + begin_, static_cast<std::size_t>(line - begin_));
    }
    store_lines<non_temporal>(to_ + partial * line, stage_ + partial * line, lines - partial);
    std::memcpy(stage_, stage_ + lines * line, line);
    to_ += lines * line;
    fill_ -= lines * line;
    begin_ = 0;
  }

  std::byte* to_ = nullptr;  // where the stage belongs: the start of a line
  std::int64_t begin_ = 0;   // its first byte that is ours
  std::int64_t fill_ = 0;    // bytes [begin_, fill_) are known
  alignas(line) std::byte stage_[stage_bytes + spare];
};

// Rows that follow each other in the destination.
// step: the bytes moved at once. Rows shorter than that are moved with what lies behind them, which
// the next row then overwrites.
template <int step, bool non_temporal, bool fetches>
class StagedRows {
 public:
  // Nothing at or past `src_end` may be read.
  StagedRows(const RowBoxes&, const std::byte* src_end) : src_end_(src_end) {}

  HWY_INLINE void append(const RowSeries& rows, LineFetcher& fetcher) {
    stage_.go_to(rows.dst);
    const std::int64_t a_turn = fetch_bytes / rows.bytes + 1;
    const std::byte* src = rows.src;
    for (std::int64_t left = rows.count; left > 0;) {
      const std::int64_t count = HWY_MIN(HWY_MIN(left, a_turn), stage_.room() / rows.bytes);
      std::byte* to = stage_.next();
      if (rows.bytes < step) {
        append_short(to, src, rows, count);
      } else {
        const std::byte* from = src;
        for (std::int64_t i = 0; i < count; ++i, from += rows.src_stride, to += rows.bytes) {
          move_row<step>(to, from, rows.bytes);
        }
      }
      src += count * rows.src_stride;
      left -= count;
      stage_.advance(count * rows.bytes, rows.bytes);
      if (fetches) fetcher.fetch(count * rows.bytes);
    }
  }

  HWY_INLINE void finish() { stage_.finish(); }

 private:
  HWY_INLINE void append_short(std::byte* to, const std::byte* src, const RowSeries& rows,
                               std::int64_t count) {
    const std::byte* highest = rows.src_stride > 0 ? src + (count - 1) * rows.src_stride : src;
    if (HWY_LIKELY(src_end_ - highest >= step)) {
      return move_short_rows<step>(to, rows.bytes, src, rows.src_stride, count);
    }
    for (; count > 0; --count, src += rows.src_stride, to += rows.bytes) {
      std::memcpy(to, src, static_cast<std::size_t>(rows.bytes));
    }
  }

  const std::byte* src_end_;
  LineStage<non_temporal> stage_;
};

// Rows that repeat one element of the source: it is loaded once, into all of a vector.
template <bool non_temporal, bool fetches>
class RepeatedRows {
 public:
  RepeatedRows(const RowBoxes& boxes, const std::byte*) : element_bytes_(boxes.repeated_bytes) {}

  HWY_INLINE void append(const RowSeries& rows, LineFetcher& fetcher) {
    switch (element_bytes_) {
      case 1:
        return append_of<1>(rows, fetcher);
      case 2:
        return append_of<2>(rows, fetcher);
      case 4:
        return append_of<4>(rows, fetcher);
      case 8:
        return append_of<8>(rows, fetcher);
      default:
        return append_of<16>(rows, fetcher);
    }
  }

  HWY_INLINE void finish() { stage_.finish(); }

 private:
  template <int size>
  HWY_INLINE void append_of(const RowSeries& rows, LineFetcher& fetcher) {
    const bool has_gaps = rows.dst_stride != rows.bytes;
    const std::int64_t a_turn = has_gaps ? 1 : fetch_bytes / rows.bytes + 1;
    const std::byte* src = rows.src;
    std::byte* dst = rows.dst;
    for (std::int64_t left = rows.count; left > 0;) {
      stage_.go_to(dst);
      const std::int64_t count = HWY_MIN(HWY_MIN(left, a_turn), stage_.room() / rows.bytes);
      if (rows.bytes <= 16) {
        fill_rows<size, 16>(src, rows, count);
      } else {
        fill_rows<size, 64>(src, rows, count);
      }
      src += count * rows.src_stride;
      dst += count * rows.dst_stride;
      left -= count;
      stage_.advance(count * rows.bytes, plan::rows::longest_repeated);
      if (fetches) fetcher.fetch(count * element_bytes_);
    }
  }

  template <int size, int widest>
  HWY_INLINE void fill_rows(const std::byte* src, const RowSeries& rows, std::int64_t count) {
    static_assert(widest <= LineStage<non_temporal>::spare);
    std::byte* to = stage_.next();
    for (; count > 0; --count, src += rows.src_stride, to += rows.bytes) {
      fill_row<size, widest>(to, src, rows.bytes);
    }
  }

  // In vectors of at most `widest` bytes. What the last one spoils is overwritten later.
  template <int size, int widest>
  static HWY_INLINE void fill_row(std::byte* to, const std::byte* element, std::int64_t bytes) {
#if HWY_TARGET == HWY_SCALAR
    for (std::int64_t k = 0; k < bytes; k += size) std::memcpy(to + k, element, size);
#else
    const hn::CappedTag<std::uint8_t, widest> d;
    const auto all = all_of<size>(d, element);
    for (std::int64_t k = 0; k < bytes; k += static_cast<std::int64_t>(hn::Lanes(d))) {
      hn::StoreU(all, d, reinterpret_cast<std::uint8_t*>(to + k));
    }
#endif
  }

#if HWY_TARGET != HWY_SCALAR
  template <int size, class D>
  static HWY_INLINE hn::VFromD<D> all_of(D d, const std::byte* element) {
    if constexpr (size == 16) {
      return hn::LoadDup128(d, reinterpret_cast<const std::uint8_t*>(element));
    } else {
      const hn::Repartition<hwy::UnsignedFromSize<size>, D> of_elements;
      hn::TFromD<decltype(of_elements)> value;
      std::memcpy(&value, element, size);
      return hn::BitCast(d, hn::Set(of_elements, value));
    }
  }
#endif

  std::int64_t element_bytes_;
  LineStage<non_temporal> stage_;
};

}  // namespace cornerturn::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
