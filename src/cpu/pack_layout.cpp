#include "cpu/pack_layout.hpp"

#include <algorithm>
#include <span>

#include "core/divide.hpp"
#include "cpu/scratch.hpp"

namespace cornerturn::cpu {
namespace {

using plan::BoxRole;
using plan::PackConfig;

constexpr std::int64_t memory_line = 64;

std::span<const PackConfig::Part> parts_of(const PackConfig& config) {
  return {config.parts.data(), static_cast<std::size_t>(config.part_count)};
}

PackSide& side_of(PackLayout& layout, BoxRole role) {
  return role == BoxRole::across ? layout.across
         : role == BoxRole::down ? layout.down
                                 : layout.deep;
}

bool is_in_run(const PackLayout& layout, std::size_t part) {
  return (layout.in_run >> part & 1) != 0;
}

// Which parts make up a run: those that continue each other in the destination.
void find_runs(const PackConfig& config, const Problem& normal, PackLayout& layout) {
  layout.in_run = 0;
  layout.run_bytes = normal.dst_type.size();
  const auto parts = parts_of(config);
  for (int i = normal.rank(); i-- > 0;) {
    for (std::size_t k = 0; k < parts.size(); ++k) {
      if (parts[k].mode != i || normal.modes[i].dst_stride != layout.run_bytes) continue;
      layout.in_run |= std::uint32_t{1} << k;
      layout.run_bytes *= parts[k].extent;
    }
  }
}

// Adds a mode of `extent` indices to a side. Its indices lie within a run, or each begins
// `run_step` runs after the one before.
void extend(PackSide& side, const Mode& mode, std::int64_t extent, bool in_run,
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

// The tables of the sides, and so the numbers of the runs: deep ones first, so that all runs of a
// column follow each other.
void make_sides(const PackConfig& config, const Problem& normal, PackLayout& layout) {
  for (PackSide* side : {&layout.across, &layout.down, &layout.deep}) {
    side->count = side->last_unit = 1;
    side->src[0] = side->dst[0] = 0;
    side->stage[0] = side->run[0] = 0;
  }
  layout.runs = 1;
  const auto parts = parts_of(config);
  for (const bool deep : {true, false}) {
    for (std::size_t k = 0; k < parts.size(); ++k) {
      if ((parts[k].role == BoxRole::deep) != deep) continue;
      const bool inside = is_in_run(layout, k);
      extend(side_of(layout, parts[k].role), normal.modes[parts[k].mode], parts[k].extent, inside,
             layout.runs);
      if (!inside) layout.runs *= parts[k].extent;
    }
    if (deep) layout.runs_a_column = layout.runs;
  }
}

// Columns are done a line's worth of elements at a time, unless runs hold several of them.
std::int64_t window_of(const PackConfig& config, const Problem& normal, const PackLayout& layout) {
  const auto parts = parts_of(config);
  for (std::size_t k = 0; k < parts.size(); ++k) {
    if (parts[k].role == BoxRole::across && is_in_run(layout, k)) return layout.across.count;
  }
  return std::max<std::int64_t>(memory_line / normal.dst_type.size(), 1);
}

// Where runs begin, and whether the columns of each come in the order in which they lie.
void list_runs(PackLayout& layout) {
  layout.ascending = true;
  std::array<std::int32_t, plan::pack::max_columns> highest;  // column of each run so far
  std::fill_n(highest.begin(), layout.runs, -1);
  for (std::size_t e = 0; e < static_cast<std::size_t>(layout.deep.count); ++e) {
    for (std::size_t s = 0; s < static_cast<std::size_t>(layout.across.count); ++s) {
      const auto number = static_cast<std::size_t>(layout.deep.run[e]) +
                          static_cast<std::size_t>(layout.across.run[s]);
      const std::int32_t stage = layout.deep.stage[e] + layout.across.stage[s];
      if (stage < highest[number]) layout.ascending = false;
      highest[number] = stage;
      if (stage != 0) continue;
      layout.run[number] = {layout.deep.dst[e] + layout.across.dst[s], static_cast<std::int32_t>(e),
                            static_cast<std::int32_t>(s)};
    }
  }
}

void make_steps(const PackConfig& config, const Problem& normal, PackLayout& layout) {
  layout.steps.clear();
  layout.boxes = 1;
  for (int i = 0; i < normal.rank(); ++i) {
    const Mode& mode = normal.modes[i];
    std::int64_t taken = 1;
    for (const PackConfig::Part& part : parts_of(config)) {
      if (part.mode == i) taken = part.extent;
    }
    const std::int64_t count = ceil_div(mode.extent, taken);
    layout.boxes *= count;
    if (count == 1) continue;
    layout.step_mode[static_cast<std::size_t>(layout.steps.size())] = i;
    layout.steps.push_back({count, mode.src_stride * taken, mode.dst_stride * taken});
  }
}

// Notes how the rows of a box lie in the source.
void look_at_rows(const PackConfig& config, const Problem& normal, PackLayout& layout) {
  constexpr std::int64_t small_gap = 16;        // bytes between rows that still are dense
  constexpr std::int64_t colliding = 64 << 10;  // rows a multiple of this apart share sets
  constexpr std::int64_t colliding_rows = 8;    // as many as the first-level cache has ways
  const std::int64_t width = normal.dst_type.size();
  layout.src_last = width;
  for (const Mode& mode : normal.modes) {
    layout.src_last += std::max<std::int64_t>((mode.extent - 1) * mode.src_stride, 0);
  }
  const auto rows = layout.down.src.begin();
  layout.down_reach = *std::max_element(rows, rows + layout.down.count);
  const std::int64_t spread = plan::pack::row_spread(config, normal);
  layout.far = spread > plan::pack::far_bytes;
  const std::int64_t row_bytes = layout.across.count * width;
  const bool dense = layout.down_reach == spread && layout.down.count > 1 &&
                     spread <= layout.down.count * (row_bytes + small_gap);
  layout.dense_bytes = dense ? spread + row_bytes : 0;
  std::int64_t sharing = 1;
  for (const PackConfig::Part& part : parts_of(config)) {
    if (part.role == BoxRole::down && normal.modes[part.mode].src_stride % colliding == 0) {
      sharing *= part.extent;
    }
  }
  layout.fetch = sharing < colliding_rows;
}

struct LayoutMemo {
  bool empty = true;
  PackConfig config;
  Problem normal;
  PackLayout layout;
};

}  // namespace

void make_layout(const PackConfig& config, const Problem& normal, PackLayout& layout) {
  find_runs(config, normal, layout);
  make_sides(config, normal, layout);
  layout.window = window_of(config, normal, layout);
  // An odd number of lines, so that runs do not compete for the same sets of the cache; two more
  // than the run has, because it begins and ends somewhere in a line.
  layout.run_pitch = (ceil_div(layout.run_bytes + 2 * memory_line, memory_line) | 1) * memory_line;
  list_runs(layout);
  make_steps(config, normal, layout);
  look_at_rows(config, normal, layout);
}

const PackLayout& pack_layout(const PackConfig& config, const Problem& normal) {
  auto& memo = thread_memo<LayoutMemo>();
  if (memo.empty || !(memo.config == config) || !(memo.normal == normal)) {
    make_layout(config, normal, memo.layout);
    memo.config = config;
    memo.normal = normal;
    memo.empty = false;
  }
  return memo.layout;
}

PackBox box_at(const PackLayout& layout, const PackConfig& config, const Problem& normal,
               std::int64_t number) {
  PackBox box{0, 0, layout.across.count, layout.down.count, layout.deep.count, layout.run_bytes};
  const auto parts = parts_of(config);
  for (int i = layout.steps.size(); i-- > 0;) {
    const Mode& step = layout.steps[i];
    const std::int64_t index = number % step.extent;
    number /= step.extent;
    box.src += index * step.src_stride;
    box.dst += index * step.dst_stride;
    if (index + 1 < step.extent) continue;
    // The last step may find less than a whole part.
    const int mode = layout.step_mode[static_cast<std::size_t>(i)];
    for (std::size_t k = 0; k < parts.size(); ++k) {
      const PackConfig::Part& part = parts[k];
      if (part.mode != mode) continue;
      const std::int64_t left = normal.modes[mode].extent - index * part.extent;
      if (part.role == BoxRole::across) box.across = layout.across.last_unit * left;
      if (part.role == BoxRole::down) box.down = layout.down.last_unit * left;
      if (part.role == BoxRole::deep) box.deep = layout.deep.last_unit * left;
      if (is_in_run(layout, k)) box.run_bytes = box.run_bytes / part.extent * left;
    }
  }
  return box;
}

}  // namespace cornerturn::cpu
