// tile: sweeps along the source, one tile (a strip of the destination run by a window of the source
// run) after the other. Where all destination rows begin at the same place within a line, strips
// are cut at line boundaries and whole lines go from the registers to memory, but for short rows
// that begin within a line (plan::tile::at_phase). Otherwise a tile is transposed into a stage in
// the second-level cache and flushed from there, each destination row in whole lines: a row's strip
// is shifted back to the line boundary before it, for which the line before the strip is read
// again.
#include <algorithm>
#include <cassert>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <utility>

#include <hwy/cache_control.h>
#include "core/divide.hpp"
#include "cpu/convert_vector.hpp"
#include "cpu/kernel.hpp"
#include "cpu/scratch.hpp"
#include "cpu/tile_grid.hpp"
#include "plan/cpu/tile.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/tile.cpp"
#include <hwy/foreach_target.h>
//
#include <hwy/highway.h>

#include "cpu/transpose_block.hpp"

#ifndef CORNERTURN_CPU_TILE_ONCE
#define CORNERTURN_CPU_TILE_ONCE
namespace cornerturn::cpu {
namespace {

using plan::TileConfig;
using u8 = std::uint8_t;

constexpr std::int64_t max_rows = 4096 + 2 * line;
constexpr std::int64_t max_columns = 5 * line;
constexpr std::int64_t stage_bytes = 704 << 10;
// A window of source rows, copied: five lines a row spread over the sets of the first-level cache.
constexpr int block_pitch = max_columns;

// The source rows of one strip, with those of the line before it.
struct StripRows {
  std::int64_t strip = -1;
  std::int64_t first = 0;  // element of the destination run
  std::int64_t count = 0;
  std::int64_t offset[max_rows];  // padded to whole lines by repeating the last
};

struct TileScratch {
  alignas(line) u8 stage[stage_bytes + line];
  alignas(line) u8 block[line * block_pitch];
  std::int64_t column_offset[max_columns];
  u8* column[max_columns];
  StripRows rows[2];
};

inline void copy_bytes(u8* to, const u8* from, std::int64_t bytes) {
  for (; bytes >= 16; bytes -= 16, to += 16, from += 16) std::memcpy(to, from, 16);
  if (bytes & 8) std::memcpy(to, from, 8), to += 8, from += 8;
  if (bytes & 4) std::memcpy(to, from, 4), to += 4, from += 4;
  if (bytes & 2) std::memcpy(to, from, 2), to += 2, from += 2;
  if (bytes & 1) *to = *from;
}

}  // namespace
}  // namespace cornerturn::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace cornerturn::cpu {
namespace HWY_NAMESPACE {
namespace {

// Whole lines bypass the caches; what is left at either end is somebody else's line too.
void stream_run(u8* to, const u8* from, std::int64_t bytes) {
  const auto misaligned = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(to) % line);
  if (misaligned != 0) {
    const std::int64_t head = std::min(bytes, line - misaligned);
    copy_bytes(to, from, head);
    to += head;
    from += head;
    bytes -= head;
  }
  for (; bytes >= line; bytes -= line, to += line, from += line) {
    CT_UNROLL
    for (int k = 0; k < line; k += vector_bytes) stream_vector(to + k, from + k);
  }
  if (bytes > 0) copy_bytes(to, from, bytes);
}

HWY_INLINE void copy_run(u8* to, const u8* from, std::int64_t bytes) {
  for (; bytes >= vector_bytes; bytes -= vector_bytes, to += vector_bytes, from += vector_bytes) {
    copy_vector(to, from);
  }
  if (bytes > 0) copy_bytes(to, from, bytes);
}

template <int width>
class Sweep {
 public:
  Sweep(const TileConfig& config, const Problem& normal, const TileLists* lists, u8* dst,
        const u8* src)
      : config_(config),
        non_temporal_(plan::past_caches(config.stores)),
        grid_(make_grid(config, normal, lists)),
        dst_(dst),
        src_(src),
        scratch_(thread_scratch<TileScratch>(Scratch::moving)),
        run_bytes_(grid_.split.run * width),
        src_width_(normal.src_type.size()),
        phase_(static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(dst) % line)),
        direct_(config.direct && phase_ % width == 0),
        margin_(needs_margin() ? line / width : 0),
        tails_(ends_in_a_line_of_its_own()) {
    stage_pitch_ = line + grid_.strip_rows * width;
    if (stage_pitch_ / line % 2 == 0) stage_pitch_ += line;  // spread over the cache sets
    if (config.packed) stage_pitch_ = run_bytes_;
    assert((grid_.window_columns + K) * stage_pitch_ <= stage_bytes);
    assert(grid_.strip_rows + line <= max_rows);
    assert((grid_.window_columns + K) * width <= block_pitch);
  }

