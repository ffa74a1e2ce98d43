#include "plan/gpu/structures.hpp"

#include <algorithm>
#include <optional>

#include "plan/gpu/convert.hpp"

namespace cornerturn::plan::gpu::structures {
namespace {

constexpr std::int64_t longest = 8;  // elements a structure
constexpr int warps = 8;             // a block

int find_mode(const Problem& normal, std::int64_t Mode::*stride, std::int64_t value, int except) {
  for (int i = normal.rank(); i-- > 0;) {
    if (i != except && normal.modes[i].*stride == value) return i;
  }
  return -1;
}

// The modes in their parts, in either direction.
std::optional<StructuresConfig> parts(const Problem& normal) {
  const std::int64_t element =
      normal.src_type.size();  // of structures; on both sides, if not converted
  if (element > 8) return std::nullopt;
  StructuresConfig config;
  const auto is_length = [&](std::int64_t stride) {
    return stride % element == 0 && stride >= 2 * element && stride <= longest * element;
  };
  config.elements = find_mode(normal, &Mode::dst_stride, normal.dst_type.size(), -1);
  if (config.elements >= 0 && is_length(normal.modes[config.elements].src_stride)) {
    config.length = static_cast<int>(normal.modes[config.elements].src_stride / element);
    config.members = find_mode(normal, &Mode::src_stride, element, config.elements);
    const std::int64_t members = config.members < 0 ? 1 : normal.modes[config.members].extent;
    if (members <= config.length) return config;
  }
  if (normal.converts()) return std::nullopt;
  config.to_planes = false;
  config.elements = find_mode(normal, &Mode::src_stride, element, -1);
  if (config.elements >= 0 && is_length(normal.modes[config.elements].dst_stride)) {
    config.length = static_cast<int>(normal.modes[config.elements].dst_stride / element);
    config.members = find_mode(normal, &Mode::dst_stride, element, config.elements);
    if (config.members >= 0 && normal.modes[config.members].extent == config.length) return config;
  }
  return std::nullopt;
}

std::int64_t batches(const StructuresConfig& config, const Problem& normal) {
  std::int64_t count = 1;
  for (int i = 0; i < normal.rank(); ++i) {
    if (i != config.elements && i != config.members) count *= normal.modes[i].extent;
  }
  return count;
}

// Warps that a batch keeps busy.
std::int64_t chunks_of_batch(const StructuresConfig& config, const Problem& normal) {
  const std::int64_t bytes = normal.modes[config.elements].extent * normal.src_type.size();
  const std::int64_t vectors = (bytes + (config.shifted ? 15 : 0) + 15) / 16;
  const std::int64_t of_warp = config.shifted ? 31 : 32;
  return (vectors + of_warp - 1) / of_warp;
}

bool is_shifted(const StructuresConfig& config, const Problem& normal, const Alignment& start) {
  if (start.dst % 16 != 0) return true;
  for (int i = 0; i < normal.rank(); ++i) {
    if (i == config.elements || (!config.to_planes && i == config.members)) continue;
    if (normal.modes[i].dst_stride % 16 != 0) return true;
  }
  return false;
}

// Whole vectors of all planes, and of structures on the other side.
bool is_whole(const StructuresConfig& config, const Problem& normal, const Alignment& start) {
  const Mode& elements = normal.modes[config.elements];
  if (config.to_planes || config.shifted || start.src % 16 != 0) return false;
  if (elements.extent * normal.dst_type.size() % 16 != 0) return false;
  for (int i = 0; i < normal.rank(); ++i) {
    if (i != config.elements && normal.modes[i].src_stride % 16 != 0) return false;
  }
  return true;
}

// Whether all that a lane writes at once, of values that change, begins at a multiple of its bytes.
bool are_pieces_aligned(const StructuresConfig& config, const Problem& normal,
                        const Alignment& start) {
  const std::int64_t piece = std::min(16, 16 / normal.src_type.size() * normal.dst_type.size());
  bool aligned = start.dst % piece == 0;
  for (int i = 0; i < normal.rank(); ++i) {
    aligned = aligned && (i == config.elements || normal.modes[i].dst_stride % piece == 0);
  }
  return aligned;
}

const char* why_no_structures(const Problem& normal) {
  if (normal.dst_type.size() > 8) return "elements of 16 B";
  const auto config = parts(normal);
  if (!config) return "no array of structures of 2 to 8 elements on either side";
  const std::int64_t count = normal.modes[config->elements].extent;
  if (count < 64) return "less than 64 structures in a row";
  if (batches(*config, normal) * (count / 16 + 2) >= std::int64_t{1} << 31) {
    return "2^31 pieces or more";
  }
  return nullptr;
}

std::string describe_parts(const StructuresConfig& config, const Problem& normal) {
  std::string text = "structures of " + std::to_string(config.length);
  if (!config.to_planes) return text + " from planes";
  const std::int64_t members = config.members < 0 ? 1 : normal.modes[config.members].extent;
  return text +
         (members == config.length ? " to planes" : " to " + std::to_string(members) + " planes");
}

}  // namespace

const char* Family::why_not(const Problem& normal, const DeviceInfo&) {
  if (normal.converts()) {
    if (const char* rule = why_no_common_cast(normal)) return rule;
    if (const char* rule = why_misplaced(normal)) return rule;
  }
  if (const char* rule = why_no_structures(normal)) return rule;
  if (normal.converts() && !kernels::with_changing_length(parts(normal)->length, []<int>() {})) {
    return "structures of other than 2, 3, 4 and 8 elements";
  }
  return nullptr;
}

void Family::configure(const Problem& normal, const Alignment& start, const DeviceInfo&,
                       const Add<StructuresConfig>& add) {
  auto config = *parts(normal);
  if (normal.converts()) {
    if (are_pieces_aligned(config, normal, start)) add(config);
    return;
  }
  config.shifted = is_shifted(config, normal, start);
  config.whole = is_whole(config, normal, start);
  add(config);
}

Demand Family::demand(const StructuresConfig& config, const Problem& normal, const Model& model,
                      const Costs& c) {
  const double elements = 16.0 / normal.src_type.size();  // of a vector
  const double of_lane = (config.shifted ? c.shifted : 0.0) +
                         (normal.converts() ? elements * convert_lane(normal, model.costs) : 0.0);
  Demand demand;
  const double chunks = static_cast<double>(batches(config, normal)) *
                        static_cast<double>(chunks_of_batch(config, normal));
  demand.blocks = chunks / warps;
  demand.resident = config.length <= 4 ? 4 : 3;
  demand.instructions = chunks * 32 * config.length * of_lane;
  demand.block_seconds = c.block;
  demand.src_bytes = model.least.src_bytes;
  demand.dst_bytes = model.least.dst_bytes;
  return demand;
}

std::string Family::describe(const StructuresConfig& config, const Problem& normal) {
  const std::string text = describe_parts(config, normal);
  if (normal.converts()) {
    return text + ", " + normal.src_type.name() + " to " + normal.dst_type.name();
  }
  return text + (config.shifted ? ", shifted vectors" : ", aligned vectors");
}

Launchable<kernels::StructuresArgs> Family::prepare(const StructuresConfig& config,
                                                    const Problem& normal) {
  kernels::StructuresArgs args;
  args.values = value_args(normal);
  args.element_bytes = normal.src_type.size();
  args.length = config.length;
  args.to_planes = config.to_planes;
  args.shifted = config.shifted;
  args.whole = config.whole;
  args.count = normal.modes[config.elements].extent;
  args.planes = 1;
  if (config.members >= 0) {
    const Mode& members = normal.modes[config.members];
    args.planes = static_cast<int>(members.extent);
    args.plane_stride = config.to_planes ? members.dst_stride : members.src_stride;
  }
  args.src_high = args.element_bytes;
  for (const Mode& mode : normal.modes) {
    const std::int64_t reach = (mode.extent - 1) * mode.src_stride;
    (reach < 0 ? args.src_low : args.src_high) += reach;
  }
  const std::int64_t of_batch = chunks_of_batch(config, normal);
  args.of_batch = FastDivide(static_cast<std::uint32_t>(of_batch));
  args.chunks = static_cast<std::uint32_t>(of_batch * batches(config, normal));
  kernels::WalkMaker<kernels::Walk> walk;
  for (int i = normal.rank(); i-- > 0;) {
    if (i == config.elements || i == config.members) continue;
    const Mode& mode = normal.modes[i];
    walk.add(mode.extent, mode.src_stride, mode.dst_stride);
  }
  args.batches = walk.walk;
  const std::uint32_t blocks = (args.chunks + warps - 1) / warps;
  return {args, {{blocks, 1, 1}, {32 * warps, 1, 1}, 0}};
}

}  // namespace cornerturn::plan::gpu::structures
