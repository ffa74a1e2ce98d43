// rows: moves runs that both sides share. Short ones are put together in a stage that mirrors the
// destination's lines; long ones go straight through, only the line between two rows is put
// together.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/rows.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <hwy/cache_control.h>

#include "core/validate.hpp"
#include "cpu/kernel.hpp"
#include "cpu/row_tiles.hpp"
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

constexpr std::int64_t prefetch_bytes = 1536;  // of rows ahead
constexpr std::int64_t stage_bytes = 4096;
constexpr std::int64_t longest_staged_row = 1024;

HWY_INLINE void prefetch_row(const RowSeries& rows, std::int64_t row, std::int64_t ahead) {
  if (row + ahead >= rows.count) return;
  const std::byte* start = rows.src + (row + ahead) * rows.src_stride;
  const std::int64_t bytes = HWY_MIN(rows.bytes, prefetch_bytes);
  for (std::int64_t k = 0; k < bytes; k += line) hwy::Prefetch(start + k);
  hwy::Prefetch(start + bytes - 1);
}

HWY_INLINE std::int64_t rows_ahead(const RowSeries& rows) {
  return prefetch_bytes / rows.bytes + 1;
}

// Moves at least `bytes`, up to `step` - 1 too many on both sides.
template <int step>
HWY_INLINE void move_row(const std::byte* src, std::byte* dst, std::int64_t bytes) {
#if HWY_TARGET == HWY_SCALAR
  for (std::int64_t k = 0; k < bytes; k += step) std::memcpy(dst + k, src + k, step);
#else
  const hn::CappedTag<std::uint8_t, step> d;
  const auto* from = reinterpret_cast<const std::uint8_t*>(src);
  auto* to = reinterpret_cast<std::uint8_t*>(dst);
  for (std::int64_t k = 0; k < bytes; k += step) {
    for (std::size_t i = 0; i < step; i += hn::Lanes(d)) {
      hn::StoreU(hn::LoadU(d, from + k + i), d, to + k + i);
    }
  }
#endif
}

// Puts short rows together in a stage that has the destination's line phase. Rows that follow each
// other in the destination share lines, over the ends of series too.
template <int step, bool non_temporal>
class ShortRows {
 public:
  // Nothing at or past `src_end` may be read.
  explicit ShortRows(const std::byte* src_end) : src_end_(src_end) {}

  HWY_INLINE void append(const RowSeries& rows) {
    if (rows.dst_stride != rows.bytes && rows.count > 1) return append_apart(rows);
    if (rows.dst != to_ + fill_) restart(rows.dst);
    const std::int64_t ahead = rows_ahead(rows);
    const std::int64_t padded = (rows.bytes + step - 1) / step * step;
    const std::byte* src = rows.src;
    for (std::int64_t row = 0; row < rows.count;) {
      const std::int64_t fit = HWY_MIN(rows.count - row, (stage_bytes - fill_) / rows.bytes);
      std::byte* to = stage_ + fill_;
      for (std::int64_t i = 0; i < fit; ++i, ++row, src += rows.src_stride, to += rows.bytes) {
        prefetch_row(rows, row, ahead);
        if (HWY_LIKELY(src + padded <= src_end_)) {
          move_row<step>(src, to, rows.bytes);
        } else {
          std::memcpy(to, src, static_cast<std::size_t>(rows.bytes));
        }
      }
      fill_ += fit * rows.bytes;
      if (fill_ + rows.bytes > stage_bytes) flush();
    }
  }

  HWY_INLINE void finish() {
    flush();
    std::memcpy(to_ + begin_, stage_ + begin_, static_cast<std::size_t>(fill_ - begin_));
    begin_ = fill_;
  }

 private:
  HWY_INLINE void restart(std::byte* dst) {
    finish();
    begin_ = line_phase(dst);
    fill_ = begin_;
    to_ = dst - begin_;
  }

