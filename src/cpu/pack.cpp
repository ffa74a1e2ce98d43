// pack: for each box, its rows are read and transposed into a stage that is an image of the
// destination, line by line; whole lines of it are then written. Boxes that follow each other in
// the destination hand on the line that they share.
#include <hwy/cache_control.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "core/divide.hpp"
#include "cpu/kernel.hpp"
#include "cpu/pack_layout.hpp"
#include "cpu/scratch.hpp"
#include "plan/cpu/pack.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/pack.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

#include "cpu/stream-inl.hpp"
#include "cpu/transpose_block.hpp"

#ifndef CORNERTURN_CPU_PACK_ONCE
#define CORNERTURN_CPU_PACK_ONCE
namespace cornerturn::cpu {

using plan::PackConfig;
namespace pack_limits = plan::pack;

// How far a run of the box at hand has come: its bytes are staged as they will lie in their lines,
// from `fill` on, and from `begin` on those that are known.
struct Progress {
  std::int32_t begin, fill;
};

// Where a box is put together.
struct PackStage {
  std::array<Progress, pack_limits::max_columns> progress;    // of each run
  std::array<std::int32_t, pack_limits::max_columns> column;  // in the stage, for this box
  alignas(64) std::array<std::array<std::uint8_t, 64>, pack_limits::max_columns> carry;
  alignas(64) std::array<std::uint8_t, 368 << 10> images;     // of runs
  alignas(64) std::array<std::uint8_t, 192 << 10> rows;       // collected ...
  std::array<std::int64_t, pack_limits::max_side> collected;  // ... at these offsets
  std::array<std::uint8_t, 64> nowhere;
};

}  // namespace cornerturn::cpu
#endif  // CORNERTURN_CPU_PACK_ONCE