  void run(std::int64_t first, std::int64_t last) {
    last = std::min(last, grid_.pieces());
    for (std::int64_t index = first; index < last; ++index) {
      const TileGrid::Piece piece = grid_.piece(index);
      const TileGrid::Piece next = index + 1 < last ? grid_.piece(index + 1) : piece;
      const std::int64_t last_strip = piece.first_strip + grid_.strips_a_piece - 1;
      for (std::int64_t strip = piece.first_strip; strip < last_strip; ++strip) {
        sweep(piece, strip, piece, strip + 1);
      }
      sweep(piece, last_strip, next, next.first_strip);
    }
    if (non_temporal_) hwy::FlushStream();
  }

 private:
  static constexpr int V = unit_rows<width>();
  static constexpr int K = unit_columns<width>();
  static constexpr int line_rows = line / width;  // whose columns are whole lines
  template <int count>
  static constexpr bool few_rows = count <= 8;

  // Rows before the strip are needed unless every destination row starts at a line boundary.
  bool needs_margin() const {
    if (direct_ || !non_temporal_ || grid_.strips == 1) return false;
    std::uintptr_t bits = reinterpret_cast<std::uintptr_t>(dst_);
    const int rank = grid_.problem->rank();
    for (int i = 0; i < rank - grid_.split.run_modes; ++i) {
      bits |= static_cast<std::uintptr_t>(grid_.problem->modes[i].dst_stride);
    }
    return bits % line != 0;
  }

