// Where the tiles of a problem lie: strips of the destination run by windows of the source run, for
// each index of the batch.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cpu/list_places.hpp"
#include "plan/cpu/spread.hpp"
#include "plan/cpu/tile.hpp"

namespace cornerturn::cpu {

inline constexpr std::int64_t line = 64;  // bytes that a store should write whole

/// The lists of a problem that has been spread.
struct TileLists {
  const plan::SpreadProblem& spread;
  ListsOf places;
};

struct TileGrid {
  const Problem* problem = nullptr;
  const TileLists* lists = nullptr;  ///< null: every mode goes in steps
  plan::TileSplit split;
  std::int64_t width = 1;       // bytes of an element
  std::int64_t strip_rows = 1;  // elements of the destination run in a strip
  std::int64_t strips = 1;
  std::int64_t strips_a_piece = 1;  // one or all
  std::int64_t window_columns = 1;  // elements of the source run in a window
  std::int64_t windows = 1;
  std::int64_t windows_a_piece = 1;
  std::int64_t pieces_a_row = 1;  // of windows
  // Batch indices within and outside the loop over strips: those nearer in the source than two
  // neighbouring rows are, and the others.
  std::int64_t near_batch = 1;
  std::int64_t far_batch = 1;
  // The source run starts at its lowest address; modes of negative stride are walked backwards.
  std::int64_t src_start = 0;
  std::int64_t dst_start = 0;

  std::int64_t pieces() const {
    return far_batch * (strips / strips_a_piece) * near_batch * pieces_a_row;
  }

  /// One piece: a sweep over windows in each of its strips. Offsets in bytes, of the batch alone.
  struct Piece {
    std::int64_t first_strip, first_window, last_window;
    std::int64_t src_offset, dst_offset;
  };
  Piece piece(std::int64_t index) const;

  /// Source offsets of `count` consecutive elements of the destination run.
  void row_offsets(std::int64_t first, std::int64_t count, std::int64_t* out) const;
  /// Destination offsets of `count` consecutive elements of the source run.
  void column_offsets(std::int64_t first, std::int64_t count, std::int64_t* out) const;

  bool is_list(int plan::SpreadProblem::*list, int mode) const {
    return lists != nullptr && lists->spread.*list == mode;
  }

  std::int64_t first_column(std::int64_t window) const { return window * window_columns; }
  std::int64_t end_column(std::int64_t window) const {
    return window + 1 == windows ? split.columns : (window + 1) * window_columns;
  }
};

TileGrid make_grid(const plan::TileConfig& config, const Problem& normal,
                   const TileLists* lists = nullptr);

}  // namespace cornerturn::cpu
