#include "plan/cpu/shuffle.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "core/divide.hpp"
#include "plan/cpu/box_sizes.hpp"
#include "plan/cpu/cpu_info.hpp"
#include "plan/cpu/stores.hpp"

namespace cornerturn::plan::shuffle {
namespace {

using Part = ShuffleConfig::Part;

// Policies. A window costs little for each byte from so many on, narrower elements less than
// others; so does a piece. A block of fewer bytes than these costs more than its bytes.
constexpr std::int64_t wanted_narrow = 16;
constexpr std::int64_t wanted_wide = 32;
constexpr std::int64_t wanted_piece = 32;
constexpr std::int64_t most_bytes = 64;  // of a mode that is taken whole although less is wanted
constexpr std::int64_t wanted_runs[] = {256, 512};  // bytes of a box that lie side by side
constexpr std::int64_t least_block = 256;
constexpr std::int64_t work_bytes = 128 << 10;  // that one thread takes at a time
constexpr std::int64_t line_bytes = 64;
constexpr std::int64_t widest = 8;  // bytes of an element: larger ones are windows by themselves

// Bytes of a register that the kernel permutes.
std::int64_t vector_of(const CpuInfo& cpu) {
  return cpu.isa == "AVX3_DL" ? 64 : 16;
}

// The parts of a box in the order of their strides on one side, smallest first.
std::array<int, ShuffleConfig::most_parts> order_of(const ShuffleConfig& config,
                                                    const Problem& normal,
                                                    std::int64_t Mode::*stride) {
  std::array<int, ShuffleConfig::most_parts> order{};
  for (int k = 0; k < config.part_count; ++k) order[static_cast<std::size_t>(k)] = k;
  const auto step = [&](int k) {
    return std::abs(normal.modes[config.parts[static_cast<std::size_t>(k)].mode].*stride);
  };
  std::sort(order.begin(), order.begin() + config.part_count,
            [&](int a, int b) { return std::pair(step(a), a) < std::pair(step(b), b); });
  return order;
}

// Chooses what windows span, and then which windows a block has, so that its pieces get long.
class BlockMaker {
 public:
  BlockMaker(ShuffleConfig& config, const Problem& normal)
      : config_(config),
        normal_(normal),
        width_(normal.dst_type.size()),
        wanted_(wanted_window(normal)),
        window_(width_),
        out_(width_),
        piece_(width_) {}

  void make() {
    make_window();
    make_piece();
    fill_block();
  }

 private:
  // What is at most `most` of an extent, in the fewest parts that are alike.
  static std::int64_t even_part(std::int64_t extent, std::int64_t most) {
    return most < 1 ? 0 : ceil_div(extent, ceil_div(extent, most));
  }

  // The bytes of a window, where what both sides share, an element or a row of them, is narrow or
  // wide.
  static std::int64_t wanted_window(const Problem& normal) {
    const Mode& last = normal.modes.back();
    const std::int64_t width = normal.dst_type.size();
    const bool row = last.src_stride == width && last.dst_stride == width;
    const std::int64_t atom = width * (row ? last.extent : 1);
    return atom > 2 && atom <= 8 ? wanted_wide : wanted_narrow;
  }

  Part& part(int k) { return config_.parts[static_cast<std::size_t>(k)]; }
  const Mode& mode(const Part& part) const { return normal_.modes[part.mode]; }

  // Along the source, over gaps that are no longer than what there is.
  void make_window() {
    const auto order = order_of(config_, normal_, &Mode::src_stride);
    for (int i = 0; i < config_.part_count && window_ < wanted_; ++i) {
      follows_ = order[static_cast<std::size_t>(i)];
      Part& next = part(follows_);
      const std::int64_t stride = std::abs(mode(next).src_stride);
      if (stride > 2 * window_) return;
      std::int64_t taken = next.extent;
      if (window_ + (taken - 1) * stride > most_bytes) taken = (wanted_ - window_) / stride + 1;
      taken = std::min(taken, most_bytes / out_);
      taken = even_part(next.extent, taken);
      if (taken < 2) return;
      next.window = static_cast<std::int16_t>(taken);
      window_ += (taken - 1) * stride;
      out_ *= taken;
      if (taken < next.extent) return;
    }
  }

  // Along the destination: modes that no window spans bring more windows, and one that windows cut
  // makes them longer.
  void make_piece() {
    const auto order = order_of(config_, normal_, &Mode::dst_stride);
    for (int i = 0; i < config_.part_count && piece_ < wanted_piece; ++i) {
      const int k = order[static_cast<std::size_t>(i)];
      Part& next = part(k);
      if (mode(next).dst_stride != piece_) return;
      const bool widened = next.window < next.extent && k == follows_ && widen(next);
      if (!widened && next.window == 0) {
        const std::int64_t taken =
            piece_ * next.extent > most_bytes ? wanted_ / piece_ : next.extent;
        if (!take(next, taken)) return;
      }
      piece_ *= next.in_block();
      if (next.in_block() < next.extent) return;
    }
  }

