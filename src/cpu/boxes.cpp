// boxes: copies the atoms of a box one by one, from and to places that two tables tell: one of the
// atoms of a run of the destination, one of the runs. All boxes of a shape share the tables. While
// a box is copied, the source lines of the next one are fetched.
#include "plan/boxes.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "cpu/kernel.hpp"
#include "cpu/scratch.hpp"

namespace cornerturn::cpu {
namespace {

using plan::BoxesConfig;
using plan::BoxGrid;

constexpr std::int64_t line = 64;
constexpr int most_in_run = 1024;  // atoms
constexpr int most_runs = plan::boxes::most_atoms;
constexpr int most_lines = 4096;

struct Place {
  std::int64_t src;
  std::int64_t dst;
};

// Where the atoms of boxes of one shape lie, from where the box begins.
struct Tables {
  int shape;
  int in_run;  // atoms of a run
  int runs;
  bool packed;            // the atoms of a run follow each other in the destination
  std::int64_t src_step;  // and in the source they lie so far apart; 0: as the table says
  Place atom[most_in_run];
  Place run[most_runs];
};

// The lines of a whole box's source.
struct Lines {
  int count;
  std::int64_t at[most_lines];
};

struct Memory {
  Tables tables;
  Lines lines;
};

// Appends the places that `count` indices of a mode make of those that are there.
int spread(Place* places, int filled, std::int64_t count, const Mode& mode) {
  int next = filled;
  for (std::int64_t k = 1; k < count; ++k) {
    for (int i = 0; i < filled; ++i) {
      places[next++] = {places[i].src + k * mode.src_stride, places[i].dst + k * mode.dst_stride};
    }
  }
  return next;
}

// Modes of a box of `shape`, with its extents, by the strides of a side: smallest first.
struct BoxModes {
  std::array<Mode, BoxesConfig::most_parts> modes;
  int rank = 0;

  BoxModes(const BoxesConfig& config, const Problem& normal, const BoxGrid& grid, int shape,
           std::int64_t Mode::*stride) {
    for (int k = 0; k < config.part_count; ++k) {
      const int i = config.parts[slot(k)].mode;
      Mode mode = normal.modes[i];
      mode.extent = grid.count_of(shape, i, normal.modes[i]);
      if (mode.extent == 1) continue;
      int place = rank++;
      for (; place > 0 && std::abs(modes[slot(place - 1)].*stride) > std::abs(mode.*stride);
           --place) {
        modes[slot(place)] = modes[slot(place - 1)];
      }
      modes[slot(place)] = mode;
    }
  }
};

void make_tables(const BoxesConfig& config, const Problem& normal, const BoxGrid& grid, int shape,
                 Tables& tables) {
  const BoxModes box(config, normal, grid, shape, &Mode::dst_stride);
  tables.shape = shape;
  tables.atom[0] = tables.run[0] = {0, 0};
  tables.in_run = tables.runs = 1;
  tables.packed = true;
  tables.src_step = 0;
  int modes_in_run = 0;
  bool open = true;
  for (int i = 0; i < box.rank; ++i) {
    const Mode& mode = box.modes[slot(i)];
    open = open && tables.in_run * mode.extent <= most_in_run;
    if (open) {
      tables.packed = tables.packed && mode.dst_stride == tables.in_run * config.atom_bytes;
      tables.in_run = spread(tables.atom, tables.in_run, mode.extent, mode);
      if (++modes_in_run == 1) tables.src_step = mode.src_stride;
    } else {
      tables.runs = spread(tables.run, tables.runs, mode.extent, mode);
    }
  }
  if (modes_in_run != 1) tables.src_step = 0;
}

void make_lines(const BoxesConfig& config, const Problem& normal, const BoxGrid& grid,
                Lines& lines) {
  const BoxModes box(config, normal, grid, 0, &Mode::src_stride);
  std::int64_t low = 0;
  std::int64_t bytes = config.atom_bytes;
  lines.count = 0;
  int i = 0;
  for (; i < box.rank; ++i) {
    const Mode& mode = box.modes[slot(i)];
    if (std::abs(mode.src_stride) > bytes + line) break;
    const std::int64_t more = (mode.extent - 1) * mode.src_stride;
    bytes += std::abs(more);
    low += std::min<std::int64_t>(more, 0);
  }
  const auto put = [&](std::int64_t at) {
    if (lines.count < most_lines) lines.at[lines.count++] = at;
  };
  for (std::int64_t at = 0; at < bytes; at += line) put(low + at);
  put(low + bytes - 1);
  for (; i < box.rank; ++i) {
    const Mode& mode = box.modes[slot(i)];
    const int filled = lines.count;
    for (std::int64_t k = 1; k < mode.extent; ++k) {
      for (int n = 0; n < filled; ++n) put(lines.at[n] + k * mode.src_stride);
    }
  }
}

// Copies atoms of `bytes` bytes: `least` of them at a time, twice, which may overlap, is exact.
template <int least, bool exact>
struct CopyAtom {
  std::int64_t bytes;

  void operator()(std::byte* dst, const std::byte* src) const {
    std::byte first[least];
    std::memcpy(first, src, least);
    if constexpr (exact) {
      std::memcpy(dst, first, least);
    } else {
      std::byte last[least];
      std::memcpy(last, src + bytes - least, least);
      std::memcpy(dst, first, least);
      std::memcpy(dst + bytes - least, last, least);
    }
  }
};

struct CopyLongAtom {
  std::int64_t bytes;

