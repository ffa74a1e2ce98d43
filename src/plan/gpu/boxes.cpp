#include "plan/gpu/boxes.hpp"

#include <algorithm>
#include <cstdlib>
#include <numeric>

#include "plan/gpu/row_runs.hpp"

namespace cornerturn::plan::gpu::boxes {
namespace {

constexpr std::int64_t vector_bytes = 16;
constexpr int most_threads = 256;
constexpr std::int64_t shortest_shifted = 64;  // bytes
constexpr std::int64_t line_bytes = 128;

std::int64_t up(std::int64_t x, std::int64_t y) {
  return (x + y - 1) / y;
}

// Vectors that a row touches, at most.
std::int64_t vectors_of(const Rows& rows, int dst_granule) {
  return up(rows.bytes + vector_bytes - dst_granule, vector_bytes);
}

// The mode of the smallest step on a side.
int nearest(const Rows& rows, std::int64_t Mode::*stride) {
  int best = -1;
  for (int i = rows.outer.size(); i-- > 0;) {
    const std::int64_t step = std::abs(rows.outer[i].*stride);
    if (step != 0 && (best < 0 || step < std::abs(rows.outer[best].*stride))) best = i;
  }
  return best;
}

// What speaks for rows in runs of so many bytes: whole lines, several of them.
double worth(std::int64_t run, std::int64_t all) {
  const double enough = static_cast<double>(std::min<std::int64_t>(all, 4 * line_bytes));
  double worth = 0.75 + 0.25 * std::min(1.0, static_cast<double>(run) / enough);
  if (run < all && run % line_bytes != 0) worth *= run % 32 == 0 ? 0.98 : 0.95;
  return worth;
}

// Neighbours in the destination that fill a line, which neighbouring threads take.
std::int64_t next_to(const BoxesConfig& config, std::int64_t extent) {
  return std::min(extent, up(line_bytes / vector_bytes, config.width));
}

// The box of those that fit into a block whose threads and runs are used best.
void choose_box(BoxesConfig& config, const Rows& rows) {
  const std::int64_t capacity = std::int64_t{most_threads} * config.in_flight;
  const std::int64_t vectors = vectors_of(rows, config.dst_granule);
  config.width = up(vectors, up(vectors, capacity));
  const std::int64_t room = capacity / config.width;
  const std::int64_t down = config.dst_mode < 0 ? 1 : rows.outer[config.dst_mode].extent;
  const std::int64_t across = config.src_mode < 0 ? 1 : rows.outer[config.src_mode].extent;
  const auto even = [](std::int64_t extent, std::int64_t most) {
    return up(extent, up(extent, std::min(extent, most)));
  };
  const std::int64_t together = next_to(config, down);
  double best = 0;
  for (std::int64_t most = std::min(down, room); most > 0;
       most -= std::max<std::int64_t>(1, most / 16)) {
    const std::int64_t dst_rows = up(even(down, most), together) * together;
    if (dst_rows > room) continue;
    const std::int64_t src_rows = even(across, room / dst_rows);
    const std::int64_t used = config.width * dst_rows * src_rows;
    const std::int64_t threads = up(up(used, config.in_flight), 32) * 32;
    const auto full = [](std::int64_t extent, std::int64_t of_box) {
      return static_cast<double>(extent) / static_cast<double>(up(extent, of_box) * of_box);
    };
    double score = full(down, dst_rows) * full(across, src_rows) * static_cast<double>(used) /
                   static_cast<double>(threads * config.in_flight);
    score *= 0.7 + 0.3 * static_cast<double>(threads) / most_threads;
    score *= worth(dst_rows * rows.bytes, down * rows.bytes);
    if (config.src_mode >= 0) score *= worth(src_rows * rows.bytes, across * rows.bytes);
    if (score <= best) continue;
    best = score;
    config.dst_rows = static_cast<int>(dst_rows);
    config.src_rows = static_cast<int>(src_rows);
    config.threads = static_cast<int>(threads);
  }
}

std::int64_t blocks_of(const BoxesConfig& config, const Rows& rows) {
  std::int64_t blocks = up(vectors_of(rows, config.dst_granule), config.width);
  for (int i = 0; i < rows.outer.size(); ++i) {
    const std::int64_t of_box = i == config.dst_mode   ? config.dst_rows
                                : i == config.src_mode ? config.src_rows
                                                       : 1;
    blocks *= up(rows.outer[i].extent, of_box);
  }
  return blocks;
}

// Blocks for which registers are sure to suffice (kernels/boxes.hpp).
int resident_of(const BoxesConfig& config, const Rows& rows) {
  if (rows.granule == vector_bytes) return config.in_flight == 4 ? 5 : 8;
  return (config.in_flight == 1 ? 6 : 5) - (rows.granule < 4 ? 1 : 0);
}

}  // namespace

const char* Family::why_not(const Problem& normal, const DeviceInfo&) {
  if (normal.converts()) return "values are changed";
  const Rows rows(normal);
  if (rows.bytes < vector_bytes) return "the runs that both sides share are shorter than 16 B";
  if (rows.outer.empty()) return "all of it is one run";
  if (rows.granule < vector_bytes && rows.bytes < shortest_shifted) {
    return "the runs that both sides share are shorter than 64 B, and not of whole vectors";
  }
  if (vectors_of(rows, 1) * rows.count >= std::int64_t{1} << 31) {
    return "2^31 vectors of 16 B or more";
  }
  return nullptr;
}

void Family::configure(const Problem& normal, const Alignment& start, const DeviceInfo&,
                       const Add<BoxesConfig>& add) {
  const Rows rows(normal);
  BoxesConfig config;
  std::int64_t granule = std::gcd(start.dst, vector_bytes);
  for (const Mode& mode : rows.outer) granule = std::gcd(granule, mode.dst_stride);
  config.dst_granule = static_cast<int>(rows.granule == vector_bytes ? vector_bytes : granule);
  config.dst_mode = nearest(rows, &Mode::dst_stride);
  config.src_mode = nearest(rows, &Mode::src_stride);
  if (config.src_mode == config.dst_mode) config.src_mode = -1;
  for (const int in_flight : {4, 2, 1}) {
    if (in_flight == 4 && rows.granule < vector_bytes) continue;
    config.in_flight = in_flight;
    choose_box(config, rows);
    add(config);
  }
}

Estimate Family::estimate(const BoxesConfig& config, const Problem& normal, const Model& model,
                          const Costs& c) {
  const Rows rows(normal);
  const bool aligned = rows.granule == vector_bytes;
  double share = config.in_flight == 1 ? c.shifted_single : c.shifted_share;
  if (aligned) {
    share = rows.bytes >= 256   ? c.share_256
            : rows.bytes >= 128 ? c.share_128
            : rows.bytes >= 64  ? c.share_64
            : rows.bytes >= 32  ? c.share_32
                                : c.share_16;
    if (config.in_flight == 2) share -= c.loss_two;
    if (config.in_flight == 1) share -= c.loss_one;
  }
  Work work;
  work.blocks = static_cast<double>(blocks_of(config, rows));
  work.resident = resident_blocks(model.device, config.threads, 0, resident_of(config, rows));
  double of_lane = c.lane;
  if (!aligned)
    of_lane += c.shifted + warps_with_ends(rows) * (rows.granule < 4 ? c.end_part : c.end);
  const double of_thread = c.thread + c.axis * rows.outer.size() + config.in_flight * of_lane;
  work.instructions = work.blocks * config.threads * of_thread;
  work.block_seconds = model.costs.rows_block;
  work.src_bytes = model.src_read() / share;
  work.dst_bytes = (model.least.dst_bytes + model.cut_bytes()) / share;
  if (!aligned) {
    const auto run = static_cast<double>(rows.bytes);
    work.src_bytes *=
        src_moved(model, {run, granule_of(rows, &Mode::src_stride)}) / model.src_read();
    work.dst_bytes *=
        dst_moved(model, {run, granule_of(rows, &Mode::dst_stride)}) / model.least.dst_bytes;
  }
  return estimate_of(model, work);
}

std::string Family::describe(const BoxesConfig& config, const Problem& normal) {
  const Rows rows(normal);
  const std::int64_t bytes = std::min(rows.bytes, config.width * vector_bytes);
  return std::to_string(config.dst_rows) + " x " + std::to_string(config.src_rows) + " rows of " +
         std::to_string(bytes) + " B, " + (rows.granule == vector_bytes ? "aligned" : "shifted") +
         " vectors, " + std::to_string(config.in_flight) + " a thread";
}

Launchable<kernels::BoxesArgs> Family::prepare(const BoxesConfig& config, const Problem& normal) {
  const Rows rows(normal);
  kernels::BoxesArgs args;
  args.row_bytes = rows.bytes;
  fill_reach(args, rows);
  args.granule = static_cast<int>(rows.granule);
  args.in_flight = config.in_flight;
  const std::int64_t vectors = vectors_of(rows, config.dst_granule);
  const auto divide = [](std::int64_t by) { return FastDivide(static_cast<std::uint32_t>(by)); };
  args.vectors = static_cast<std::uint32_t>(vectors);
  args.width = divide(config.width);
  args.parts = divide(up(vectors, config.width));
  kernels::WalkMaker<kernels::Walk> walk;
  std::int64_t before = 1;
  for (int i = rows.outer.size(); i-- > 0;) {
    const Mode& mode = rows.outer[i];
    std::int64_t of_box = 1;
    const auto side = [&](kernels::BoxSide& to, int rows_of_box) {
      of_box = rows_of_box;
      to = {static_cast<std::uint32_t>(mode.extent),
            static_cast<std::uint32_t>(of_box),
            divide(before),
            divide(up(mode.extent, of_box)),
            mode.src_stride,
            mode.dst_stride};
    };
    if (i == config.dst_mode) side(args.dst_side, config.dst_rows);
    if (i == config.src_mode) side(args.src_side, config.src_rows);
    const std::int64_t boxes = up(mode.extent, of_box);
    if (boxes > 1) walk.add(boxes, of_box * mode.src_stride, of_box * mode.dst_stride);
    before *= boxes;
  }
  args.boxes = walk.walk;
  args.next_to = divide(next_to(config, args.dst_side.extent));
  args.src_rows = divide(config.src_rows);
  return {args,
          {{static_cast<unsigned>(blocks_of(config, rows)), 1, 1},
           {static_cast<unsigned>(config.threads), 1, 1},
           0}};
}

}  // namespace cornerturn::plan::gpu::boxes
