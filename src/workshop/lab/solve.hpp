// Which layout of a tile in shared memory lets it be written and read without bank conflicts: a
// search over layouts, maps of lanes and widths at once, and the proof of what it finds.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "plan/gpu/device_info.hpp"
#include "workshop/lab/access.hpp"
#include "workshop/lab/tile_choice.hpp"

namespace cornerturn::lab {

/// How one side takes the tile.
enum class Side : std::uint8_t {
  rows,
  columns,   ///< single elements down the columns; or, with vectors, as `blocks` or `diagonal`
  blocks,    ///< V x V blocks
  diagonal,  ///< V x V blocks, quarter-warps on diagonals of 8 x 8 of them
  matrices,  ///< ldmatrix and stmatrix
  tma        ///< by the copy engine, which no lane waits for
};
/// Throws Error that names `option`.
Side parse_side(const std::string& option, const std::string& text);

/// A lane's bytes, or 0 for all that there are. Throws Error that names `option`.
int checked_width(const std::string& option, int width);

struct Question {
  TileShape tile;
  Side write = Side::rows;
  Side read = Side::columns;
  int width = 0;              ///< bytes a lane; 0: all that there are
  bool only_tma = false;      ///< what TMA can fill; `write` is its
  bool only_padding = false;  ///< rows further apart, nothing else
};

/// One side of an answer.
struct Leg {
  LayoutWalk walk = LayoutWalk::rows;
  SharedOp op = SharedOp::load;
  int vector = 1;
  bool by_tma = false;
  int matrices = 4;  ///< ldmatrix and stmatrix: of one request
  std::int64_t requests = 0;
  std::int64_t wavefronts = 0;
  std::int64_t floor = 0;

  bool clean() const { return wavefronts == floor; }
  /// As parse_access() reads it, "rows:store:16"; not for what TMA does.
  std::string access_text(int element_bytes) const;
};

struct Answer {
  TileChoice choice;
  Leg write;
  Leg read;

  std::int64_t wavefronts() const { return write.wavefronts + read.wavefronts; }
  bool clean() const { return write.clean() && read.clean(); }
  std::int64_t requests() const { return write.requests + read.requests; }
  int address_instructions() const;
};

/// M = log2(V), S = log2(row) - M, B = log2(128 / bytes) - M.
struct TextbookRule {
  std::string gives;  ///< "Swizzle<3,2,4>", or why there is none
  std::optional<AnySwizzle> swizzle;
  std::int64_t write_conflicts = 0;  ///< with the winner's accesses; -1: impossible
  std::int64_t read_conflicts = 0;
  bool right = false;  ///< free of conflicts
  std::string why;
};

struct Solution {
  Question question;
  std::vector<Answer> ranked;  ///< the best first: of each kind of layout and map of lanes the best
  std::size_t searched = 0;    ///< layouts
  std::string proof;           ///< that the winner is free of conflicts, or how many it has
  TextbookRule textbook;

  const Answer& winner() const { return ranked.front(); }
  std::string to_text() const;
  std::string to_json() const;
};

/// `progress(done, total)` is called now and then. Throws Error when the tile does not fit the
/// device's shared memory, or no access of the widths asked for fits the tile.
Solution solve(const Question& question, const plan::gpu::DeviceInfo& device,
               const std::function<void(std::size_t, std::size_t)>& progress = {});

/// The walks that a side may take with V elements, those that fit the tile.
std::vector<TileWalk> walks_of(Side side, const TileShape& tile, int vector);

/// Wavefronts of an access to a layout, one request after the other; nothing when it is misaligned
/// or its elements are no neighbours. Stops above `enough`.
std::optional<std::int64_t> count_wavefronts(const TileChoice& choice, const Access& access,
                                             std::int64_t enough);

}  // namespace cornerturn::lab