  // Windows span more of the mode that they cut, or that follows them if that gives long pieces.
  bool widen(Part& next) {
    const std::int64_t stride = std::abs(mode(next).src_stride);
    const std::int64_t had = std::max<std::int64_t>(next.window, 1);
    const std::int64_t span = std::min(longest_window_bytes, most_block_bytes / windows_);
    std::int64_t room = most_block_bytes / (out_ / had);
    if (stride > 0) room = std::min(room, had + (span - window_) / stride);
    const std::int64_t wanted = ceil_div(wanted_piece, piece_);
    const bool whole = wanted + wanted / 2 >= next.extent;  // no small rest
    const std::int64_t taken =
        even_part(next.extent, std::min(whole ? std::int64_t{next.extent} : wanted, room));
    if (taken <= had || stride > 2 * window_ ||
        (next.window == 0 && taken < next.extent && taken * piece_ < wanted_piece / 2)) {
      return false;
    }
    window_ += (taken - had) * stride;
    out_ = out_ / had * taken;
    next.window = static_cast<std::int16_t>(taken);
    return true;
  }

  void fill_block() {
    const auto order = order_of(config_, normal_, &Mode::dst_stride);
    for (int i = 0; i < config_.part_count && bytes() < least_block; ++i) {
      Part& next = part(order[static_cast<std::size_t>(i)]);
      if (next.window > 0 || next.block > 0) continue;
      take(next, ceil_div(least_block, bytes()));
    }
  }

  // What a block has on the side where it has more.
  std::int64_t bytes() const { return std::max(out_, window_ * windows_); }

  bool take(Part& next, std::int64_t wanted) {
    const std::int64_t room = most_block_bytes / bytes();
    const std::int64_t taken = even_part(next.extent, std::min(wanted, room));
    if (taken < 2) return false;
    next.block = static_cast<std::int16_t>(taken);
    out_ *= taken;
    windows_ *= taken;
    return true;
  }

