// How tile and skew split the modes: rows (the destination's run), columns (the source's run), and
// the rest, through which blocks walk.
#pragma once

#include <cstdint>
#include <functional>

#include "core/normalise.hpp"
#include "plan/gpu/runs.hpp"

namespace cornerturn::plan::gpu {

struct Groups {
  Run rows;  ///< all modes that the destination's run could have
  Run cols;  ///< the source's
  int row_modes = 1;
  int col_modes = 1;
  std::int64_t row_count = 1;  ///< elements
  std::int64_t col_count = 1;
  std::int64_t rest = 1;  ///< how many such matrices

  bool in_rows(int mode) const;
  bool in_cols(int mode) const;
};

/// The longest runs that rows and columns can have, which all splits of a problem share.
struct GroupRuns {
  explicit GroupRuns(const Problem& normal)
      : rows(run_of(normal, &Mode::dst_stride)), cols(run_of(normal, &Mode::src_stride)) {}

  Run rows, cols;
};

/// Null when the problem can be split, else the rule that it breaks.
const char* why_no_groups(const Problem& normal);

/// The split with so many modes in either group.
Groups groups_of(const Problem& normal, const GroupRuns& runs, int row_modes, int col_modes);

/// Every split that brings something: groups grow until their run is long.
void for_each_grouping(const Problem& normal, const GroupRuns& runs,
                       const std::function<void(const Groups&)>& visit);

/// Rows and columns begin at multiples of 16 bytes on both sides, and columns fill whole vectors.
bool is_aligned(const Groups& groups, const Problem& normal, const Alignment& start);

inline constexpr std::int64_t sector = 32;  ///< bytes

/// Rows of the destination begin apart from one another between two sectors.
bool begin_in_sectors(const Groups& groups, const Problem& normal);
/// Or they end there.
bool have_edges(const Groups& groups, const Problem& normal);

}  // namespace cornerturn::plan::gpu
