#include "plan/gpu/slide.hpp"

#include <algorithm>
#include <limits>
#include <memory>
#include <optional>

#include "core/divide.hpp"

namespace cornerturn::plan::gpu::slide {
namespace {

using kernels::SlideArgs;

constexpr std::int64_t least_run = 256;  // bytes: of shorter rows most vectors belong to two
constexpr std::int64_t longest_pitch = 1 << 30;
constexpr std::int64_t most_chunks = std::numeric_limits<std::int32_t>::max();
// The stretch that a chunk comes from has at most so many bytes more than the chunk, by rows that
// lie further from each other.
constexpr std::int64_t most_more = kernels::slide_chunk / 8;

struct Rows {
  std::int64_t count;
  std::int64_t run;  // bytes
  std::int64_t from_pitch;
  std::int64_t to_pitch;

  std::int64_t result_bytes() const { return (count - 1) * to_pitch + run; }
  std::int64_t more_of_source() const {
    return (kernels::slide_chunk / to_pitch + 2) * std::max<std::int64_t>(from_pitch - to_pitch, 0);
  }
};

std::optional<Rows> rows_of(const Problem& normal) {
  Rows rows{1, normal.src_type.size(), 0, 0};
  bool moves = false;
  for (const Mode& mode : normal.modes) {
    if (mode.src_stride != mode.dst_stride) {
      if (moves || mode.src_stride <= 0 || mode.dst_stride <= 0) return std::nullopt;
      moves = true;
      rows.count = mode.extent;
      rows.from_pitch = mode.src_stride;
      rows.to_pitch = mode.dst_stride;
    } else if (mode.src_stride == normal.src_type.size()) {
      rows.run = mode.extent * mode.src_stride;
    } else {
      return std::nullopt;
    }
  }
  if (!moves || rows.run > std::min(rows.from_pitch, rows.to_pitch)) return std::nullopt;
  return rows;
}

// Wherever the array begins within 16 bytes.
std::int64_t chunks_of(const Rows& rows) {
  return ceil_div(rows.result_bytes() + 15, kernels::slide_chunk);
}

}  // namespace

const char* Family::why_not(const Problem& normal, const DeviceInfo&) {
  const auto rows = rows_of(normal);
  if (!rows) return "it does not move rows from one pitch to another";
  if (rows->run < least_run) return "rows of fewer than 256 bytes";
  if (std::max(rows->from_pitch, rows->to_pitch) >= longest_pitch)
    return "a pitch of 2^30 bytes or more";
  if (rows->more_of_source() > most_more) return "rows that lie much further apart than they shall";
  if (chunks_of(*rows) >= most_chunks) return "2^31 chunks or more";
  return nullptr;
}

void Family::configure(const Problem& normal, const Alignment&, const DeviceInfo&,
                       const Add<Config>& add) {
  add({static_cast<std::uint32_t>(chunks_of(*rows_of(normal)))});
}

Demand Family::demand(const Config& config, const Problem& normal, const Model& model,
                      const Costs& c) {
  Demand demand = demand_of_launch(*prepare(config, normal).then, c.block, model);
  demand.instructions = static_cast<double>(normal.bytes()) / 16 * c.vector;
  return demand;
}

std::string Family::describe(const Config& config, const Problem& normal) {
  const Rows rows = *rows_of(normal);
  return std::to_string(rows.count) + " rows of " + std::to_string(rows.run) +
         " bytes from a pitch of " + std::to_string(rows.from_pitch) + " to " +
         std::to_string(rows.to_pitch) + ", " + std::to_string(config.chunks) + " chunks";
}

std::string Family::details(const Config& config) {
  return "traffic     every byte is read and written once\nworkspace   " +
         std::to_string(workspace(config)) + " B\n";
}

std::int64_t Family::workspace(const Config& config) {
  return (std::int64_t{config.chunks} + 1) * static_cast<std::int64_t>(sizeof(std::uint32_t));
}

Launchable<SlideArgs> Family::prepare(const Config& config, const Problem& normal) {
  const Rows rows = *rows_of(normal);
  SlideArgs args;
  args.word_bytes = normal.src_type.size();
  args.spreads = rows.to_pitch > rows.from_pitch;
  args.chunks = config.chunks;
  args.rows = rows.count;
  args.run = rows.run;
  args.from_pitch = rows.from_pitch;
  args.to_pitch = rows.to_pitch;
  args.from_rows = FastDivide64(static_cast<std::uint64_t>(rows.from_pitch));
  args.to_rows = FastDivide64(static_cast<std::uint64_t>(rows.to_pitch));
  args.to_rows_near = FastDivide(static_cast<std::uint32_t>(rows.to_pitch));
  constexpr std::int64_t around = 48;  // parts of vectors at both ends, and one more
  const auto shared = static_cast<unsigned>(kernels::slide_chunk + rows.more_of_source() + around);
  const Launchable<SlideArgs> moves{args, {{config.chunks, 1, 1}, {256, 1, 1}, shared}};
  args.clears = true;
  const auto blocks = static_cast<unsigned>(
      ceil_div(std::int64_t{config.chunks} + 1, std::int64_t{kernels::SlideStart::threads}));
  return {args,
          {{blocks, 1, 1}, {kernels::SlideStart::threads, 1, 1}, 0},
          std::make_shared<const Launchable<SlideArgs>>(moves)};
}

void Family::bind(SlideArgs& args, const Problem& normal, const Buffers& buffers, int) {
  args.array = static_cast<std::byte*>(buffers.dst) + normal.dst_offset;
  args.state = reinterpret_cast<std::uint32_t*>(buffers.workspace);
}

}  // namespace cornerturn::plan::gpu::slide
