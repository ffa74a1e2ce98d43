// shuffle: collects the windows of a few blocks side by side, puts each block together in the order
// of the destination, vector by vector from the vectors that hold its windows, and copies its
// pieces to their places. All boxes of a shape share the tables. Meanwhile the lines of the next
// box are fetched.
#include "plan/cpu/shuffle.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>
#include <vector>

#include "core/divide.hpp"
#include "cpu/box_copy.hpp"
#include "cpu/kernel.hpp"
#include "cpu/line_recipe.hpp"
#include "cpu/scratch.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/shuffle.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

#include "cpu/line_steps-inl.hpp"
#include "cpu/short_rows-inl.hpp"

#ifndef CORNERTURN_CPU_SHUFFLE_ONCE
#define CORNERTURN_CPU_SHUFFLE_ONCE
namespace cornerturn::cpu {

using plan::BoxGrid;
using plan::ShuffleConfig;

// So many bytes of blocks are collected before they are put together: what has just been stored in
// short pieces cannot be loaded in long ones at once. Not more: a processor waits for lines to be
// fetched only a few dozen at a time, so few are asked for in each turn and each of its phases.
constexpr std::int64_t collected_bytes = 3 << 10;
constexpr std::int64_t phases = 3;

// A window is copied with so much of the source behind it, where there is as much.
constexpr std::int64_t most_beyond = memory_line;

struct alignas(64) IndexVector {
  std::uint8_t byte[64];
};

// How boxes of one shape are moved.
struct ShuffleTables {
  bool made = false;
  std::int64_t window_bytes;
  std::int64_t piece_bytes;
  std::vector<std::int64_t> window;   // of a block: where it lies in the source
  std::vector<std::int64_t> piece;    // and where in the destination
  std::vector<Places> block;          // of a box
  std::int64_t src_pitch, dst_pitch;  // from block to block, where they are collected

