// boxes: copies the atoms of a box one by one, from and to places that two tables tell: one of the
// atoms of a run of the destination, one of the runs. All boxes of a shape share the tables. While
// a box is copied, the lines of the next one are fetched.
#include "plan/cpu/boxes.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "core/divide.hpp"
#include "cpu/box_copy.hpp"
#include "cpu/kernel.hpp"
#include "cpu/scratch.hpp"

namespace cornerturn::cpu {
namespace {

using plan::BoxesConfig;
using plan::BoxGrid;

constexpr int most_in_run = 1024;  // atoms, unless a single mode has more
constexpr int most_atoms = plan::boxes::most_atoms;

// So much is moved between two times that lines are fetched: a processor waits for a few dozen
// lines at a time.
constexpr std::int64_t turn_bytes = 1 << 10;
constexpr std::int64_t least_atoms_a_turn = 4;

// Where the atoms of boxes of one shape lie, from where the box begins.
struct Tables {
  int shape;
  int in_run;  // atoms of a run
  int runs;
  int stretch;            // atoms that follow each other in the destination, of one or more runs
  bool packed;            // all of a run do
  std::int64_t src_step;  // and in the source they lie so far apart; 0: as the table says
  Places atom[most_atoms];
  Places run[most_atoms];
};

struct Memory {
  Tables tables;
  BoxLines src_lines, dst_lines;
};

// Appends the places that `count` indices of a mode make of those that are there.
int spread(Places* places, int filled, std::int64_t count, const Mode& mode) {
  int next = filled;
  for (std::int64_t k = 1; k < count; ++k) {
    for (int i = 0; i < filled; ++i) {
      places[next++] = {places[i].src + k * mode.src_stride, places[i].dst + k * mode.dst_stride};
    }
  }
  return next;
}

void make_tables(const BoxesConfig& config, const Problem& normal, const BoxGrid& grid, int shape,
                 Tables& tables) {
  const BoxModes<BoxesConfig> box(config, normal, grid, shape, &Mode::dst_stride);
  tables.shape = shape;
  tables.atom[0] = tables.run[0] = {0, 0};
  tables.in_run = tables.runs = tables.stretch = 1;
  tables.packed = true;
  tables.src_step = 0;
  int modes_in_run = 0;
  bool open = true;
  bool follows = true;
  for (int i = 0; i < box.rank; ++i) {
    const Mode& mode = box.modes[slot(i)];
    open = open && (i == 0 || tables.in_run * mode.extent <= most_in_run);
    follows = follows && mode.dst_stride == tables.stretch * config.atom_bytes;
    if (follows) tables.stretch *= static_cast<int>(mode.extent);
    if (open) {
      tables.packed = follows;
      tables.in_run = spread(tables.atom, tables.in_run, mode.extent, mode);
      if (++modes_in_run == 1) tables.src_step = mode.src_stride;
    } else {
      tables.runs = spread(tables.run, tables.runs, mode.extent, mode);
    }
  }
  if (modes_in_run != 1) tables.src_step = 0;
}

// Four atoms of a byte or two, put together in a register.
template <int width, class PlaceOf>
inline void copy_four(std::byte* dst, const PlaceOf& src_of) {
  using Element = std::conditional_t<width == 1, std::uint8_t, std::uint16_t>;
  using Word = std::conditional_t<width == 1, std::uint32_t, std::uint64_t>;
  constexpr bool little = std::endian::native == std::endian::little;
  const auto placed = [&](int k) {
    Element element;
    std::memcpy(&element, src_of(k), width);
    return static_cast<Word>(static_cast<Word>(element) << (8 * width * (little ? k : 3 - k)));
  };
  const Word word = placed(0) | placed(1) | placed(2) | placed(3);
  std::memcpy(dst, &word, sizeof word);
}

// Atoms [first, last) of a run.
template <class Copy>
void copy_atoms(const Tables& tables, std::byte* to, const std::byte* from, int first, int last,
                const Copy& copy) {
  int i = first;
  constexpr int small = std::is_same_v<Copy, CopyAtom<1, true>>   ? 1
                        : std::is_same_v<Copy, CopyAtom<2, true>> ? 2
                                                                  : 0;
  if constexpr (small != 0) {
    if (tables.packed && tables.src_step != 0) {
      const std::int64_t step = tables.src_step;
      for (; i + 4 <= last; i += 4) {
        copy_four<small>(to + i * small, [&](int k) { return from + (i + k) * step; });
      }
    } else if (tables.packed) {
      for (; i + 4 <= last; i += 4) {
        copy_four<small>(to + i * small, [&](int k) { return from + tables.atom[i + k].src; });
      }
    }
  }
  for (; i < last; ++i) copy(to + tables.atom[i].dst, from + tables.atom[i].src);
}

template <class Copy>
void copy_box(const Tables& tables, std::byte* dst, const std::byte* src, const Copy& copy,
              int atoms_a_turn, BoxFetcher& next_src, BoxFetcher& next_dst) {
  for (int r = 0; r < tables.runs; ++r) {
    for (int i = 0; i < tables.in_run; i += atoms_a_turn) {
      next_src.to_read();
      next_dst.to_write();
      copy_atoms(tables, dst + tables.run[r].dst, src + tables.run[r].src, i,
                 std::min(i + atoms_a_turn, tables.in_run), copy);
    }
  }
}

// A box that reads the same as the one before is copied from where that one was written.
void copy_again(const Tables& tables, std::int64_t atom_bytes, std::byte* dst,
                const std::byte* before, std::int64_t turns, BoxFetcher& next_src,
                BoxFetcher& next_dst) {
  const auto bytes = static_cast<std::size_t>(tables.stretch * atom_bytes);
  const std::int64_t stretches = std::int64_t{tables.runs} * tables.in_run / tables.stretch;
  const std::int64_t turns_a_stretch = ceil_div(turns, stretches);
  for (int r = 0; r < tables.runs; r += std::max(1, tables.stretch / tables.in_run)) {
    for (int i = 0; i < tables.in_run; i += tables.stretch) {
      for (std::int64_t turn = 0; turn < turns_a_stretch; ++turn) {
        next_src.to_read();
        next_dst.to_write();
      }
      const std::int64_t at = tables.run[r].dst + tables.atom[i].dst;
      std::memcpy(dst + at, before + at, bytes);
    }
  }
}

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
  make_lines(config, config.atom_bytes, normal, grid, &Mode::src_stride, memory.src_lines);
  make_lines(config, config.atom_bytes, normal, grid, &Mode::dst_stride, memory.dst_lines);
  memory.tables.shape = -1;
  const auto atoms_a_turn =
      static_cast<int>(std::max<std::int64_t>(least_atoms_a_turn, turn_bytes / config.atom_bytes));
  BoxGrid::Box box = grid.box(normal, first_box);
  const bool copies = plan::boxes::boxes_alike(config, normal) > 1;
  std::int64_t src_before = 0, dst_before = 0;  // of the box before
  with_copy(config.atom_bytes, [&](const auto& copy) {
    for (std::int64_t b = first_box; b < last_box; ++b) {
      bool again = copies && b > first_box && box.src_offset == src_before;
      if (memory.tables.shape != box.shape) {
        make_tables(config, normal, grid, box.shape, memory.tables);
        again = false;
      }
      again = again && memory.tables.stretch * config.atom_bytes >= plan::boxes::least_copied &&
              memory.tables.stretch >= plan::boxes::least_atoms_copied;
      const BoxGrid::Box next = b + 1 < last_box ? grid.box(normal, b + 1) : box;
      const std::int64_t turns = memory.tables.runs * ceil_div(memory.tables.in_run, atoms_a_turn);
      BoxFetcher next_src(memory.src_lines, src_of(buffers) + next.src_offset, turns,
                          next.src_offset == box.src_offset);
      BoxFetcher next_dst(memory.dst_lines, dst_of(buffers) + next.dst_offset, turns);
      std::byte* const dst = dst_of(buffers) + box.dst_offset;
      if (again) {
        copy_again(memory.tables, config.atom_bytes, dst, dst_of(buffers) + dst_before, turns,
                   next_src, next_dst);
      } else {
        copy_box(memory.tables, dst, src_of(buffers) + box.src_offset, copy, atoms_a_turn, next_src,
                 next_dst);
      }
      src_before = box.src_offset;
      dst_before = box.dst_offset;
      box = next;
    }
  });
}

}  // namespace

extern const Kernel boxes_kernel = kernel_in_pieces<plan::BoxesConfig, pieces, run>;

}  // namespace cornerturn::cpu