  // A source run that begins within a line may end in one more than it has lines. That is another
  // run's first line where runs of a strip follow each other, and after long stretches the
  // processor itself fetches the next line.
  bool ends_in_a_line_of_its_own() const {
    constexpr std::int64_t short_stretch = 4 * line;
    const Problem& problem = *grid_.problem;
    const std::int64_t run = grid_.split.columns * src_width_;
    std::int64_t stretch = run;
    std::int64_t rows = 1;
    for (int k = 1; k <= grid_.split.run_modes && rows < grid_.strip_rows; ++k) {
      const Mode& mode = problem.modes[problem.rank() - k];
      const std::int64_t stride = std::abs(mode.src_stride);
      if (stride >= stretch && stride < stretch + line / 2) {
        stretch = stride * std::min(mode.extent, ceil_div(grid_.strip_rows, rows));
      }
      rows *= mode.extent;
    }
    if (stretch > short_stretch) return false;
    auto begins = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(src_) % line);
    begins |= grid_.src_start | line;
    for (const Mode& mode : problem.modes) {
      if (std::abs(mode.src_stride) >= run) begins |= mode.src_stride;
    }
    const std::int64_t last_begin = line - (begins & -begins);  // within a line
    return (last_begin + run - 1) / line > (run - 1) / line;
  }

  // Along one strip. The sweep after it is along `next_strip` of the piece `next`.
  HWY_INLINE void sweep(const TileGrid::Piece& piece, std::int64_t strip,
                        const TileGrid::Piece& next, std::int64_t next_strip) {
    const StripRows& rows = rows_of(strip, -1);
    const StripRows& next_rows = rows_of(next_strip, strip);
    for (std::int64_t window = piece.first_window; window < piece.last_window; ++window) {
      aim_prefetch(piece, next, window, rows, next_rows);
      tile(piece, strip, window, rows);
    }
  }

  // Two strips are kept: this one, and that of the next sweep.
  const StripRows& rows_of(std::int64_t strip, std::int64_t kept) {
    for (const StripRows& rows : scratch_.rows) {
      if (rows.strip == strip) return rows;
    }
    StripRows& rows = scratch_.rows[scratch_.rows[0].strip == kept ? 1 : 0];
    const std::int64_t shift = direct_ ? phase_ / width : margin_;
    const std::int64_t begin = strip * grid_.strip_rows - shift;
    const std::int64_t end = strip + 1 == grid_.strips
                                 ? grid_.split.run
                                 : (strip + 1) * grid_.strip_rows - (direct_ ? shift : 0);
    rows.strip = strip;
    rows.first = std::max<std::int64_t>(0, begin);
    rows.count = std::max<std::int64_t>(0, end - rows.first);
    grid_.row_offsets(rows.first, rows.count, rows.offset);
    const std::int64_t padded = (rows.count / line_rows + 2) * line_rows;
    for (std::int64_t i = std::max<std::int64_t>(1, rows.count); i < padded; ++i) {
      rows.offset[i] = rows.offset[i - 1];
    }
    return rows;
  }

  // The sweep goes on in the next piece: its first windows are fetched while this one ends.
  void aim_prefetch(const TileGrid::Piece& piece, const TileGrid::Piece& next, std::int64_t window,
                    const StripRows& rows, const StripRows& next_rows) {
    const std::int64_t begin = grid_.first_column(piece.first_window) * src_width_;
    const std::int64_t end = grid_.end_column(piece.last_window - 1) * src_width_;
    const std::int64_t at = grid_.first_column(window) * src_width_;
    std::int64_t left = end - at - config_.prefetch_bytes;  // to the end of what is swept
    prefetch_rows_ = &rows;
    prefetch_ = src_ + piece.src_offset + at + config_.prefetch_bytes;
    if (left <= 0) {
      const std::int64_t beyond = end - begin < config_.prefetch_bytes ? at - begin : -left;
      const std::int64_t next_begin = grid_.first_column(next.first_window) * src_width_;
      left = grid_.end_column(next.last_window - 1) * src_width_ - next_begin - beyond;
      prefetch_rows_ = &next_rows;
      prefetch_ = src_ + next.src_offset + next_begin + beyond;
    }
    // The last window may be up to 16 bytes wider.
    const std::int64_t wider = left - grid_.window_columns * src_width_;
    prefetch_last_ = tails_ && wider > -line && wider < 16 ? left - 1 : 0;
  }

  // Inlined: GCC drops calls of functions that do nothing but prefetch.
  HWY_INLINE void prefetch_block(std::int64_t first_row, int rows) const {
    if (first_row >= prefetch_rows_->count) return;
    for (std::int64_t b = 0; b < grid_.window_columns * src_width_; b += line)
      prefetch(first_row, rows, b);
    if (prefetch_last_ > 0) prefetch(first_row, rows, prefetch_last_);
  }
  HWY_INLINE void prefetch(std::int64_t first_row, int rows, std::int64_t byte) const {
    for (std::int64_t i = first_row; i < first_row + rows; ++i) {
      __builtin_prefetch(prefetch_ + prefetch_rows_->offset[i] + byte, 0, 2);
    }
  }

  void tile(const TileGrid::Piece& piece, std::int64_t strip, std::int64_t window,
            const StripRows& rows) {
    const std::int64_t first_column = grid_.first_column(window);
    const std::int64_t columns = grid_.end_column(window) - first_column;
    grid_.column_offsets(first_column, columns, scratch_.column_offset);
    u8* const dst = dst_ + piece.dst_offset;
    const u8* const src = src_ + piece.src_offset + first_column * src_width_;
    const bool to_stage = !direct_ && (non_temporal_ || rows.count < V);
    for (std::int64_t c = 0; c < columns; ++c) {
      scratch_.column[c] = to_stage ? scratch_.stage + c * stage_pitch_
                                    : dst + scratch_.column_offset[c] + rows.first * width;
    }
    if (direct_) return stream_tile(src, rows, columns);
    // Transpose. In a packed stage the last block writes beyond its row, into what the first block
    // of the next row writes later.
    const std::int64_t blocks = (rows.count + V - 1) / V;
    for (std::int64_t i = 0; i < blocks; ++i) {
      const std::int64_t b = config_.packed ? blocks - 1 - i : i;
      if (config_.prefetch_bytes > 0) prefetch_block(b * V, V);
      const std::int64_t row = to_stage ? b * V : std::min(b * V, rows.count - V);
      transpose_block<V, false>(src, rows.offset + row, row * width, columns);
    }
    if (to_stage) flush(dst, strip, rows, columns);
  }

  // Whole lines from registers; the partial ones at either end of the run go through the stage.
  void stream_tile(const u8* src, const StripRows& rows, std::int64_t columns) {
    const std::int64_t head =
        rows.first > 0 || phase_ == 0 ? 0 : std::min(rows.count, (line - phase_) / width);
    if (head > 0) part_of_line(src, rows, 0, head, columns);
    std::int64_t row = head;
    for (; row + line_rows <= rows.count; row += line_rows) {
      if (config_.prefetch_bytes > 0) prefetch_block(row, line_rows);
      transpose_block<line_rows, true>(src, rows.offset + row, row * width, columns);
    }
    if (row < rows.count) part_of_line(src, rows, row, rows.count, columns);
  }

  void part_of_line(const u8* src, const StripRows& rows, std::int64_t first, std::int64_t last,
                    std::int64_t columns) {
    u8* to[max_columns];
    std::copy_n(scratch_.column, columns, to);
    for (std::int64_t c = 0; c < columns; ++c) scratch_.column[c] = scratch_.stage + c * line;
    if (config_.prefetch_bytes > 0) prefetch_block(first, line_rows);
    for (std::int64_t row = first; row < last; row += V) {
      transpose_block<V, false>(src, rows.offset + row, (row - first) * width, columns);
    }
    for (std::int64_t c = 0; c < columns; ++c) {
      copy_bytes(to[c] + first * width, scratch_.stage + c * line, (last - first) * width);
      scratch_.column[c] = to[c];
    }
  }

  // `count` rows, a multiple of V, and all columns of the window.
  template <int count, bool stream>
  HWY_INLINE void transpose_block(const u8* src, const std::int64_t* row_offset, std::int64_t at,
                                  std::int64_t columns) {
    if (grid_.problem->converts()) {
      convert_rows(*grid_.problem,
                   {reinterpret_cast<const std::byte*>(src), row_offset, count, columns,
                    reinterpret_cast<std::byte*>(scratch_.block), block_pitch});
    } else if (config_.copy_rows) {
      for (int i = 0; i < count; ++i) {
        copy_run(scratch_.block + i * block_pitch, src + row_offset[i], columns * width);
      }
    }
    // What few rows begin at stays in registers, instead of being read again for each column.
    const u8* row[few_rows<count> ? count : 1];
    if constexpr (few_rows<count>) {
      CT_UNROLL
      for (int i = 0; i < count; ++i) row[i] = src + row_offset[i];
    }
    for (std::int64_t c = 0; c < columns; c += K) {
      // The last unit is moved back to end with the window: what it repeats stays the same.
      const std::int64_t column = std::min(c, columns - K);
      u8* const* to = scratch_.column + column;
      if constexpr (stream && count > V) {
        // A line's vectors follow one another: a line that is left half written may be sent so.
        alignas(line) u8 lines[K * line];
        transpose_rows<count, false>(src, row_offset, row, column,
                                     [&](int k) { return lines + k * line; });
        for (int k = 0; k < K; ++k) {
          CT_UNROLL
          for (int b = 0; b < line; b += vector_bytes)
            stream_vector(to[k] + at + b, lines + k * line + b);
        }
      } else {
        transpose_rows<count, stream>(src, row_offset, row, column,
                                      [=](int k) { return to[k] + at; });
      }
    }
  }

  // The unit of these rows that begins at `column`: out(k) is where its column k goes to.
  template <int count, bool stream, class Out>
  HWY_INLINE void transpose_rows(const u8* src, const std::int64_t* row_offset,
                                 const u8* const* row, std::int64_t column, Out out) {
    CT_UNROLL
    for (int first = 0; first < count; first += V) {
      const auto to = [=](int k) { return out(k) + first * width; };
      if (config_.copy_rows) {
        const u8* from = scratch_.block + first * block_pitch + column * width;
        transpose_unit<width, stream>([=](int i) { return from + i * block_pitch; }, to);
      } else if constexpr (few_rows<count>) {
        transpose_unit<width, stream>([=](int i) { return row[first + i] + column * width; }, to);
      } else {
        const u8* from = src + column * width;
        transpose_unit<width, stream>([=](int i) { return from + row_offset[first + i]; }, to);
      }
    }
  }

  void flush(u8* dst, std::int64_t strip, const StripRows& rows, std::int64_t columns) {
    const bool first = strip == 0;
    const bool last = strip + 1 == grid_.strips;
    for (std::int64_t c = 0; c < columns;) {
      const std::int64_t begin = c++;
      if (config_.packed) {
        while (c < columns &&
               scratch_.column_offset[c] == scratch_.column_offset[c - 1] + run_bytes_)
          ++c;
      }
      u8* const run = dst + scratch_.column_offset[begin];
      u8* const from = first ? run : boundary(run + strip * grid_.strip_rows * width);
      u8* const to = last ? run + (c - begin) * run_bytes_
                          : boundary(run + (strip + 1) * grid_.strip_rows * width);
      const u8* const staged =
          scratch_.stage + begin * stage_pitch_ + (from - run - rows.first * width);
      non_temporal_ ? stream_run(from, staged, to - from) : copy_run(from, staged, to - from);
    }
  }

  // Where a strip that ends at p hands over to the next one.
  u8* boundary(u8* p) const {
    return non_temporal_ ? p - reinterpret_cast<std::uintptr_t>(p) % line : p;
  }

  const TileConfig config_;
  const bool non_temporal_;
  const TileGrid grid_;
  u8* const dst_;
  const u8* const src_;
  TileScratch& scratch_;
  const std::int64_t run_bytes_;
  const std::int64_t src_width_;
  const std::int64_t phase_;  // of the destination's first byte within its line
  const bool direct_;
  const std::int64_t margin_;
  const bool tails_;  // source runs end in lines of their own
  std::int64_t stage_pitch_;
  const u8* prefetch_ = nullptr;
  const StripRows* prefetch_rows_ = nullptr;
  std::int64_t prefetch_last_ = 0;  // the last byte of each source run, or 0
};