  // The vectors of a block: each from `steps` vectors of its windows, at these bytes.
  std::vector<int> steps;
  std::vector<std::int32_t> from;
  std::vector<IndexVector> index;
};

// What a thread keeps from call to call.
struct ShuffleBook {
  bool empty = true;
  VectorKind vector;
  ShuffleConfig config;
  Problem problem;
  BoxLines src_lines, dst_lines;
  std::int64_t src_highest;  // the last element of the source, from its first
  std::array<ShuffleTables, 1 << BoxGrid::most_uneven> of_shape;
};

constexpr std::size_t stage_bytes =
    collected_bytes + plan::shuffle::most_block_bytes + 2 * memory_line;

struct ShuffleStage {
  alignas(64) std::array<std::byte, stage_bytes> windows;
  alignas(64) std::array<std::byte, stage_bytes> blocks;
};

// A mode of a block.
struct BlockMode {
  Mode mode;            // of so many indices
  std::int64_t window;  // bytes from one of them to the next within a window, or
  std::int64_t number;  // from one window of them to the next
};

// Calls visit(offsets of an index, its number) for all indices of modes, the first fastest.
// offset_of(mode) is what a step along a mode adds.
template <class Modes, class Offset, class Visit>
void for_indices(const Modes& modes, const Offset& offset_of, const Visit& visit) {
  std::array<std::int64_t, ShuffleConfig::most_parts> index{};
  auto at = decltype(offset_of(*modes.begin())){};
  while (true) {
    visit(at);
    std::size_t i = 0;
    for (; i < modes.size(); ++i) {
      const auto step = offset_of(modes[i]);
      at = at + step;
      if (++index[i] < modes[i].mode.extent) break;
      at = at - step * index[i];
      index[i] = 0;
    }
    if (i == modes.size()) return;
  }
}

// Numbers of steps that have a loop of their own: as many as are needed or some more.
constexpr std::size_t steps_with_loops[] = {1, 2, 3, 4, 5, 6, 8, 10, 12, 16};

inline std::size_t ready_steps(std::size_t needed) {
  for (const std::size_t steps : steps_with_loops) {
    if (steps >= needed) return steps;
  }
  return needed;
}

// Which vectors of the windows a vector of the block is put together from. from[b]: where the byte
// lies that the block has at place b. An element may lie in two vectors.
inline void make_vectors(const std::vector<std::int64_t>& from, const VectorKind& kind,
                         ShuffleTables& tables) {
  const auto bytes = static_cast<std::size_t>(kind.bytes);
  tables.steps.clear();
  tables.from.clear();
  tables.index.clear();
  for (std::size_t first = 0; first < from.size(); first += bytes) {
    const std::size_t count = std::min(bytes, from.size() - first);
    const std::size_t begin = tables.from.size();
    for (std::size_t to = 0; to < count; ++to) {
      const auto vector = static_cast<std::int32_t>(from[first + to] / kind.bytes * kind.bytes);
      if (std::find(tables.from.begin() + static_cast<std::ptrdiff_t>(begin), tables.from.end(),
                    vector) == tables.from.end()) {
        tables.from.push_back(vector);
      }
    }
    // Where two are permuted the first step only loads. More steps than are needed change nothing.
    const std::size_t needed =
        std::max<std::size_t>(tables.from.size() - begin, kind.permutes_two ? 2 : 1);
    const std::size_t steps = ready_steps(needed);
    tables.from.resize(begin + steps, tables.from[begin]);
    tables.steps.push_back(static_cast<int>(steps));
    std::array<bool, 64> known{};
    for (std::size_t step = 0; step < steps; ++step) {
      IndexVector& index = tables.index.emplace_back();
      for (std::size_t to = 0; to < bytes; ++to) {
        // Where the byte lies in the vector of this step, and of the first one.
        const auto within = [&](std::size_t which) {
          const std::int64_t at =
              to < count && !known[to] ? from[first + to] - tables.from[begin + which] : -1;
          return at < kind.bytes ? at : -1;
        };
        const std::int64_t here = within(step);
        const std::int64_t loaded = kind.permutes_two && step == 1 ? within(0) : -1;
        if (!kind.permutes_two) {
          index.byte[to] = static_cast<std::uint8_t>(here >= 0 ? here : 0x80);
          known[to] = known[to] || here >= 0;
        } else if (step > 0 && (loaded >= 0 || here >= 0)) {
          index.byte[to] = static_cast<std::uint8_t>(loaded >= 0 ? loaded : kind.bytes + here);
          known[to] = true;
        } else {
          index.byte[to] = static_cast<std::uint8_t>(to);
        }
      }
    }
  }
}

inline Places operator+(const Places& a, const Places& b) {
  return {a.src + b.src, a.dst + b.dst};
}
inline Places operator-(const Places& a, const Places& b) {
  return {a.src - b.src, a.dst - b.dst};
}
inline Places operator*(const Places& a, std::int64_t times) {
  return {a.src * times, a.dst * times};
}

// The blocks of a box: along a mode of which a block takes a part, the last one begins early.
inline void make_blocks(const ShuffleConfig& config, const Problem& normal, const BoxGrid& grid,
                        int shape, std::vector<Places>& blocks) {
  blocks.assign(1, {0, 0});
  std::array<ShuffleConfig::Part, ShuffleConfig::most_parts> parts = config.parts;
  std::sort(parts.begin(), parts.begin() + config.part_count, [&](const auto& a, const auto& b) {
    return std::abs(normal.modes[a.mode].dst_stride) < std::abs(normal.modes[b.mode].dst_stride);
  });
  for (int k = 0; k < config.part_count; ++k) {
    const ShuffleConfig::Part& part = parts[slot(k)];
    const Mode& mode = normal.modes[part.mode];
    const std::int64_t count = grid.count_of(shape, part.mode, mode);
    const std::int64_t taken = std::min(part.in_block(), count);
    const std::size_t filled = blocks.size();
    for (std::int64_t first = taken; first < count; first += taken) {
      const std::int64_t at = std::min(first, count - taken);
      for (std::size_t i = 0; i < filled; ++i) {
        blocks.push_back(blocks[i] + Places{mode.src_stride, mode.dst_stride} * at);
      }
    }
  }
}

inline void make_tables(const ShuffleConfig& config, const Problem& normal, const BoxGrid& grid,
                        int shape, const VectorKind& kind, ShuffleTables& tables) {
  const std::int64_t width = normal.dst_type.size();
  // The modes of a block in the order of the destination; those of a window are numbered 0.
  std::vector<BlockMode> modes, windows;
  std::int64_t low = 0;
  tables.window_bytes = width;
  for (int k = 0; k < config.part_count; ++k) {
    const ShuffleConfig::Part& part = config.parts[slot(k)];
    Mode mode = normal.modes[part.mode];
    mode.extent = std::min(part.in_block(), grid.count_of(shape, part.mode, mode));
    if (mode.extent == 1) continue;
    modes.push_back({mode, part.window > 0 ? mode.src_stride : 0, part.block});
    if (part.window == 0) continue;
    const std::int64_t reach = (mode.extent - 1) * mode.src_stride;
    tables.window_bytes += std::abs(reach);
    low += std::min<std::int64_t>(reach, 0);
  }
  std::sort(modes.begin(), modes.end(), [](const BlockMode& a, const BlockMode& b) {
    return std::abs(a.mode.dst_stride) < std::abs(b.mode.dst_stride);
  });
  std::int64_t count = 1;
  for (BlockMode& mode : modes) {
    if (mode.number == 0) continue;
    mode.number = count * tables.window_bytes;
    count *= mode.mode.extent;
    windows.push_back(mode);
  }
  tables.window.clear();
  for_indices(
      windows, [](const BlockMode& mode) { return mode.mode.src_stride; },
      [&](std::int64_t at) { tables.window.push_back(low + at); });

  tables.piece_bytes = width;
  std::size_t in_piece = 0;
  while (in_piece < modes.size() && modes[in_piece].mode.dst_stride == tables.piece_bytes) {
    tables.piece_bytes *= modes[in_piece++].mode.extent;
  }
  // Pieces of the same windows follow each other: vectors then come from few others.
  std::stable_partition(modes.begin() + static_cast<std::ptrdiff_t>(in_piece), modes.end(),
                        [](const BlockMode& mode) { return mode.number == 0; });
  std::vector<std::int64_t> from;
  for_indices(
      modes, [](const BlockMode& mode) { return mode.window + mode.number; },
      [&](std::int64_t at) {
        for (std::int64_t byte = 0; byte < width; ++byte) from.push_back(at - low + byte);
      });
  modes.erase(modes.begin(), modes.begin() + static_cast<std::ptrdiff_t>(in_piece));
  tables.piece.clear();
  for_indices(
      modes, [](const BlockMode& mode) { return mode.mode.dst_stride; },
      [&](std::int64_t at) { tables.piece.push_back(at); });

  make_vectors(from, kind, tables);
  const auto up = [&](std::int64_t bytes) {
    return ceil_div(bytes, std::int64_t{kind.bytes}) * kind.bytes;
  };
  tables.src_pitch = up(count * tables.window_bytes);
  tables.dst_pitch = std::ssize(tables.steps) * kind.bytes;
  make_blocks(config, normal, grid, shape, tables.block);
  tables.made = true;
}

// The last element that is read of a box, or of all of a problem.
inline std::int64_t highest_of(const Problem& normal, std::int64_t first,
                               const BoxGrid::PerMode& count) {
  for (int i = 0; i < normal.rank(); ++i) {
    const std::int64_t stride = normal.modes[i].src_stride;
    first += std::max<std::int64_t>((count[slot(i)] - 1) * stride, 0);
  }
  return first;
}

inline void open_for(const ShuffleConfig& config, const Problem& normal, const BoxGrid& grid,
                     const VectorKind& kind, ShuffleBook& book) {
  if (!book.empty && book.vector == kind && book.config == config && book.problem == normal) return;
  book.empty = true;
  for (ShuffleTables& tables : book.of_shape) tables.made = false;
  book.vector = kind;
  book.config = config;
  book.problem = normal;
  const std::int64_t width = normal.dst_type.size();
  make_lines(config, width, normal, grid, &Mode::src_stride, book.src_lines);
  make_lines(config, width, normal, grid, &Mode::dst_stride, book.dst_lines);
  BoxGrid::PerMode all;
  for (int i = 0; i < normal.rank(); ++i) all[slot(i)] = normal.modes[i].extent;
  book.src_highest = highest_of(normal, 0, all);
  book.empty = false;
}

}  // namespace cornerturn::cpu
#endif  // CORNERTURN_CPU_SHUFFLE_ONCE

