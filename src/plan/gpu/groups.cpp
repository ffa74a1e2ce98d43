#include "plan/gpu/groups.hpp"

#include <algorithm>

#include "kernels/tile.hpp"

namespace cornerturn::plan::gpu {
namespace {

constexpr std::int64_t vector = 16;
constexpr std::int64_t most_elements = std::int64_t{1} << 30;  // of a group
constexpr std::int64_t long_run = 1024;  // bytes: another mode would bring nothing
constexpr std::int64_t short_run = 64;   // bytes: another mode must be taken, if there is one
constexpr int max_modes = kernels::TileModes::max_modes;

bool has(const Run& run, int modes, int mode) {
  for (int i = 0; i < modes; ++i) {
    if (run[i] == mode) return true;
  }
  return false;
}

}  // namespace

bool Groups::in_rows(int mode) const {
  return has(rows, row_modes, mode);
}
bool Groups::in_cols(int mode) const {
  return has(cols, col_modes, mode);
}

const char* why_no_groups(const Problem& normal) {
  if (normal.rank() < 2) return "fewer than two modes";
  const Run rows = run_of(normal, &Mode::dst_stride);
  const Run cols = run_of(normal, &Mode::src_stride);
  if (rows.size == 0) return "no mode of the destination is contiguous";
  if (cols.size == 0) return "no mode of the source is contiguous";
  if (rows[0] == cols[0]) return "both sides share their fastest mode";
  for (const Mode& mode : normal.modes) {
    if (mode.extent >= most_elements) return "a mode of 2^30 elements or more";
  }
  if (normal.rank() > kernels::max_axes) return "more modes than any memory has elements for";
  return nullptr;
}

Groups groups_of(const Problem& normal, const GroupRuns& runs, int row_modes, int col_modes) {
  Groups groups;
  groups.rows = runs.rows;
  groups.cols = runs.cols;
  groups.row_modes = row_modes;
  groups.col_modes = col_modes;
  groups.row_count = elements_of(normal, groups.rows, row_modes);
  groups.col_count = elements_of(normal, groups.cols, col_modes);
  groups.rest = normal.elements() / std::max<std::int64_t>(groups.row_count * groups.col_count, 1);
  return groups;
}

void for_each_grouping(const Problem& normal, const GroupRuns& most,
                       const std::function<void(const Groups&)>& visit) {
  const std::int64_t row_size = normal.dst_type.size();
  const std::int64_t col_size = normal.src_type.size();
  // Another mode brings nothing to a run that is long, and does not fit into one that is full.
  const auto goes = [&](const Run& run, std::int64_t size, int modes) {
    return modes <= std::min(run.size, max_modes) &&
           elements_of(normal, run, modes) < most_elements &&
           (modes == 1 || elements_of(normal, run, modes - 1) * size < long_run);
  };
  const auto are_disjoint = [&](int rows, int cols) {
    for (int i = 0; i < cols; ++i) {
      if (has(most.rows, rows, most.cols[i])) return false;
    }
    return true;
  };
  const auto is_short = [&](const Run& run, std::int64_t size, int modes) {
    return elements_of(normal, run, modes) * size < short_run;
  };
  for (int rows = 1; goes(most.rows, row_size, rows); ++rows) {
    for (int cols = 1; goes(most.cols, col_size, cols) && are_disjoint(rows, cols); ++cols) {
      const bool more_rows = goes(most.rows, row_size, rows + 1) && are_disjoint(rows + 1, cols);
      const bool more_cols = goes(most.cols, col_size, cols + 1) && are_disjoint(rows, cols + 1);
      if (more_rows && is_short(most.rows, row_size, rows)) continue;
      if (more_cols && is_short(most.cols, col_size, cols)) continue;
      visit(groups_of(normal, most, rows, cols));
    }
  }
}

bool is_aligned(const Groups& groups, const Problem& normal, const Alignment& start) {
  if (start.src < vector || start.dst < vector) return false;
  std::int64_t src_bits = 0, dst_bits = 0;
  for (int i = 0; i < normal.rank(); ++i) {
    if (!groups.in_cols(i)) src_bits |= normal.modes[i].src_stride;
    if (!groups.in_rows(i)) dst_bits |= normal.modes[i].dst_stride;
  }
  return src_bits % vector == 0 && dst_bits % vector == 0 &&
         groups.col_count * normal.src_type.size() % vector == 0 &&
         groups.row_count * normal.dst_type.size() % vector == 0;
}

bool begin_in_sectors(const Groups& groups, const Problem& normal) {
  for (int i = 0; i < normal.rank(); ++i) {
    if (!groups.in_rows(i) && normal.modes[i].dst_stride % sector != 0) return true;
  }
  return false;
}

bool have_edges(const Groups& groups, const Problem& normal) {
  return groups.row_count * normal.dst_type.size() % sector != 0 ||
         begin_in_sectors(groups, normal);
}

}  // namespace cornerturn::plan::gpu