template <int width>
void run_width(const TileConfig& config, const Problem& normal, const TileLists* lists, u8* dst,
               const u8* src, std::int64_t first, std::int64_t last) {
  const auto phase = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(dst) % line);
  Sweep<width>(plan::tile::at_phase(config, normal, phase), normal, lists, dst, src)
      .run(first, last);
}

void run_tile(const TileConfig& config, const Problem& normal, const TileLists* lists, u8* dst,
              const u8* src, std::int64_t first, std::int64_t last) {
  switch (normal.dst_type.size()) {
    case 1:
      return run_width<1>(config, normal, lists, dst, src, first, last);
    case 2:
      return run_width<2>(config, normal, lists, dst, src, first, last);
    case 4:
      return run_width<4>(config, normal, lists, dst, src, first, last);
    case 8:
      return run_width<8>(config, normal, lists, dst, src, first, last);
    default:
      return run_width<16>(config, normal, lists, dst, src, first, last);
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace cornerturn::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cornerturn::cpu {

HWY_EXPORT(run_tile);

namespace {

std::int64_t pieces(const TileConfig& config, const Problem& normal) {
  if (normal.lists == nullptr) return make_grid(config, normal).pieces();
  return make_grid(config, plan::spread(normal).problem).pieces();
}

void run(const plan::TileConfig& config, const Problem& normal, const Buffers& buffers,
         std::int64_t first, std::int64_t last) {
  const auto run_on = [&](const Problem& problem, const TileLists* lists) {
    HWY_DYNAMIC_DISPATCH(run_tile)
    (config, problem, lists, static_cast<u8*>(buffers.dst), static_cast<const u8*>(buffers.src),
     first, last);
  };
  if (normal.lists == nullptr) return run_on(normal, nullptr);
  const plan::SpreadProblem spread = plan::spread(normal);
  const TileLists lists{spread, ListsOf(normal, buffers)};
  run_on(spread.problem, &lists);
}

}  // namespace

extern const Kernel tile_kernel = [] {
  Kernel kernel = kernel_in_pieces<plan::TileConfig, pieces, run>;
  kernel.stops_at_last = true;
  return kernel;
}();

}  // namespace cornerturn::cpu
#endif
