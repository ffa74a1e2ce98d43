// rows: moves runs that both sides share, box by box. Short ones are put together in a stage that
// has the destination's line phase; long ones go straight through, only the line between two rows
// is put together. Meanwhile the lines of the next box are fetched.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/rows.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <hwy/cache_control.h>

#include "core/validate.hpp"
#include "cpu/kernel.hpp"
#include "cpu/row_boxes.hpp"
#include "cpu/stream-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace cornerturn::cpu::HWY_NAMESPACE {

// Rows `src_stride` and `dst_stride` bytes apart.
struct RowSeries {
  const std::byte* src;
  std::byte* dst;
  std::int64_t count;
  std::int64_t bytes;  // of a row
  std::int64_t src_stride;
  std::int64_t dst_stride;
};

// Fetched ahead between two pieces of work, and about the bytes of such a piece.
constexpr std::int64_t fetch_bytes = 1024;
constexpr std::int64_t stage_bytes = 4096;

template <int bytes>
HWY_INLINE void move_bytes(const std::byte* src, std::byte* dst) {
#if HWY_TARGET != HWY_SCALAR
  if constexpr (bytes >= 16) {
    const hn::CappedTag<std::uint8_t, bytes> d;
    const auto* from = reinterpret_cast<const std::uint8_t*>(src);
    auto* to = reinterpret_cast<std::uint8_t*>(dst);
    for (std::size_t i = 0; i < bytes; i += hn::Lanes(d)) {
      hn::StoreU(hn::LoadU(d, from + i), d, to + i);
    }
    return;
  }
#endif
  std::memcpy(dst, src, bytes);
}

// All `bytes` >= step of a row, not one more: the last move overlaps the one before.
template <int step>
HWY_INLINE void move_row(const std::byte* src, std::byte* dst, std::int64_t bytes) {
  for (std::int64_t k = 0; k + step < bytes; k += step) move_bytes<step>(src + k, dst + k);
  move_bytes<step>(src + bytes - step, dst + bytes - step);
}

// Puts rows together in the stage. Rows that follow each other in the destination share lines, over
// the ends of series and boxes too.
// step: the bytes moved at once. Rows shorter than that are moved with what lies behind them, which
// the next row then overwrites.
template <int step, bool non_temporal>
class StagedRows {
 public:
  // Nothing at or past `src_end` may be read.
  explicit StagedRows(const std::byte* src_end) : src_end_(src_end) {}

  HWY_INLINE void append(const RowSeries& rows, LineFetcher& fetcher) {
    if (rows.dst != to_ + fill_) restart(rows.dst);
    const std::int64_t a_turn = fetch_bytes / rows.bytes + 1;
    const std::byte* src = rows.src;
    for (std::int64_t left = rows.count; left > 0;) {
      const std::int64_t count = HWY_MIN(HWY_MIN(left, a_turn), (stage_bytes - fill_) / rows.bytes);
      if (rows.bytes < step) {
        append_short(src, rows, count);
      } else {
        std::byte* to = stage_ + fill_;
        const std::byte* from = src;
        for (std::int64_t i = 0; i < count; ++i, from += rows.src_stride, to += rows.bytes) {
          move_row<step>(from, to, rows.bytes);
        }
      }
      src += count * rows.src_stride;
      left -= count;
      fill_ += count * rows.bytes;
      if (fill_ + rows.bytes > stage_bytes) flush();
      if (non_temporal) fetcher.fetch(count * rows.bytes);
    }
  }

  HWY_INLINE void finish() {
    flush();
    std::memcpy(to_ + begin_, stage_ + begin_, static_cast<std::size_t>(fill_ - begin_));
    begin_ = fill_;
  }

 private:
  HWY_INLINE void append_short(const std::byte* src, const RowSeries& rows, std::int64_t count) {
    const std::int64_t stride = rows.src_stride;
    const std::int64_t bytes = rows.bytes;
    std::byte* to = stage_ + fill_;
    // Highest row first or last: does reading past it leave the source?
    const std::byte* highest = stride > 0 ? src + (count - 1) * stride : src;
    if (HWY_UNLIKELY(src_end_ - highest < step)) {
      for (; count > 0; --count, src += stride, to += bytes) {
        std::memcpy(to, src, static_cast<std::size_t>(bytes));
      }
      return;
    }
    for (; count >= 4; count -= 4, src += 4 * stride, to += 4 * bytes) {
      move_bytes<step>(src, to);
      move_bytes<step>(src + stride, to + bytes);
      move_bytes<step>(src + 2 * stride, to + 2 * bytes);
      move_bytes<step>(src + 3 * stride, to + 3 * bytes);
    }
    for (; count > 0; --count, src += stride, to += bytes) move_bytes<step>(src, to);
  }

  HWY_INLINE void restart(std::byte* dst) {
    finish();
    begin_ = line_phase(dst);
    fill_ = begin_;
    to_ = dst - begin_;
  }

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

  const std::byte* src_end_;
  std::byte* to_ = nullptr;  // where the stage belongs: the start of a line
  std::int64_t begin_ = 0;   // its first byte that is ours
  std::int64_t fill_ = 0;    // bytes [begin_, fill_) are known
  alignas(line) std::byte stage_[stage_bytes + 2 * line];
};

// Short rows with gaps between them, which belong to somebody else: each is written by itself.
template <int step, bool non_temporal>
class ApartRows {
 public:
  explicit ApartRows(const std::byte*) {}