HWY_BEFORE_NAMESPACE();
namespace cornerturn::cpu::HWY_NAMESPACE {

// One vector of each of `count` blocks; its indices stay in registers.
template <std::size_t... step>
HWY_INLINE void put_together(const std::byte* windows, std::byte* to, const ShuffleTables& tables,
                             std::int64_t count, const std::int32_t* from, const IndexVector* index,
                             std::index_sequence<step...>) {
  const Vector indices[] = {load_index(index[step].byte)...};
  const std::byte* const at[] = {windows + from[step]...};
  const std::int64_t src_pitch = tables.src_pitch, dst_pitch = tables.dst_pitch;
  for (std::int64_t n = 0; n < count; ++n) {
    Vector joined;
    ((joined = step == 0 ? first_step(load(at[step] + n * src_pitch), indices[step])
                         : next_step(joined, load(at[step] + n * src_pitch), indices[step])),
     ...);
    store<false>(joined, to + n * dst_pitch);
  }
}

void put_long_together(const std::byte* windows, std::byte* to, const ShuffleTables& tables,
                       std::int64_t count, const std::int32_t* from, const IndexVector* index,
                       int steps) {
  for (std::int64_t n = 0; n < count; ++n) {
    Vector joined = first_step(load(windows + from[0]), load_index(index[0].byte));
    for (int step = 1; step < steps; ++step) {
      joined = next_step(joined, load(windows + from[step]), load_index(index[step].byte));
    }
    store<false>(joined, to);
    windows += tables.src_pitch;
    to += tables.dst_pitch;
  }
}

void put_blocks_together(const ShuffleTables& tables, ShuffleStage& stage, std::int64_t count) {
  const std::int32_t* from = tables.from.data();
  const IndexVector* index = tables.index.data();
  std::byte* to = stage.blocks.data();
  const std::byte* windows = stage.windows.data();
  for (const int steps : tables.steps) {
    const bool ready = [&]<std::size_t... n>(std::index_sequence<n...>) HWY_ATTR {
      return ((static_cast<std::size_t>(steps) == steps_with_loops[n] &&
               (put_together(windows, to, tables, count, from, index,
                             std::make_index_sequence<steps_with_loops[n]>()),
                true)) ||
              ...);
    }
    (std::make_index_sequence<std::size(steps_with_loops)>());
    if (!ready) put_long_together(windows, to, tables, count, from, index, steps);
    from += steps;
    index += steps;
    to += vector_bytes;
  }
}

// Copies what has at most `most` bytes with what lies behind it.
template <int most>
struct CopyMore {
  HWY_INLINE void operator()(std::byte* to, const std::byte* from) const {
    move_bytes<most>(to, from);
  }
};

struct CopyMoreLines {
  std::int64_t bytes;

