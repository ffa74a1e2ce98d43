#include "plan/boxes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "core/divide.hpp"
#include "plan/cpu_info.hpp"
#include "plan/stores.hpp"

namespace cornerturn::plan::boxes {
namespace {

// Policies. Runs of these lengths make the lines at their ends cheap. A box with its lines on both
// sides stays in the first-level cache, or in the second where its runs need that.
constexpr std::int64_t wanted_run = 512;
constexpr std::int64_t least_box = 8 << 10;
constexpr std::int64_t most_box = 64 << 10;
constexpr std::int64_t piece_bytes = 128 << 10;  // of work that one thread takes at a time
constexpr std::int64_t line_bytes = 64;

bool run_is_a_mode(const Problem& normal) {
  const std::int64_t width = normal.dst_type.size();
  return normal.rank() > 0 && normal.modes.back().src_stride == width &&
         normal.modes.back().dst_stride == width;
}

// Extents of a box while they are chosen.
class BoxSizes {
 public:
  BoxSizes(const Problem& normal, int rank, std::int64_t atom)
      : normal_(normal), rank_(rank), bytes_(atom), atom_(atom) {
    for (int i = 0; i < rank; ++i) extent_[at(i)] = 1;
  }

  // Along the source and the destination alternately, whichever has further to go.
  void choose() {
    while (true) {
      const std::int64_t src = run(&Mode::src_stride);
      const std::int64_t dst = run(&Mode::dst_stride);
      const bool src_first = src <= dst;
      if (std::min(src, dst) < wanted_run &&
          (grow(src_first ? &Mode::src_stride : &Mode::dst_stride, src_first ? src : dst))) {
        continue;
      }
      if (std::max(src, dst) < wanted_run &&
          (grow(src_first ? &Mode::dst_stride : &Mode::src_stride, src_first ? dst : src))) {
        continue;
      }
      if (bytes_ < least_box &&
          grow(&Mode::dst_stride, 1 + bytes_ * wanted_run / least_box, /*anywhere=*/true)) {
        continue;
      }
      return;
    }
  }

  // Bytes that lie side by side, or nearly so.
  std::int64_t run(std::int64_t Mode::*stride) const {
    std::int64_t run = atom_;
    for (int last = -1;;) {
      const int i = next(stride, last);
      if (i < 0 || std::abs(normal_.modes[i].*stride) > reach(run)) return run;
      run = std::max(run, std::abs(normal_.modes[i].*stride) * extent_[at(i)]);
      if (extent_[at(i)] < normal_.modes[i].extent) return run;
      last = i;
    }
  }

  std::int64_t extent(int mode) const { return extent_[at(mode)]; }
  std::int64_t bytes() const { return bytes_; }

 private:
  static std::size_t at(int i) { return static_cast<std::size_t>(i); }
  // A mode continues a run where its stride leaves no more than a line free.
  static std::int64_t reach(std::int64_t run) { return run + std::min(run, line_bytes); }

  // The mode with the next stride after that of `last`; -1: none has.
  int next(std::int64_t Mode::*stride, int last) const {
    const auto key = [&](int i) { return std::pair(std::abs(normal_.modes[i].*stride), -i); };
    int found = -1;
    for (int i = 0; i < rank_; ++i) {
      if (normal_.modes[i].*stride == 0 || (last >= 0 && key(i) <= key(last))) continue;
      if (found < 0 || key(i) < key(found)) found = i;
    }
    return found;
  }

  // Takes more of the mode at which this side's run ends. False: no mode continues it, or there is
  // no room.
  bool grow(std::int64_t Mode::*stride, std::int64_t run, bool anywhere = false) {
    int i = next(stride, -1);
    while (i >= 0 && extent_[at(i)] == normal_.modes[i].extent) i = next(stride, i);
    if (i < 0 || (!anywhere && std::abs(normal_.modes[i].*stride) > reach(run))) return false;
    const std::int64_t all = normal_.modes[i].extent;
    std::int64_t& extent = extent_[at(i)];
    const std::int64_t room = extent * std::min(most_box / bytes_, most_atoms * atom_ / bytes_);
    std::int64_t wanted = extent * std::max<std::int64_t>(2, ceil_div(wanted_run, run));
    if (all - wanted <= wanted / 2) wanted = all;  // no small rest
    wanted = std::min({wanted, all, room});
    if (wanted <= extent) return false;
    wanted = ceil_div(all, ceil_div(all, wanted));
    const int uneven = uneven_ - is_uneven(extent, all) + is_uneven(wanted, all);
    const int parts = parts_ + (extent == 1 ? 1 : 0);
    if (wanted <= extent || uneven > BoxGrid::most_uneven || parts > BoxesConfig::most_parts) {
      return false;
    }
    uneven_ = uneven;
    parts_ = parts;
    bytes_ = bytes_ / extent * wanted;
    extent = wanted;
    return true;
  }
  static int is_uneven(std::int64_t extent, std::int64_t all) { return all % extent != 0 ? 1 : 0; }

