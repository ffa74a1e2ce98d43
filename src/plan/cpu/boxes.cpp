#include "plan/cpu/boxes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "core/divide.hpp"
#include "plan/cpu/box_sizes.hpp"
#include "plan/cpu/cpu_info.hpp"
#include "plan/cpu/stores.hpp"

namespace cornerturn::plan::boxes {
namespace {

// Policies. Runs of this length make the lines at their ends cheap.
constexpr std::int64_t wanted_run = 512;
constexpr std::int64_t piece_bytes = 128 << 10;  // of work that one thread takes at a time
constexpr std::int64_t line_bytes = 64;
// So many boxes must read the same before they are put one after the other.
constexpr double least_alike = 4;

bool run_is_a_mode(const Problem& normal) {
  const std::int64_t width = normal.dst_type.size();
  return normal.rank() > 0 && normal.modes.back().src_stride == width &&
         normal.modes.back().dst_stride == width;
}

// Bytes of a box that lie side by side in the destination, without gaps.
std::int64_t packed_bytes(const BoxesConfig& config, const Problem& normal) {
  std::int64_t bytes = config.atom_bytes;
  const auto* const end = config.parts.data() + config.part_count;
  const auto follows = [&](const BoxesConfig::Part& part) {
    return normal.modes[part.mode].dst_stride == bytes;
  };
  for (const BoxesConfig::Part* part = config.parts.data();
       (part = std::find_if(config.parts.data(), end, follows)) != end;) {
    bytes *= part->extent;
  }
  return bytes;
}

BoxesConfig config_of(const BoxSizes& sizes, std::int64_t atom_bytes, int outer_rank) {
  BoxesConfig config;
  config.atom_bytes = atom_bytes;
  config.outer_rank = outer_rank;
  for (int i = 0; i < outer_rank; ++i) {
    if (sizes.extent(i) == 1) continue;
    config.parts[static_cast<std::size_t>(config.part_count++)] = {
        i, static_cast<std::int32_t>(sizes.extent(i))};
  }
  config.src_run = sizes.run(&Mode::src_stride);
  config.dst_run = sizes.run(&Mode::dst_stride);
  config.boxes_a_piece = std::max<std::int64_t>(1, piece_bytes / sizes.bytes());
  return config;
}

}  // namespace

double boxes_alike(const BoxesConfig& config, const Problem& normal) {
  const std::int64_t least = std::max(least_copied, least_atoms_copied * config.atom_bytes);
  if (packed_bytes(config, normal) < least) return 1;
  const BoxGrid grid = grid_of_parts(config, config.outer_rank, normal);
  double alike = 1;
  for (int i = 0; i < config.outer_rank; ++i) {
    if (grid.reads_again(normal, i)) alike *= static_cast<double>(normal.modes[i].extent);
  }
  return alike < least_alike ? 1 : alike;
}

BoxGrid grid_of(const BoxesConfig& config, const Problem& normal) {
  return grid_of_parts(config, config.outer_rank, normal, boxes_alike(config, normal) > 1);
}

const char* Family::why_not(const Problem& normal, const CpuInfo&) {
  if (normal.rank() - (run_is_a_mode(normal) ? 1 : 0) < 1) return "there is nothing to rearrange";
  if (normal.elements() == 0) return "it is empty";
  if (run_is_a_mode(normal) && normal.modes.back().extent * normal.dst_type.size() > longest_atom) {
    static_assert(longest_atom == 512);
    return "both sides share rows of more than 512 bytes";
  }
  return nullptr;
}

void Family::configure(const Problem& normal, const CpuInfo& cpu, const Costs& c,
                       const Add<BoxesConfig>& add) {
  const bool rows = run_is_a_mode(normal);
  const std::int64_t atom_bytes = normal.dst_type.size() * (rows ? normal.modes.back().extent : 1);
  const int outer_rank = normal.rank() - (rows ? 1 : 0);
  BoxSizes sizes(normal, outer_rank, atom_bytes, wanted_run, most_atoms, BoxesConfig::most_parts);
  sizes.choose();
  BoxesConfig config = config_of(sizes, atom_bytes, outer_rank);
  // What a box would read again is copied where other boxes have it.
  if (sizes.leave_broadcasts()) {
    const BoxesConfig smaller = config_of(sizes, atom_bytes, outer_rank);
    if (cost_ns(smaller, normal, cpu, c) < cost_ns(config, normal, cpu, c)) config = smaller;
  }
  add(config);
}

// Its atoms or its lines, whichever take longer, a share of the others, and what boxes and the ends
// of runs cost.
double Family::cost_ns(const BoxesConfig& config, const Problem& normal, const CpuInfo& cpu,
                       const Costs& c) {
  const auto bytes = static_cast<double>(normal.bytes());
  const double atoms = bytes / static_cast<double>(config.atom_bytes);
  const double atom_ns = config.atom_bytes <= 2 ? c.narrow_atom_ns : c.atom_ns;
  double box_bytes = static_cast<double>(config.atom_bytes);
  for (int k = 0; k < config.part_count; ++k) {
    box_bytes *= config.parts[static_cast<std::size_t>(k)].extent;
  }
  const double work = atoms / boxes_alike(config, normal) * atom_ns;
  double lines = bytes / line_bytes * c.cached_line_ns;
  if (!fits_l2(normal, cpu)) {
    // Shorter runs share lines with their neighbours, which find them in the caches, or else each
    // brings lines of its own.
    const auto src_run = static_cast<double>(std::max(config.src_run, line_bytes / 2));
    const auto dst_run = static_cast<double>(config.dst_run);
    const std::int64_t lines_of_run = ceil_div(config.src_run, line_bytes);
    const bool shared = shares_lines(normal, config.outer_rank, cpu);
    const double run_bytes = static_cast<double>(shared ? line_bytes : config.src_run);
    const double src_lines = bytes / run_bytes * static_cast<double>(shared ? 1 : lines_of_run);
    lines = (src_lines + bytes / line_bytes) / 2 * c.line_ns +
            bytes * (first_reads(normal) / src_run + 1 / dst_run) * c.end_ns;
  }
  return c.start_ns + bytes / box_bytes * c.box_ns + std::max(work, lines) +
         std::min(work, lines) * c.overlap;
}

std::string Family::describe(const BoxesConfig& config, const Problem&) {
  std::string box;
  for (int k = 0; k < config.part_count; ++k) {
    box += fmt::format("{}{}", box.empty() ? "" : " x ",
                       config.parts[static_cast<std::size_t>(k)].extent);
  }
  return fmt::format("boxes of {} {} of {} B", box.empty() ? "1" : box,
                     config.atom_bytes > 16 ? "rows" : "atoms", config.atom_bytes);
}

}  // namespace cornerturn::plan::boxes
