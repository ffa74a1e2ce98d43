// Rows with gaps between them in the destination, which belong to somebody else: each is written by
// itself. Included once for each vector target.
#if defined(CORNERTURN_CPU_APART_ROWS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef CORNERTURN_CPU_APART_ROWS_INL
#undef CORNERTURN_CPU_APART_ROWS_INL
#else
#define CORNERTURN_CPU_APART_ROWS_INL
#endif

#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>

#include "cpu/row_boxes.hpp"
#include "cpu/short_rows-inl.hpp"
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

// step: the bytes moved at once.
template <int step, bool fetches>
class ApartRows {
 public:
  ApartRows(const RowBoxes&, const std::byte*) {}

  HWY_INLINE void append(const RowSeries& rows, LineFetcher& fetcher) {
    // What is left behind moves of `step` bytes may take a whole one.
    const bool takes_whole = (rows.bytes - 1) % step + 1 > step / 2;
    const auto append = [&](auto move) HWY_ATTR {
      const std::byte* src = rows.src;
      std::byte* dst = rows.dst;
      for (std::int64_t i = 0; i < rows.count; ++i) {
        move(dst, src, rows.bytes);
        if (fetches) fetcher.fetch(rows.bytes);
        src += rows.src_stride;
        dst += rows.dst_stride;
      }
    };
    if (takes_whole) return append([](auto... row) HWY_ATTR { move_row<step>(row...); });
    append([](auto... row) HWY_ATTR { move_uncached_row<step>(row...); });
  }

  HWY_INLINE void finish() {}
};

// Rows of whole lines, which are stored as such: a store that crosses from one line into the next
// takes as long as two.
template <bool non_temporal, bool fetches>
class ApartLines {
 public:
  ApartLines(const RowBoxes&, const std::byte*) {}

  HWY_INLINE void append(const RowSeries& rows, LineFetcher& fetcher) {
    for (std::int64_t i = 0; i < rows.count; ++i) {
      move(rows.dst + i * rows.dst_stride, rows.src + i * rows.src_stride, rows.bytes, fetcher);
    }
  }

  HWY_INLINE void finish() {}

 private:
  static HWY_INLINE void move(std::byte* dst, const std::byte* src, std::int64_t bytes,
                              LineFetcher& fetcher) {
    const std::int64_t head = (line - line_phase(dst)) % line;
    move_end(dst, src, head, 0);
    std::int64_t done = head;
    while (bytes - done >= line) {
      const std::int64_t lines = HWY_MIN(bytes - done, fetch_bytes) / line;
      store_lines<non_temporal>(dst + done, src + done, lines);
      done += lines * line;
      if (fetches) fetcher.fetch(lines * line);
    }
    move_end(dst + done, src + done, bytes - done, bytes - done - line);
    if (fetches) fetcher.fetch(bytes - done + head);
  }

  // The part of a line at an end of a row. What goes through the caches may be a whole vector that
  // begins at `vector` and overlaps the lines; those that are stored around them stay whole.
  static HWY_INLINE void move_end(std::byte* dst, const std::byte* src, std::int64_t bytes,
                                  std::int64_t vector) {
    if constexpr (non_temporal) {
      move_few(dst, src, bytes);
    } else {
      move_bytes<line>(dst + vector, src + vector);
    }
  }
};

}  // namespace cornerturn::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
