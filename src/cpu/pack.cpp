// pack: for each box, its rows are read and transposed into a stage that is an image of the
// destination, line by line; whole lines of it are then written. Boxes that follow each other in
// the destination hand on the line that they share.
#include <hwy/cache_control.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>

#include "cpu/kernel.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/pack.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

#include "cpu/stream-inl.hpp"
#include "cpu/transpose_block.hpp"

#ifndef CORNERTURN_CPU_PACK_ONCE
#define CORNERTURN_CPU_PACK_ONCE
namespace cornerturn::cpu {

using plan::BoxRole;
using plan::PackConfig;
namespace pack_limits = plan::pack;

// One of the three sides of a box: where its elements lie, counted from the first.
struct BoxSide {
  std::int64_t count;  // of a whole box
  std::int64_t
      last_unit;  // elements for one index of the last mode, of which the box may take part
  std::array<std::int64_t, pack_limits::max_side> src, dst;
  std::array<std::int32_t, pack_limits::max_side> stage;  // in the stage, within their run
  std::array<std::int32_t, pack_limits::max_side> run;    // which run of the destination
};

// A run is a contiguous stretch of the destination that a box fills. Its bytes are staged as they
// will lie in their lines: from `fill` on, and from `begin` on those that are known.
struct Run {
  std::int64_t dst;           // of its first byte, counted from the box's first
  std::int32_t deep, across;  // the column that it starts with
  std::int32_t begin, fill;
};

struct PackScratch {
  BoxSide across, down, deep;
  ModeList steps;  // from box to box, fastest last
  std::array<int, ModeList::capacity> step_mode;
  std::int64_t boxes;
  std::uint32_t in_run;  // bit k: part k of the configuration lies within a run
  std::int64_t run_bytes;
  // A box is done in windows of so many columns, each with all its repetitions.
  std::int64_t window, runs_a_column;
  std::int64_t run_pitch;    // in the stage
  std::int64_t src_last;     // the source's bytes end before this, counted from its first element
  std::int64_t down_reach;   // the largest offset of a row
  std::int64_t dense_bytes;  // of the rows of a box that follow each other, else 0
  bool far;                  // rows of a box lie far from each other
  bool fetch;                // but not so that they compete for the same sets of a cache
  bool ascending;            // columns lie in the stage in the order in which they are made
  std::int64_t runs;
  std::array<Run, pack_limits::max_columns> run;
  std::array<std::int32_t, pack_limits::max_columns> column;  // in the stage, for this box
  alignas(64) std::array<std::array<std::uint8_t, 64>, pack_limits::max_columns> carry;
  alignas(64) std::array<std::uint8_t, 368 << 10> stage;
  alignas(64) std::array<std::uint8_t, 192 << 10> rows;       // collected ...
  std::array<std::int64_t, pack_limits::max_side> collected;  // ... at these offsets
  std::array<std::uint8_t, 64> nowhere;
};
static_assert(sizeof(PackScratch) <= 1 << 20);

struct Free {
  void operator()(PackScratch* scratch) const { std::free(scratch); }
};

inline PackScratch& thread_scratch() {
  static thread_local std::unique_ptr<PackScratch, Free> scratch;
  if (!scratch) {
    void* memory = std::aligned_alloc(4096, (sizeof(PackScratch) + 4095) / 4096 * 4096);
    if (memory == nullptr) throw std::bad_alloc();
    scratch.reset(new (memory) PackScratch);
  }
  return *scratch;
}

// Adds a mode of `extent` indices to a side.
inline void extend(BoxSide& side, const Mode& mode, std::int64_t extent, bool in_run,
                   std::int64_t run_step) {
  side.last_unit = side.count;
  for (std::int64_t index = 1; index < extent; ++index) {
    for (std::int64_t i = 0; i < side.count; ++i) {
      const auto from = static_cast<std::size_t>(i);
      const auto to = static_cast<std::size_t>(index * side.count + i);
      side.src[to] = side.src[from] + index * mode.src_stride;
      side.dst[to] = side.dst[from] + index * mode.dst_stride;
      side.stage[to] =
          side.stage[from] + static_cast<std::int32_t>(in_run ? index * mode.dst_stride : 0);
      side.run[to] = side.run[from] + static_cast<std::int32_t>(in_run ? 0 : index * run_step);
    }
  }
  side.count *= extent;
}

inline void set_up_box(const PackConfig& config, const Problem& normal, PackScratch& scratch) {
  const std::int64_t width = normal.dst_type.size();
  for (BoxSide* side : {&scratch.across, &scratch.down, &scratch.deep}) {
    side->count = side->last_unit = 1;
    side->src[0] = side->dst[0] = 0;
    side->stage[0] = side->run[0] = 0;
  }
  // Which modes make up a run
  scratch.in_run = 0;
  scratch.run_bytes = width;
  for (int i = normal.rank(); i-- > 0;) {
    for (int k = 0; k < config.part_count; ++k) {
      const PackConfig::Part& part = config.parts[static_cast<std::size_t>(k)];
      if (part.mode != i || normal.modes[i].dst_stride != scratch.run_bytes) continue;
      scratch.in_run |= std::uint32_t{1} << k;
      scratch.run_bytes *= part.extent;
    }
  }
  // Sides; runs are numbered column by column
  std::int64_t extent_of[ModeList::capacity];
  std::fill_n(extent_of, normal.rank(), 1);
  scratch.runs = 1;
  bool across_in_run = false;
  for (const bool deep_turn : {true, false}) {
    for (int k = 0; k < config.part_count; ++k) {
      const PackConfig::Part& part = config.parts[static_cast<std::size_t>(k)];
      if ((part.role == BoxRole::deep) != deep_turn) continue;
      BoxSide& side = part.role == BoxRole::across ? scratch.across
                      : part.role == BoxRole::down ? scratch.down
                                                   : scratch.deep;
      const bool inside = (scratch.in_run >> k & 1) != 0;
      extend(side, normal.modes[part.mode], part.extent, inside, scratch.runs);
      if (!inside) scratch.runs *= part.extent;
      if (inside && part.role == BoxRole::across) across_in_run = true;
      extent_of[part.mode] = part.extent;
    }
    if (deep_turn) scratch.runs_a_column = scratch.runs;
  }
  const std::int64_t line_columns = std::max<std::int64_t>(64 / width, 1);
  scratch.window = across_in_run ? scratch.across.count : line_columns;
  // An odd number of lines, so that runs do not compete for the same sets of the cache.
  scratch.run_pitch = ((scratch.run_bytes + 2 * 64 + 63) / 64 | 1) * 64;

  // Runs
  scratch.ascending = true;
  std::array<std::int32_t, pack_limits::max_columns> highest;  // column of each run so far
  std::fill_n(highest.begin(), scratch.runs, -1);
  for (std::size_t e = 0; e < static_cast<std::size_t>(scratch.deep.count); ++e) {
    for (std::size_t s = 0; s < static_cast<std::size_t>(scratch.across.count); ++s) {
      const auto number = static_cast<std::size_t>(scratch.deep.run[e] + scratch.across.run[s]);
      const std::int32_t stage = scratch.deep.stage[e] + scratch.across.stage[s];
      if (stage < highest[number]) scratch.ascending = false;
      highest[number] = stage;
      if (stage != 0) continue;
      scratch.run[number] = {scratch.deep.dst[e] + scratch.across.dst[s],
                             static_cast<std::int32_t>(e), static_cast<std::int32_t>(s), 0, 0};
    }
  }
  // Steps
  scratch.steps.clear();
  scratch.boxes = 1;
  for (int i = 0; i < normal.rank(); ++i) {
    const Mode& mode = normal.modes[i];
    const std::int64_t part = extent_of[i];
    const std::int64_t count = (mode.extent + part - 1) / part;
    scratch.boxes *= count;
    if (count == 1) continue;
    scratch.step_mode[static_cast<std::size_t>(scratch.steps.size())] = i;
    scratch.steps.push_back({count, mode.src_stride * part, mode.dst_stride * part});
  }
  scratch.src_last = width;
  for (const Mode& mode : normal.modes) {
    scratch.src_last += std::max<std::int64_t>((mode.extent - 1) * mode.src_stride, 0);
  }
  const auto rows = scratch.down.src.begin();
  scratch.down_reach = *std::max_element(rows, rows + scratch.down.count);
  const std::int64_t spread = pack_limits::row_spread(config, normal);
  scratch.far = spread > 16 << 10;
  const std::int64_t row_bytes = scratch.across.count * width;
  const bool dense = scratch.down_reach == spread && scratch.down.count > 1 &&
                     spread <= scratch.down.count * (row_bytes + 16);
  scratch.dense_bytes = dense ? spread + row_bytes : 0;
  std::int64_t aligned = 1;
  for (int k = 0; k < config.part_count; ++k) {
    const PackConfig::Part& part = config.parts[static_cast<std::size_t>(k)];
    if (part.role == BoxRole::down && normal.modes[part.mode].src_stride % (64 << 10) == 0) {
      aligned *= part.extent;
    }
  }
  scratch.fetch = aligned < 8;
}

}  // namespace cornerturn::cpu
#endif  // CORNERTURN_CPU_PACK_ONCE