  HWY_INLINE void append(const RowSeries& rows, LineFetcher& fetcher) {
    const std::byte* src = rows.src;
    std::byte* dst = rows.dst;
    for (std::int64_t i = 0; i < rows.count; ++i, src += rows.src_stride, dst += rows.dst_stride) {
      move_row<step>(src, dst, rows.bytes);
      if (non_temporal) fetcher.fetch(rows.bytes);
    }
  }

  HWY_INLINE void finish() {}
};

// Long rows go straight through; only the lines that two rows share are put together.
template <bool non_temporal>
class LongRows {
 public:
  explicit LongRows(const std::byte*) {}

  HWY_INLINE void append(const RowSeries& rows, LineFetcher& fetcher) {
    for (std::int64_t row = 0; row < rows.count; ++row) {
      const std::byte* src = rows.src + row * rows.src_stride;
      std::byte* dst = rows.dst + row * rows.dst_stride;
      if (dst != writer_.end()) {
        writer_.finish();
        writer_ = LineWriter<non_temporal>(dst);
      }
      for (std::int64_t left = rows.bytes; left > 0;) {
        const std::int64_t part = left < 2 * fetch_bytes ? left : fetch_bytes;
        writer_.append(src, part);
        if (non_temporal) fetcher.fetch(part);
        src += part;
        left -= part;
      }
    }
  }

  HWY_INLINE void finish() { writer_.finish(); }

 private:
  LineWriter<non_temporal> writer_{nullptr};
};

// Boxes [first, last): in each, all series in the order of the destination.
template <class Rows, bool fetches>
void walk_boxes(const RowBoxes& boxes, const std::byte* src, std::byte* dst,
                const std::byte* src_end, std::int64_t first, std::int64_t last) {
  Rows rows(src_end);
  BoxCounter box(boxes, first);
  BoxCounter ahead = box;
  LineFetcher fetcher;
  if (fetches) {
    fetcher.start(boxes, box, src);
    fetcher.fetch_all();
  }
  for (std::int64_t i = first; i < last; ++i, box.next()) {
    if (fetches && i + 1 < last) {
      ahead.next();
      fetcher.start(boxes, ahead, src);
    }
    RowSeries series{src + box.src_offset(),    dst + box.dst_offset(),   box.count(boxes.rank - 2),
                     box.count(boxes.rank - 1), boxes.along().src_stride, boxes.along().dst_stride};
    std::int64_t index[RowBoxes::most_inner] = {};
    for (int k = 0; k >= 0;) {
      rows.append(series, fetcher);
      for (k = boxes.inner_rank; k-- > 0;) {
        const int dim = boxes.inner[static_cast<std::size_t>(k)];
        series.src += boxes[dim].src_stride;
        series.dst += boxes[dim].dst_stride;
        if (++index[k] < box.count(dim)) break;
        series.src -= index[k] * boxes[dim].src_stride;
        series.dst -= index[k] * boxes[dim].dst_stride;
        index[k] = 0;
      }
    }
    if (fetches) fetcher.fetch_all();
  }
  rows.finish();
}

template <bool non_temporal>
void run_rows_with(const RowBoxes& boxes, const std::byte* src, std::byte* dst,
                   const std::byte* src_end, std::int64_t first, std::int64_t last) {
  const std::int64_t bytes = boxes.run().block;
  const auto walk = [&](auto rows) {
    walk_boxes<typename decltype(rows)::type, non_temporal>(boxes, src, dst, src_end, first, last);
  };
  const bool apart = boxes.along().extent > 1 && boxes.along().dst_stride != boxes.run().extent;
  if (bytes >= 1024) return walk(std::type_identity<LongRows<non_temporal>>());
  if (apart) {
    if (bytes >= 64) return walk(std::type_identity<ApartRows<64, non_temporal>>());
    if (bytes >= 32) return walk(std::type_identity<ApartRows<32, non_temporal>>());
    if (bytes >= 16) return walk(std::type_identity<ApartRows<16, non_temporal>>());
    if (bytes >= 8) return walk(std::type_identity<ApartRows<8, non_temporal>>());
    if (bytes >= 4) return walk(std::type_identity<ApartRows<4, non_temporal>>());
    return walk(std::type_identity<ApartRows<2, non_temporal>>());
  }
  if (bytes <= 4) return walk(std::type_identity<StagedRows<4, non_temporal>>());
  if (bytes <= 8) return walk(std::type_identity<StagedRows<8, non_temporal>>());
  if (bytes <= 16) return walk(std::type_identity<StagedRows<16, non_temporal>>());
  if (bytes <= 32) return walk(std::type_identity<StagedRows<32, non_temporal>>());
  return walk(std::type_identity<StagedRows<64, non_temporal>>());
}

void run_rows(const RowBoxes& boxes, const std::byte* src, std::byte* dst, const std::byte* src_end,
              std::int64_t first, std::int64_t last, bool non_temporal) {
  if (!non_temporal) return run_rows_with<false>(boxes, src, dst, src_end, first, last);
  run_rows_with<true>(boxes, src, dst, src_end, first, last);
  hwy::FlushStream();
}

}  // namespace cornerturn::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cornerturn::cpu {
namespace {

HWY_EXPORT(run_rows);

}  // namespace

std::int64_t pieces(const plan::RowsConfig& config, const Problem& normal) {
  return RowBoxes(config, normal).count();
}

void run(const plan::RowsConfig& config, const Problem& normal, const std::byte* src,
         std::byte* dst, std::int64_t first, std::int64_t last) {
  const std::byte* src_end = src + (src_reach(normal).high - normal.src_offset);
  HWY_DYNAMIC_DISPATCH(run_rows)
  (RowBoxes(config, normal), src, dst, src_end, first, last, config.non_temporal);
}

}  // namespace cornerturn::cpu
#endif