  HWY_INLINE void operator()(std::byte* to, const std::byte* from) const {
    for (std::int64_t k = 0; k < bytes; k += memory_line) move_bytes<memory_line>(to + k, from + k);
  }
};

#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
// Copies the first bytes of a vector.
template <int most>
struct CopyFirst {
  const hn::FixedTag<std::uint8_t, most> d{};
  hn::Mask<hn::FixedTag<std::uint8_t, most>> mask;

  explicit CopyFirst(std::int64_t bytes) : mask(hn::FirstN(d, static_cast<std::size_t>(bytes))) {}

  HWY_INLINE void operator()(std::byte* to, const std::byte* from) const {
    hn::BlendedStore(hn::LoadU(d, reinterpret_cast<const std::uint8_t*>(from)), mask, d,
                     reinterpret_cast<std::uint8_t*>(to));
  }
};
#endif

// Calls use(copy) with what copies a window. `more`: up to 63 bytes behind it may be read.
template <class Use>
HWY_INLINE void with_window_copy(std::int64_t bytes, bool more, const Use& use) {
  if (!more) return with_copy(bytes, use);
  if (bytes == 1) return use(CopyMore<1>());
  if (bytes == 2) return use(CopyMore<2>());
  if (bytes <= 4) return use(CopyMore<4>());
  if (bytes <= 8) return use(CopyMore<8>());
  if (bytes <= 16) return use(CopyMore<16>());
  if (bytes <= 32) return use(CopyMore<32>());
  if (bytes <= 64) return use(CopyMore<64>());
  use(CopyMoreLines{bytes});
}

// Calls use(copy) with what copies a piece, whose place in the stage may be read beyond its end.
template <class Use>
HWY_INLINE void with_piece_copy(std::int64_t bytes, const Use& use) {
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
  if (bytes > 16 && bytes <= 32) return use(CopyFirst<32>(bytes));
  if (bytes > 32 && bytes <= 64) return use(CopyFirst<64>(bytes));
#endif
  with_copy(bytes, use);
}

// The windows of `count` blocks of a box, side by side.
void collect(const ShuffleTables& tables, ShuffleStage& stage, const std::byte* src,
             const Places* blocks, std::int64_t count, bool more) {
  with_window_copy(tables.window_bytes, more, [&](const auto& copy) HWY_ATTR {
    const std::int64_t* const window = tables.window.data();
    const std::size_t windows = tables.window.size();
    const std::int64_t bytes = tables.window_bytes;
    for (std::int64_t n = 0; n < count; ++n) {
      const std::byte* const from = src + blocks[n].src;
      std::byte* to = stage.windows.data() + n * tables.src_pitch;
      for (std::size_t w = 0; w < windows; ++w, to += bytes) copy(to, from + window[w]);
    }
  });
}

// The pieces of as many blocks, to their places.
void distribute(const ShuffleTables& tables, const ShuffleStage& stage, std::byte* dst,
                const Places* blocks, std::int64_t count) {
  with_piece_copy(tables.piece_bytes, [&](const auto& copy) HWY_ATTR {
    const std::int64_t* const piece = tables.piece.data();
    const std::size_t pieces = tables.piece.size();
    const std::int64_t bytes = tables.piece_bytes;
    for (std::int64_t n = 0; n < count; ++n) {
      std::byte* const to = dst + blocks[n].dst;
      const std::byte* from = stage.blocks.data() + n * tables.dst_pitch;
      for (std::size_t p = 0; p < pieces; ++p, from += bytes) copy(to + piece[p], from);
    }
  });
}

void run_boxes(const ShuffleConfig& config, const Problem& normal, std::byte* dst,
               const std::byte* src, std::int64_t first_box, std::int64_t last_box) {
  const BoxGrid grid = plan::shuffle::grid_of(config, normal);
  last_box = std::min(last_box, grid.count);
  if (first_box >= last_box) return;
  auto& book = thread_memo<ShuffleBook>();
  open_for(config, normal, grid, vector_kind, book);
  auto& stage = thread_scratch<ShuffleStage>(Scratch::moving);
  BoxGrid::Box box = grid.box(normal, first_box);
  for (std::int64_t b = first_box; b < last_box; ++b) {
    ShuffleTables& tables = book.of_shape[slot(box.shape)];
    if (!tables.made) make_tables(config, normal, grid, box.shape, vector_kind, tables);
    const BoxGrid::Box next = b + 1 < last_box ? grid.box(normal, b + 1) : box;
    const std::int64_t blocks = std::ssize(tables.block);
    const std::int64_t a_turn =
        std::max<std::int64_t>(1, collected_bytes / std::max(tables.src_pitch, tables.dst_pitch));
    const std::int64_t turns = ceil_div(blocks, a_turn);
    BoxFetcher next_src(book.src_lines, src + next.src_offset, phases * turns);
    BoxFetcher next_dst(book.dst_lines, dst + next.dst_offset, phases * turns);
    const auto fetch = [&] {
      next_src.to_read();
      next_dst.to_write();
    };
    const bool more =
        highest_of(normal, box.src_offset, box.count) + most_beyond <= book.src_highest;
    for (std::int64_t first = 0; first < blocks; first += a_turn) {
      const std::int64_t count = std::min(a_turn, blocks - first);
      const Places* const places = tables.block.data() + first;
      fetch();
      collect(tables, stage, src + box.src_offset, places, count, more);
      fetch();
      put_blocks_together(tables, stage, count);
      fetch();
      distribute(tables, stage, dst + box.dst_offset, places, count);
    }
    box = next;
  }
}

}  // namespace cornerturn::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cornerturn::cpu {

HWY_EXPORT(run_boxes);

namespace {

std::int64_t pieces(const ShuffleConfig& config, const Problem& normal) {
  return ceil_div(plan::shuffle::grid_of(config, normal).count, config.boxes_a_piece);
}

void run(const ShuffleConfig& config, const Problem& normal, const Buffers& buffers,
         std::int64_t first, std::int64_t last) {
  HWY_DYNAMIC_DISPATCH(run_boxes)
  (config, normal, dst_of(buffers), src_of(buffers), first * config.boxes_a_piece,
   last * config.boxes_a_piece);
}

}  // namespace

extern const Kernel shuffle_kernel = kernel_in_pieces<plan::ShuffleConfig, pieces, run>;

}  // namespace cornerturn::cpu
#endif