  ShuffleConfig& config_;
  const Problem& normal_;
  const std::int64_t width_;
  const std::int64_t wanted_;
  std::int64_t window_;       // bytes of the source that a window spans
  std::int64_t windows_ = 1;  // of a block
  std::int64_t out_;          // bytes of a block in the destination
  std::int64_t piece_;        // bytes of those that lie side by side
  int follows_ = -1;          // the part that windows cut or that follows them in the source
};

// What a block is made of, and what boxes are made of it.
struct Block {
  double windows = 1, pieces = 1, vectors = 1, steps = 1;
  double of_a_box = 1;  // blocks, some of which overlap
};

Block block_of(const ShuffleConfig& config, const Problem& normal, std::int64_t vector) {
  Block block;
  auto order = order_of(config, normal, &Mode::dst_stride);
  const std::int64_t width = normal.dst_type.size();
  std::int64_t window = width, windows = 1, out = width, piece = width;
  bool open = true;
  int in_piece = 0;  // of the parts that follow each other in the destination
  for (int i = 0; i < config.part_count; ++i) {
    const Part& part = config.parts[static_cast<std::size_t>(order[static_cast<std::size_t>(i)])];
    const Mode& mode = normal.modes[part.mode];
    const std::int64_t taken = part.in_block();
    block.of_a_box *= static_cast<double>(ceil_div(std::int64_t{part.extent}, taken));
    if (part.window > 0) window += (taken - 1) * std::abs(mode.src_stride);
    if (part.block > 0) windows *= taken;
    if (taken == 1) continue;
    out *= taken;
    open = open && mode.dst_stride == piece;
    if (!open) continue;
    piece *= taken;
    in_piece = i + 1;
  }
  // Pieces of the same windows follow each other.
  std::stable_partition(order.begin() + in_piece, order.begin() + config.part_count, [&](int k) {
    return config.parts[static_cast<std::size_t>(k)].block == 0;
  });
  block.windows = static_cast<double>(windows);
  const std::int64_t pieces = out / piece;
  block.pieces = static_cast<double>(pieces);
  block.vectors = static_cast<double>(ceil_div(out, vector));
  // So many of the vectors that hold the windows have a part of a vector's worth of elements.
  std::int64_t seen[most_block_bytes];
  std::int64_t index[ShuffleConfig::most_parts] = {};
  std::int64_t steps = 0;
  const std::int64_t count = std::min(out, vector) / width;
  for (std::int64_t e = 0; e < count; ++e) {
    std::int64_t at = 0, number = 0, weight = 1;
    for (int i = 0; i < config.part_count; ++i) {
      const auto k = static_cast<std::size_t>(order[static_cast<std::size_t>(i)]);
      const Part& part = config.parts[k];
      if (part.window > 0) at += index[k] * std::abs(normal.modes[part.mode].src_stride);
      if (part.block > 0) {
        number += index[k] * weight;
        weight *= part.block;
      }
    }
    const std::int64_t from = (number * window + at) / vector;
    if (std::find(seen, seen + steps, from) == seen + steps) seen[steps++] = from;
    for (int i = 0; i < config.part_count; ++i) {
      const auto k = static_cast<std::size_t>(order[static_cast<std::size_t>(i)]);
      if (++index[k] < config.parts[k].in_block()) break;
      index[k] = 0;
    }
  }
  block.steps = static_cast<double>(steps);
  return block;
}

ShuffleConfig make_config(const Problem& normal, std::int64_t wanted_run) {
  BoxSizes sizes(normal, normal.rank(), normal.dst_type.size(), wanted_run, most_elements,
                 ShuffleConfig::most_parts);
  sizes.choose();
  ShuffleConfig config;
  for (int i = 0; i < normal.rank(); ++i) {
    if (sizes.extent(i) == 1) continue;
    Part& part = config.parts[static_cast<std::size_t>(config.part_count++)];
    part.mode = i;
    part.extent = static_cast<std::int32_t>(sizes.extent(i));
  }
  BlockMaker(config, normal).make();
  config.src_run = sizes.run(&Mode::src_stride);
  config.dst_run = sizes.run(&Mode::dst_stride);
  config.boxes_a_piece = std::max<std::int64_t>(1, work_bytes / sizes.bytes());
  return config;
}

}  // namespace

BoxGrid grid_of(const ShuffleConfig& config, const Problem& normal) {
  return grid_of_parts(config, normal.rank(), normal);
}

const char* Family::why_not(const Problem& normal, const CpuInfo&) {
  if (normal.rank() < 2) return "there is nothing to rearrange";
  if (normal.elements() == 0) return "it is empty";
  if (normal.dst_type.size() > widest) {
    static_assert(widest == 8);
    return "elements have more than 8 bytes";
  }
  return nullptr;
}

void Family::configure(const Problem& normal, const CpuInfo&, const Add<ShuffleConfig>& add) {
  ShuffleConfig before;
  for (const std::int64_t wanted_run : wanted_runs) {
    const ShuffleConfig config = make_config(normal, wanted_run);
    if (wanted_run == wanted_runs[0] || !(config == before)) add(config);
    before = config;
  }
}

// Its blocks or its lines, whichever take longer, a share of the others, and what the ends of runs
// cost. Runs shorter than half a line share lines that are still in the caches.
double Family::cost_ns(const ShuffleConfig& config, const Problem& normal, const CpuInfo& cpu,
                       const Costs& c) {
  const auto bytes = static_cast<double>(normal.bytes());
  const Block block = block_of(config, normal, vector_of(cpu));
  auto box_bytes = static_cast<double>(normal.dst_type.size());
  for (int k = 0; k < config.part_count; ++k) {
    box_bytes *= config.parts[static_cast<std::size_t>(k)].extent;
  }
  const double block_ns = c.block_ns + block.pieces * c.piece_ns +
                          (block.windows + block.vectors * block.steps) * c.window_ns;
  const double work = bytes / box_bytes * block.of_a_box * block_ns;
  double lines = bytes / line_bytes * c.cached_line_ns;
  if (!fits_l2(normal, cpu)) {
    const auto src_run = static_cast<double>(std::max(config.src_run, line_bytes / 2));
    const auto dst_run = static_cast<double>(config.dst_run);
    lines = bytes / line_bytes * c.line_ns +
            bytes * (first_reads(normal) / src_run + 1 / dst_run) * c.end_ns;
  }
  return c.start_ns + std::max(work, lines) + std::min(work, lines) * c.overlap;
}

std::string Family::describe(const ShuffleConfig& config, const Problem&) {
  std::string box;
  for (int k = 0; k < config.part_count; ++k) {
    const Part& part = config.parts[static_cast<std::size_t>(k)];
    box += fmt::format("{}{}", box.empty() ? "" : " x ", part.extent);
    if (part.window > 0) box += fmt::format(" ({} a window)", part.window);
    if (part.block > 0) box += fmt::format(" ({} a block)", part.block);
  }
  return "boxes of " + (box.empty() ? "1" : box);
}

}  // namespace cornerturn::plan::shuffle