  void operator()(std::byte* dst, const std::byte* src) const {
    for (std::int64_t k = 0; k + line <= bytes; k += line) std::memcpy(dst + k, src + k, line);
    std::memcpy(dst + bytes - line, src + bytes - line, line);
  }
};

// Four atoms of a byte or two, put together in a register.
template <int width, class PlaceOf>
inline void copy_four(std::byte* dst, const PlaceOf& src_of) {
  using Element = std::conditional_t<width == 1, std::uint8_t, std::uint16_t>;
  using Word = std::conditional_t<width == 1, std::uint32_t, std::uint64_t>;
  constexpr bool little = std::endian::native == std::endian::little;
  Word word = 0;
  for (int k = 0; k < 4; ++k) {
    Element element;
    std::memcpy(&element, src_of(k), width);
    word |= static_cast<Word>(static_cast<Word>(element) << (8 * width * (little ? k : 3 - k)));
  }
  std::memcpy(dst, &word, sizeof word);
}

class Fetcher {
 public:
  Fetcher(const Lines& lines, const std::byte* base, int runs)
      : lines_(lines), base_(base), step_((lines.count + runs - 1) / runs) {}

  void some() {
    const int last = std::min(next_ + step_, lines_.count);
    for (; next_ < last; ++next_) __builtin_prefetch(base_ + lines_.at[next_], 0, 2);
  }

 private:
  const Lines& lines_;
  const std::byte* base_;
  int step_;
  int next_ = 0;
};

template <class Copy>
void copy_box(const Tables& tables, std::byte* dst, const std::byte* src, const Copy& copy,
              Fetcher& fetcher) {
  constexpr int small = std::is_same_v<Copy, CopyAtom<1, true>>   ? 1
                        : std::is_same_v<Copy, CopyAtom<2, true>> ? 2
                                                                  : 0;
  for (int r = 0; r < tables.runs; ++r) {
    fetcher.some();
    const std::byte* const from = src + tables.run[r].src;
    std::byte* const to = dst + tables.run[r].dst;
    int i = 0;
    if constexpr (small != 0) {
      if (tables.packed && tables.src_step != 0) {
        const std::int64_t step = tables.src_step;
        for (; i + 4 <= tables.in_run; i += 4) {
          copy_four<small>(to + i * small, [&](int k) { return from + (i + k) * step; });
        }
      } else if (tables.packed) {
        for (; i + 4 <= tables.in_run; i += 4) {
          copy_four<small>(to + i * small, [&](int k) { return from + tables.atom[i + k].src; });
        }
      }
    }
    for (; i < tables.in_run; ++i) copy(to + tables.atom[i].dst, from + tables.atom[i].src);
  }
}

// Calls use(copy) with what copies atoms of this length.
template <class Use>
void with_copy(std::int64_t bytes, const Use& use) {
  switch (bytes) {
    case 1:
      return use(CopyAtom<1, true>{bytes});
    case 2:
      return use(CopyAtom<2, true>{bytes});
    case 4:
      return use(CopyAtom<4, true>{bytes});
    case 8:
      return use(CopyAtom<8, true>{bytes});
    case 16:
      return use(CopyAtom<16, true>{bytes});
    default:
      break;
  }
  if (bytes < 4) return use(CopyAtom<2, false>{bytes});
  if (bytes < 8) return use(CopyAtom<4, false>{bytes});
  if (bytes < 16) return use(CopyAtom<8, false>{bytes});
  if (bytes < 32) return use(CopyAtom<16, false>{bytes});
  if (bytes <= 64) return use(CopyAtom<32, false>{bytes});
  if (bytes <= 128) return use(CopyAtom<64, false>{bytes});
  use(CopyLongAtom{bytes});
}

}  // namespace

std::int64_t pieces(const BoxesConfig& config, const Problem& normal) {
  const std::int64_t boxes = plan::boxes::grid_of(config, normal).count;
  return (boxes + config.boxes_a_piece - 1) / config.boxes_a_piece;
}

void run(const BoxesConfig& config, const Problem& normal, const Buffers& buffers,
         std::int64_t first, std::int64_t last) {
  const BoxGrid grid = plan::boxes::grid_of(config, normal);
  const std::int64_t first_box = first * config.boxes_a_piece;
  const std::int64_t last_box = std::min(last * config.boxes_a_piece, grid.count);
  if (first_box >= last_box) return;
  auto& memory = thread_scratch<Memory>(Scratch::moving);
  make_lines(config, normal, grid, memory.lines);
  memory.tables.shape = -1;
  BoxGrid::Box box = grid.box(normal, first_box);
  with_copy(config.atom_bytes, [&](const auto& copy) {
    for (std::int64_t b = first_box; b < last_box; ++b) {
      if (memory.tables.shape != box.shape) {
        make_tables(config, normal, grid, box.shape, memory.tables);
      }
      const BoxGrid::Box next = b + 1 < last_box ? grid.box(normal, b + 1) : box;
      Fetcher fetcher(memory.lines, src_of(buffers) + next.src_offset, memory.tables.runs);
      copy_box(memory.tables, dst_of(buffers) + box.dst_offset, src_of(buffers) + box.src_offset,
               copy, fetcher);
      box = next;
    }
  });
}

}  // namespace cornerturn::cpu