HWY_BEFORE_NAMESPACE();
namespace cornerturn::cpu::HWY_NAMESPACE {

inline void copy_line(std::uint8_t* to, const std::uint8_t* from) {
  std::memcpy(to, from, 64);
}

// Where one box is, and how much of it there is.
struct Box {
  std::int64_t src, dst;
  std::int64_t across, down, deep;
  std::int64_t run_bytes;
};

Box box_at(const PackScratch& scratch, const Problem& normal, const PackConfig& config,
           std::int64_t number) {
  Box box{0, 0, scratch.across.count, scratch.down.count, scratch.deep.count, scratch.run_bytes};
  for (int i = scratch.steps.size(); i-- > 0;) {
    const Mode& step = scratch.steps[i];
    const std::int64_t index = number % step.extent;
    number /= step.extent;
    box.src += index * step.src_stride;
    box.dst += index * step.dst_stride;
    if (index + 1 < step.extent) continue;
    // The last step may find less than a whole part.
    const int mode = scratch.step_mode[static_cast<std::size_t>(i)];
    for (int k = 0; k < config.part_count; ++k) {
      const PackConfig::Part& part = config.parts[static_cast<std::size_t>(k)];
      if (part.mode != mode) continue;
      const std::int64_t left = normal.modes[mode].extent - index * part.extent;
      if (part.role == BoxRole::across) box.across = scratch.across.last_unit * left;
      if (part.role == BoxRole::down) box.down = scratch.down.last_unit * left;
      if (part.role == BoxRole::deep) box.deep = scratch.deep.last_unit * left;
      if ((scratch.in_run >> k & 1) != 0) box.run_bytes = box.run_bytes / part.extent * left;
    }
  }
  return box;
}

// Columns [first, last) of a box, and their runs.
struct Window {
  std::int64_t first, last;
  std::int64_t first_run, last_run;
};

// Calls visit(run, its place in the stage) for the runs of a window, leaving out those that only a
// larger box has.
template <class Visit>
HWY_INLINE void for_runs(PackScratch& scratch, const Box& box, const Window& window, Visit visit) {
  for (std::int64_t r = window.first_run; r < window.last_run; ++r) {
    Run& run = scratch.run[static_cast<std::size_t>(r)];
    if (run.deep >= box.deep || run.across >= box.across) continue;
    visit(run, scratch.stage.data() + (r - window.first_run) * scratch.run_pitch,
          scratch.carry[static_cast<std::size_t>(r)].data());
  }
}

// Places the window's runs in the stage: each continues the line it shares with the box before, or
// starts at its own place in its line.
void place_runs(PackScratch& scratch, const Box& box, const Window& window, const std::byte* dst,
                bool continues) {
  for_runs(scratch, box, window, [&](Run& run, std::uint8_t* stage, const std::uint8_t* carry) {
    if (continues) {
      copy_line(stage, carry);
    } else {
      run.begin = run.fill = static_cast<std::int32_t>(line_phase(dst + box.dst + run.dst));
    }
  });
  for (std::int64_t e = 0; e < box.deep; ++e) {
    const auto deep = static_cast<std::size_t>(e);
    std::int32_t* column = scratch.column.data() + e * scratch.across.count;
    for (std::int64_t s = window.first; s < window.last; ++s) {
      const auto across = static_cast<std::size_t>(s);
      const std::int64_t number = scratch.deep.run[deep] + scratch.across.run[across];
      column[s] = static_cast<std::int32_t>((number - window.first_run) * scratch.run_pitch) +
                  scratch.run[static_cast<std::size_t>(number)].fill + scratch.deep.stage[deep] +
                  scratch.across.stage[across];
    }
  }
}

// Writes the whole lines of the window's runs. What is left of a line is kept for the next box, or
// written if that box is elsewhere.
template <bool non_temporal>
void write_runs(PackScratch& scratch, const Box& box, const Window& window, std::byte* dst,
                bool continued) {
  for_runs(scratch, box, window, [&](Run& run, std::uint8_t* stage, std::uint8_t* carry) {
    std::byte* first_line = dst + box.dst + run.dst - run.fill;
    const auto* staged = reinterpret_cast<const std::byte*>(stage);
    const std::int64_t end = run.fill + box.run_bytes;
    const std::int64_t whole = end / line * line;
    const auto write_bytes = [&](std::int64_t from, std::int64_t to) {
      std::memcpy(first_line + from, staged + from, static_cast<std::size_t>(to - from));
    };
    std::int64_t from = 0;
    if (run.begin > 0 && whole > 0) {
      write_bytes(run.begin, line);
      run.begin = 0;
      from = line;
    }
    if (from < whole) {
      store_lines<non_temporal>(first_line + from, staged + from, (whole - from) / line);
    }
    if (continued) {
      copy_line(carry, stage + whole);
      run.fill = static_cast<std::int32_t>(end - whole);
    } else if (end > whole) {
      write_bytes(std::max<std::int64_t>(whole, run.begin), end);
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
HWY_INLINE void pack_elements(PackScratch& scratch, const Rows& from, const std::int32_t* column,
                              std::int64_t first_column, std::int64_t across,
                              std::int64_t first_row, std::int64_t down) {
  // By value: stores of bytes could change anything that is referred to.
  std::uint8_t* const stage = scratch.stage.data();
  const std::uint8_t* const src = from.src;
  const std::int64_t* const row = from.row;
  for (std::int64_t s = first_column; s < across; ++s) {
    std::uint8_t* const to = stage + column[s];
    const std::uint8_t* const at = src + s * width;
    for (std::int64_t d = first_row; d < down; ++d) {
      std::memcpy(to + d * width, at + row[d], width);
    }
  }
}

// Fetches rows [first, last) of `down`, the first of which is at `ahead`: a line of each, or all of
// them where they follow each other.
HWY_INLINE void fetch_rows(const PackScratch& scratch, const std::uint8_t* ahead,
                           std::int64_t first, std::int64_t last, std::int64_t down) {
  if (ahead == nullptr) return;
  if (scratch.dense_bytes == 0) {
    for (std::int64_t i = first; i < last; ++i) {
      __builtin_prefetch(ahead + scratch.down.src[static_cast<std::size_t>(i)], 0, 2);
    }
    return;
  }
  const std::int64_t end = scratch.dense_bytes * last / down;
  for (std::int64_t at = scratch.dense_bytes * first / down / line * line; at < end; at += line) {
    __builtin_prefetch(ahead + at, 0, 2);
  }
}

// The matrix of one index deep, in blocks transposed in registers. The last block either way starts
// early; a matrix smaller than a block is filled up with repeated rows and with columns that go
// nowhere. Meanwhile a line of each row is fetched from `ahead`, if that is not null.
template <int width>
HWY_INLINE void pack_blocks(PackScratch& scratch, const Rows& from, const std::int32_t* column,
                            std::int64_t across, std::int64_t down) {
  constexpr std::int64_t rows = unit_rows<width>(), columns = unit_columns<width>();
  std::uint8_t* const stage = scratch.stage.data();
  const std::uint8_t* const src = from.src;
  const std::int64_t* const row = from.row;
  const bool whole = down >= rows && across >= columns;
  const std::int64_t block_rows = whole ? pack_limits::in_blocks(down, rows) : down;
  const std::int64_t block_columns = whole ? pack_limits::in_blocks(across, columns) : across;
  for (std::int64_t d = 0; d < block_rows; d += rows) {
    const std::int64_t first_row = std::max<std::int64_t>(std::min(d, block_rows - rows), 0);
    const std::int64_t last_row = std::min(block_rows - first_row, rows) - 1;
    fetch_rows(scratch, from.ahead, d, d + rows < block_rows ? d + rows : down, down);
    // By value: stores of bytes could change anything that is referred to.
    const std::int64_t* const first = row + first_row;
    for (std::int64_t s = 0; s < block_columns; s += columns) {
      const std::int64_t first_column =
          std::max<std::int64_t>(std::min(s, block_columns - columns), 0);
      const std::uint8_t* const from_column = src + first_column * width;
      std::uint8_t* const to_row = stage + first_row * width;
      const std::int32_t* const to_column = column + first_column;
      if (last_row == rows - 1 && across >= columns) {
        transpose_unit<width>([=](int i) { return from_column + first[i]; },
                              [=](int k) { return to_row + to_column[k]; });
      } else {
        std::uint8_t* const nowhere = scratch.nowhere.data();
        transpose_unit<width>(
            [=](int i) { return from_column + first[std::min<std::int64_t>(i, last_row)]; },
            [=](int k) { return k < across ? to_row + to_column[k] : nowhere; });
      }
    }
  }
  pack_elements<width>(scratch, from, column, block_columns, across, 0, block_rows);
  pack_elements<width>(scratch, from, column, 0, across, block_rows, down);
}

// Reads one matrix, the columns of a window, into the stage.
template <int width>
void load_matrix(PackScratch& scratch, const Rows& from, const std::int32_t* column,
                 std::int64_t across, std::int64_t down) {
  constexpr std::int64_t rows = unit_rows<width>(), columns = unit_columns<width>();
  const bool blocks = across * 2 > columns && down * 2 > rows &&
                      (down >= rows || scratch.ascending) &&
                      from.room >= std::max<std::int64_t>(across * width, 16);
  if (!blocks) {
    pack_elements<width>(scratch, from, column, 0, across, 0, down);
    return;
  }
  pack_blocks<width>(scratch, from, column, across, down);
}

// Collects the rows of a box that lie far from each other, so that many are on their way at once
// and no line is read twice. False if there is no room for that.
bool collect(PackScratch& scratch, const std::uint8_t* src, const Box& box, int width) {
  const std::int64_t lines = (box.across * width + line - 1) / line;
  const std::int64_t pitch = (lines | 1) * line;
  if (!scratch.far || box.deep > 1 || pitch * box.down > std::ssize(scratch.rows) ||
      box.src + scratch.down_reach + lines * line > scratch.src_last) {
    return false;
  }
  for (std::int64_t d = 0; d < box.down; ++d) {
    scratch.collected[static_cast<std::size_t>(d)] = d * pitch;
    store_lines<false>(reinterpret_cast<std::byte*>(scratch.rows.data() + d * pitch),
                       reinterpret_cast<const std::byte*>(
                           src + box.src + scratch.down.src[static_cast<std::size_t>(d)]),
                       lines);
  }
  return true;
}

template <int width>
void run_boxes(PackScratch& scratch, const PackConfig& config, const Problem& normal,
               const std::byte* src_bytes, std::byte* dst, std::int64_t first, std::int64_t last) {
  const auto* src = reinterpret_cast<const std::uint8_t*>(src_bytes);
  const auto write = config.non_temporal ? write_runs<true> : write_runs<false>;
  const std::int64_t* deep_src = scratch.deep.src.data();
  Box box = box_at(scratch, normal, config, first);
  bool continues = false;
  for (std::int64_t number = first; number < last; ++number) {
    const bool more = number + 1 < last;
    const Box next = more ? box_at(scratch, normal, config, number + 1) : box;
    const bool continued = more && next.dst == box.dst + box.run_bytes &&
                           next.across == box.across && next.deep == box.deep;
    const bool collected = collect(scratch, src, box, width);
    for (std::int64_t s = 0; s < box.across; s += scratch.window) {
      Window window{s, std::min(s + scratch.window, box.across), 0, scratch.runs};
      if (scratch.window < scratch.across.count) {
        window.first_run = window.first * scratch.runs_a_column;
        window.last_run = window.last * scratch.runs_a_column;
      }
      place_runs(scratch, box, window, dst, continues);
      for (std::int64_t e = 0; e < box.deep; ++e) {
        const std::int64_t in_row = window.first * width;
        const std::int64_t at = box.src + deep_src[e] + in_row;
        const std::int64_t ahead = box.deep > 1 && e < next.deep ? next.src + deep_src[e] + in_row
                                   : collected                   ? next.src + in_row
                                   : window.last < box.across    ? box.src + window.last * width
                                                                 : next.src;
        const Rows rows = collected ? Rows{scratch.rows.data() + in_row, scratch.collected.data(),
                                           INT64_MAX, scratch.fetch ? src + ahead : nullptr}
                                    : Rows{src + at, scratch.down.src.data(),
                                           scratch.src_last - at - scratch.down_reach,
                                           scratch.fetch ? src + ahead : nullptr};
        load_matrix<width>(scratch, rows,
                           scratch.column.data() + e * scratch.across.count + window.first,
                           window.last - window.first, box.down);
      }
      write(scratch, box, window, dst, continued);
    }
    continues = continued;
    box = next;
  }
}

void run_pack(const PackConfig& config, const Problem& normal, const std::byte* src, std::byte* dst,
              std::int64_t first, std::int64_t last) {
  PackScratch& scratch = thread_scratch();
  set_up_box(config, normal, scratch);
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
  run_width(scratch, config, normal, src, dst, first * config.boxes_a_piece,
            std::min(last * config.boxes_a_piece, scratch.boxes));
  if (config.non_temporal) hwy::FlushStream();
}

}  // namespace cornerturn::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cornerturn::cpu {

HWY_EXPORT(run_pack);

std::int64_t pieces(const PackConfig& config, const Problem& normal) {
  std::int64_t boxes = 1;
  for (int i = 0; i < normal.rank(); ++i) {
    std::int64_t extent = 1;
    for (int k = 0; k < config.part_count; ++k) {
      const PackConfig::Part& part = config.parts[static_cast<std::size_t>(k)];
      if (part.mode == i) extent = part.extent;
    }
    boxes *= (normal.modes[i].extent + extent - 1) / extent;
  }
  return (boxes + config.boxes_a_piece - 1) / config.boxes_a_piece;
}

void run(const PackConfig& config, const Problem& normal, const std::byte* src, std::byte* dst,
         std::int64_t first, std::int64_t last) {
  HWY_DYNAMIC_DISPATCH(run_pack)(config, normal, src, dst, first, last);
}

}  // namespace cornerturn::cpu
#endif