HWY_BEFORE_NAMESPACE();
namespace cornerturn::cpu::HWY_NAMESPACE {

inline void copy_line(std::uint8_t* to, const std::uint8_t* from) {
  std::memcpy(to, from, 64);
}

// What a thread has at hand for one box after the other.
struct Pack {
  const PackConfig& config;
  const Problem& normal;
  const PackLayout& layout;
  PackStage& stage;
};

// Columns [first, last) of a box, and their runs.
struct Window {
  std::int64_t first, last;
  std::int64_t first_run, last_run;
};

Window window_from(const PackLayout& layout, const PackBox& box, std::int64_t first) {
  Window window{first, std::min(first + layout.window, box.across), 0, layout.runs};
  if (layout.window < layout.across.count) {
    window.first_run = window.first * layout.runs_a_column;
    window.last_run = window.last * layout.runs_a_column;
  }
  return window;
}

// Calls visit(run, its progress, its image in the stage, the line it carries on) for the runs of a
// window, leaving out those that only a larger box has.
template <class Visit>
HWY_INLINE void for_runs(const Pack& pack, const PackBox& box, const Window& window, Visit visit) {
  for (std::int64_t r = window.first_run; r < window.last_run; ++r) {
    const auto number = static_cast<std::size_t>(r);
    const PackRun& run = pack.layout.run[number];
    if (run.deep >= box.deep || run.across >= box.across) continue;
    visit(run, pack.stage.progress[number],
          pack.stage.images.data() + (r - window.first_run) * pack.layout.run_pitch,
          pack.stage.carry[number].data());
  }
}

// Places the window's runs in the stage: each continues the line it shares with the box before, or
// starts at its own place in its line.
void place_runs(const Pack& pack, const PackBox& box, const Window& window, const std::byte* dst,
                bool continues) {
  for_runs(
      pack, box, window,
      [&](const PackRun& run, Progress& progress, std::uint8_t* image, const std::uint8_t* carry) {
        if (continues) {
          copy_line(image, carry);
        } else {
          const std::int64_t phase = line_phase(dst + box.dst + run.dst);
          progress.begin = progress.fill = static_cast<std::int32_t>(phase);
        }
      });
  const PackSide& across = pack.layout.across;
  const PackSide& deep = pack.layout.deep;
  for (std::int64_t i = 0; i < box.deep; ++i) {
    const auto e = static_cast<std::size_t>(i);
    std::int32_t* column = pack.stage.column.data() + i * across.count;
    for (std::int64_t k = window.first; k < window.last; ++k) {
      const auto s = static_cast<std::size_t>(k);
      const std::int64_t number = deep.run[e] + across.run[s];
      const std::int64_t image = (number - window.first_run) * pack.layout.run_pitch;
      column[k] = static_cast<std::int32_t>(image) +
                  pack.stage.progress[static_cast<std::size_t>(number)].fill + deep.stage[e] +
                  across.stage[s];
    }
  }
}

// Writes the whole lines of the window's runs. What is left of a line is kept for the next box, or
// written if that box is elsewhere.
template <bool non_temporal>
void write_runs(const Pack& pack, const PackBox& box, const Window& window, std::byte* dst,
                bool continued) {
  for_runs(pack, box, window,
           [&](const PackRun& run, Progress& progress, std::uint8_t* image, std::uint8_t* carry) {
             std::byte* first_line = dst + box.dst + run.dst - progress.fill;
             const auto* staged = reinterpret_cast<const std::byte*>(image);
             const std::int64_t end = progress.fill + box.run_bytes;
             const std::int64_t whole = end / line * line;
             const auto write_bytes = [&](std::int64_t from, std::int64_t to) {
               std::memcpy(first_line + from, staged + from, static_cast<std::size_t>(to - from));
             };
             std::int64_t from = 0;
             if (progress.begin > 0 && whole > 0) {
               write_bytes(progress.begin, line);
               progress.begin = 0;
               from = line;
             }
             if (from < whole) {
               store_lines<non_temporal>(first_line + from, staged + from, (whole - from) / line);
             }
             if (continued) {
               copy_line(carry, image + whole);
               progress.fill = static_cast<std::int32_t>(end - whole);
             } else if (end > whole) {
               write_bytes(std::max<std::int64_t>(whole, progress.begin), end);
             }
           });
}

// A matrix to read: its rows start at src + row[d], and `room` bytes of each may be read.
struct Rows {
  const std::uint8_t* src;
  const std::int64_t* row;
  std::int64_t room;
  const std::uint8_t* ahead;  // a line of each row is fetched from here, if not null
};

// Rows [first_row, down) of columns [first_column, across), one element after the other.
template <int width>
HWY_INLINE void pack_elements(PackStage& stage, const Rows& from, const std::int32_t* column,
                              std::int64_t first_column, std::int64_t across,
                              std::int64_t first_row, std::int64_t down) {
  // By value: stores of bytes could change anything that is referred to.
  std::uint8_t* const images = stage.images.data();
  const std::uint8_t* const src = from.src;
  const std::int64_t* const row = from.row;
  for (std::int64_t s = first_column; s < across; ++s) {
    std::uint8_t* const to = images + column[s];
    const std::uint8_t* const at = src + s * width;
    for (std::int64_t d = first_row; d < down; ++d) {
      std::memcpy(to + d * width, at + row[d], width);
    }
  }
}

// Fetches rows [first, last) of `down`, the first of which is at `ahead`: a line of each, or all of
// them where they follow each other.
HWY_INLINE void fetch_rows(const PackLayout& layout, const std::uint8_t* ahead, std::int64_t first,
                           std::int64_t last, std::int64_t down) {
  if (ahead == nullptr) return;
  if (layout.dense_bytes == 0) {
    for (std::int64_t i = first; i < last; ++i) {
      __builtin_prefetch(ahead + layout.down.src[static_cast<std::size_t>(i)], 0, 2);
    }
    return;
  }
  const std::int64_t end = layout.dense_bytes * last / down;
  for (std::int64_t at = layout.dense_bytes * first / down / line * line; at < end; at += line) {
    __builtin_prefetch(ahead + at, 0, 2);
  }
}

// The matrix of one index deep, in blocks transposed in registers. The last block either way starts
// early; a matrix smaller than a block is filled up with repeated rows and with columns that go
// nowhere. Meanwhile a line of each row is fetched from `ahead`, if that is not null.
template <int width>
HWY_INLINE void pack_blocks(const Pack& pack, const Rows& from, const std::int32_t* column,
                            std::int64_t across, std::int64_t down) {
  constexpr std::int64_t rows = unit_rows<width>(), columns = unit_columns<width>();
  std::uint8_t* const images = pack.stage.images.data();
  const std::uint8_t* const src = from.src;
  const std::int64_t* const row = from.row;
  const bool whole = down >= rows && across >= columns;
  const std::int64_t block_rows = whole ? pack_limits::in_blocks(down, rows) : down;
  const std::int64_t block_columns = whole ? pack_limits::in_blocks(across, columns) : across;
  for (std::int64_t d = 0; d < block_rows; d += rows) {
    const std::int64_t first_row = std::max<std::int64_t>(std::min(d, block_rows - rows), 0);
    const std::int64_t last_row = std::min(block_rows - first_row, rows) - 1;
    fetch_rows(pack.layout, from.ahead, d, d + rows < block_rows ? d + rows : down, down);
    // By value: stores of bytes could change anything that is referred to.
    const std::int64_t* const first = row + first_row;
    for (std::int64_t s = 0; s < block_columns; s += columns) {
      const std::int64_t first_column =
          std::max<std::int64_t>(std::min(s, block_columns - columns), 0);
      const std::uint8_t* const from_column = src + first_column * width;
      std::uint8_t* const to_row = images + first_row * width;
      const std::int32_t* const to_column = column + first_column;
      if (last_row == rows - 1 && across >= columns) {
        transpose_unit<width>([=](int i) { return from_column + first[i]; },
                              [=](int k) { return to_row + to_column[k]; });
      } else {
        std::uint8_t* const nowhere = pack.stage.nowhere.data();
        transpose_unit<width>(
            [=](int i) { return from_column + first[std::min<std::int64_t>(i, last_row)]; },
            [=](int k) { return k < across ? to_row + to_column[k] : nowhere; });
      }
    }
  }
  pack_elements<width>(pack.stage, from, column, block_columns, across, 0, block_rows);
  pack_elements<width>(pack.stage, from, column, 0, across, block_rows, down);
}

// Reads one matrix, the columns of a window, into the stage.
template <int width>
void load_matrix(const Pack& pack, const Rows& from, const std::int32_t* column,
                 std::int64_t across, std::int64_t down) {
  constexpr std::int64_t rows = unit_rows<width>(), columns = unit_columns<width>();
  const bool blocks = across * 2 > columns && down * 2 > rows &&
                      (down >= rows || pack.layout.ascending) &&
                      from.room >= std::max<std::int64_t>(across * width, 16);
  if (!blocks) {
    pack_elements<width>(pack.stage, from, column, 0, across, 0, down);
    return;
  }
  pack_blocks<width>(pack, from, column, across, down);
}

// Collects the rows of a box that lie far from each other, so that many are on their way at once
// and no line is read twice. False if there is no room for that.
bool collect(const Pack& pack, const std::uint8_t* src, const PackBox& box) {
  const PackLayout& layout = pack.layout;
  const std::int64_t lines = (box.across * pack.normal.dst_type.size() + line - 1) / line;
  const std::int64_t pitch = (lines | 1) * line;
  if (!layout.far || box.deep > 1 || pitch * box.down > std::ssize(pack.stage.rows) ||
      box.src + layout.down_reach + lines * line > layout.src_last) {
    return false;
  }
  for (std::int64_t d = 0; d < box.down; ++d) {
    const auto row = static_cast<std::size_t>(d);
    pack.stage.collected[row] = d * pitch;
    store_lines<false>(reinterpret_cast<std::byte*>(pack.stage.rows.data() + d * pitch),
                       reinterpret_cast<const std::byte*>(src + box.src + layout.down.src[row]),
                       lines);
  }
  return true;
}

// Reads the columns of a window, all repetitions of them, into the stage. Meanwhile what is read
// next is fetched: the same columns of the next box, or, where the box is a single matrix, its next
// window.
template <int width>
void load_window(const Pack& pack, const std::uint8_t* src, const PackBox& box, const PackBox& next,
                 const Window& window, bool collected) {
  const PackLayout& layout = pack.layout;
  const std::int64_t* const deep_src = layout.deep.src.data();
  const std::int64_t in_row = window.first * width;
  for (std::int64_t e = 0; e < box.deep; ++e) {
    const std::int64_t at = box.src + deep_src[e] + in_row;
    const std::int64_t ahead = box.deep > 1 && e < next.deep ? next.src + deep_src[e] + in_row
                               : collected                   ? next.src + in_row
                               : window.last < box.across    ? box.src + window.last * width
                                                             : next.src;
    const std::uint8_t* const fetched = layout.fetch ? src + ahead : nullptr;
    const Rows rows = collected ? Rows{pack.stage.rows.data() + in_row, pack.stage.collected.data(),
                                       INT64_MAX, fetched}
                                : Rows{src + at, layout.down.src.data(),
                                       layout.src_last - at - layout.down_reach, fetched};
    load_matrix<width>(pack, rows,
                       pack.stage.column.data() + e * layout.across.count + window.first,
                       window.last - window.first, box.down);
  }
}

template <int width>
void run_boxes(const Pack& pack, std::byte* dst, const std::byte* src_bytes, std::int64_t first,
               std::int64_t last) {
  const auto* src = reinterpret_cast<const std::uint8_t*>(src_bytes);
  const auto write = plan::past_caches(pack.config.stores) ? write_runs<true> : write_runs<false>;
  PackBox box = box_at(pack.layout, pack.config, pack.normal, first);
  bool continues = false;
  for (std::int64_t number = first; number < last; ++number) {
    const bool more = number + 1 < last;
    const PackBox next = more ? box_at(pack.layout, pack.config, pack.normal, number + 1) : box;
    const bool continued = more && next.dst == box.dst + box.run_bytes &&
                           next.across == box.across && next.deep == box.deep;
    const bool collected = collect(pack, src, box);
    for (std::int64_t s = 0; s < box.across; s += pack.layout.window) {
      const Window window = window_from(pack.layout, box, s);
      place_runs(pack, box, window, dst, continues);
      load_window<width>(pack, src, box, next, window, collected);
      write(pack, box, window, dst, continued);
    }
    continues = continued;
    box = next;
  }
}

void run_pack(const PackConfig& config, const Problem& normal, std::byte* dst, const std::byte* src,
              std::int64_t first, std::int64_t last) {
  const Pack pack{config, normal, pack_layout(config, normal),
                  thread_scratch<PackStage>(Scratch::moving)};
  const auto run_width = [&] {
    switch (normal.dst_type.size()) {
      case 1:
        return run_boxes<1>;
      case 2:
        return run_boxes<2>;
      case 4:
        return run_boxes<4>;
      case 8:
        return run_boxes<8>;
      default:
        return run_boxes<16>;
    }
  }();
  run_width(pack, dst, src, first * config.boxes_a_piece,
            std::min(last * config.boxes_a_piece, pack.layout.boxes));
  if (plan::past_caches(config.stores)) hwy::FlushStream();
}

}  // namespace cornerturn::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cornerturn::cpu {

HWY_EXPORT(run_pack);

namespace {

std::int64_t pieces(const PackConfig& config, const Problem& normal) {
  return ceil_div(pack_layout(config, normal).boxes, config.boxes_a_piece);
}

void run(const plan::PackConfig& config, const Problem& normal, const Buffers& buffers,
         std::int64_t first, std::int64_t last) {
  HWY_DYNAMIC_DISPATCH(run_pack)(config, normal, dst_of(buffers), src_of(buffers), first, last);
}

}  // namespace

extern const Kernel pack_kernel = kernel_in_pieces<plan::PackConfig, pieces, run>;

}  // namespace cornerturn::cpu
#endif