  const Problem& normal_;
  int rank_;
  BoxGrid::PerMode extent_;
  std::int64_t bytes_;
  std::int64_t atom_;
  int uneven_ = 0;
  int parts_ = 0;
};

}  // namespace

BoxGrid grid_of(const BoxesConfig& config, const Problem& normal) {
  BoxGrid grid;
  grid.rank = config.outer_rank;
  for (int i = 0; i < grid.rank; ++i) grid.extent[static_cast<std::size_t>(i)] = 1;
  for (int k = 0; k < config.part_count; ++k) {
    const BoxesConfig::Part& part = config.parts[static_cast<std::size_t>(k)];
    grid.extent[static_cast<std::size_t>(part.mode)] = part.extent;
  }
  // Neighbours share lines along the modes that are cut: first those, then in the destination's
  // order.
  int next = 0;
  const auto is_cut = [&](int i) {
    const std::int64_t extent = grid.extent[static_cast<std::size_t>(i)];
    return extent > 1 && extent < normal.modes[i].extent;
  };
  for (const bool cut : {true, false}) {
    for (int i = grid.rank; i-- > 0;) {
      if (is_cut(i) == cut) grid.order[static_cast<std::size_t>(next++)] = i;
    }
  }
  grid.count_boxes(normal);
  return grid;
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

void Family::configure(const Problem& normal, const CpuInfo&, const Add<BoxesConfig>& add) {
  const bool rows = run_is_a_mode(normal);
  BoxesConfig config;
  config.atom_bytes = normal.dst_type.size() * (rows ? normal.modes.back().extent : 1);
  config.outer_rank = normal.rank() - (rows ? 1 : 0);
  BoxSizes sizes(normal, config.outer_rank, config.atom_bytes);
  sizes.choose();
  for (int i = 0; i < config.outer_rank; ++i) {
    if (sizes.extent(i) == 1) continue;
    config.parts[static_cast<std::size_t>(config.part_count++)] = {
        i, static_cast<std::int32_t>(sizes.extent(i))};
  }
  config.src_run = sizes.run(&Mode::src_stride);
  config.dst_run = sizes.run(&Mode::dst_stride);
  config.boxes_a_piece = std::max<std::int64_t>(1, piece_bytes / sizes.bytes());
  add(config);
}

// Its atoms or its lines, whichever take longer, and what boxes and the ends of runs cost.
double Family::cost_ns(const BoxesConfig& config, const Problem& normal, const CpuInfo& cpu) {
  const Costs& c = cpu.costs.boxes;
  const auto bytes = static_cast<double>(normal.bytes());
  const double atoms = bytes / static_cast<double>(config.atom_bytes);
  const double in_words = static_cast<double>(ceil_div(config.atom_bytes, line_bytes));
  const auto src_run = static_cast<double>(config.src_run);
  const auto dst_run = static_cast<double>(config.dst_run);
  const bool cached = fits_l2(normal, cpu);
  double box_bytes = static_cast<double>(config.atom_bytes);
  for (int k = 0; k < config.part_count; ++k) {
    box_bytes *= config.parts[static_cast<std::size_t>(k)].extent;
  }
  const double work = atoms * (config.atom_bytes == 1 ? c.byte_ns : c.atom_ns * in_words) +
                      bytes / dst_run * c.run_ns;
  double lines = bytes / line_bytes * (cached ? c.cached_line_ns : c.line_ns);
  if (!cached) {
    lines += bytes / src_run * c.source_end_ns + bytes / dst_run * c.destination_end_ns;
  }
  return c.start_ns + bytes / box_bytes * c.box_ns + std::max(work, lines) +
         std::min(work, lines) / 4;
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