  // Gaps between the rows belong to somebody else.
  HWY_INLINE void append_apart(const RowSeries& rows) {
    const std::int64_t ahead = rows_ahead(rows);
    for (std::int64_t row = 0; row < rows.count; ++row) {
      prefetch_row(rows, row, ahead);
      const std::byte* src = rows.src + row * rows.src_stride;
      std::byte* dst = rows.dst + row * rows.dst_stride;
      std::int64_t k = 0;
      for (; k + step <= rows.bytes; k += step) move_row<step>(src + k, dst + k, step);
      std::memcpy(dst + k, src + k, static_cast<std::size_t>(rows.bytes - k));
    }
  }

  // Writes the whole lines of the stage; what is left of the last one moves to its front.
  HWY_INLINE void flush() {
    std::int64_t lines = fill_ / line;
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

// Long rows go straight through; only the lines that two rows share are put together.
template <bool non_temporal>
class LongRows {
 public:
  explicit LongRows(const std::byte*) {}

  HWY_INLINE void append(const RowSeries& rows) {
    const std::int64_t ahead = rows_ahead(rows);
    for (std::int64_t row = 0; row < rows.count; ++row) {
      prefetch_row(rows, row, ahead);
      std::byte* dst = rows.dst + row * rows.dst_stride;
      if (dst != writer_.end()) {
        writer_.finish();
        writer_ = LineWriter<non_temporal>(dst);
      }
      writer_.append(rows.src + row * rows.src_stride, rows.bytes);
    }
  }

  HWY_INLINE void finish() { writer_.finish(); }

 private:
  LineWriter<non_temporal> writer_{nullptr};
};

// Tiles [first, last): all of `series` in a tile, all tiles in the order of the destination.
template <class Rows>
void walk_tiles(const RowTiles& tiles, const std::byte* src, std::byte* dst,
                const std::byte* src_end, std::int64_t first, std::int64_t last) {
  Rows rows(src_end);
  TileCounter counter(tiles, first);
  for (std::int64_t tile = first; tile < last; ++tile, counter.next()) {
    const std::int64_t series = counter.count(tiles.across_dim);
    RowSeries next{src + counter.src_offset(),
                   dst + counter.dst_offset(),
                   counter.count(tiles.along_dim),
                   counter.count(tiles.chunk_dim),
                   tiles.dims[tiles.along_dim].src_stride,
                   tiles.dims[tiles.along_dim].dst_stride};
    for (std::int64_t i = 0; i < series; ++i) {
      rows.append(next);
      next.src += tiles.dims[tiles.across_dim].src_stride;
      next.dst += tiles.dims[tiles.across_dim].dst_stride;
    }
  }
  rows.finish();
}

template <bool non_temporal>
void walk_rows(const RowTiles& tiles, const std::byte* src, std::byte* dst,
               const std::byte* src_end, std::int64_t first, std::int64_t last) {
  const std::int64_t bytes = tiles.dims[tiles.chunk_dim].block;
  if (bytes <= 16) {
    walk_tiles<ShortRows<16, non_temporal>>(tiles, src, dst, src_end, first, last);
  } else if (bytes <= 32) {
    walk_tiles<ShortRows<32, non_temporal>>(tiles, src, dst, src_end, first, last);
  } else if (bytes <= longest_staged_row) {
    walk_tiles<ShortRows<64, non_temporal>>(tiles, src, dst, src_end, first, last);
  } else {
    walk_tiles<LongRows<non_temporal>>(tiles, src, dst, src_end, first, last);
  }
}

void run_rows(const RowTiles& tiles, const std::byte* src, std::byte* dst, const std::byte* src_end,
              std::int64_t first, std::int64_t last, bool non_temporal) {
  if (!non_temporal) return walk_rows<false>(tiles, src, dst, src_end, first, last);
  walk_rows<true>(tiles, src, dst, src_end, first, last);
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
  return row_tiles(config, normal).tiles();
}

void run(const plan::RowsConfig& config, const Problem& normal, const std::byte* src,
         std::byte* dst, std::int64_t first, std::int64_t last) {
  const std::byte* src_end = src + (src_reach(normal).high - normal.src_offset);
  HWY_DYNAMIC_DISPATCH(run_rows)
  (row_tiles(config, normal), src, dst, src_end, first, last, config.non_temporal);
}

}  // namespace cornerturn::cpu
#endif
