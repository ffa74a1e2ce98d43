#include "cpu/tile_grid.hpp"

#include <algorithm>
#include <cstdlib>

#include "core/divide.hpp"

namespace cornerturn::cpu {
namespace {

// One mode of a group of modes that is walked element by element.
struct Step {
  std::int64_t extent;
  std::int64_t stride;
};

// The offsets of `count` consecutive indices from `first` on; mode_of(k) is the k-th fastest mode.
template <class ModeOf>
void walk(int modes, ModeOf mode_of, std::int64_t first, std::int64_t count, std::int64_t* out) {
  const Step inner = mode_of(0);
  if (modes == 1) {
    for (std::int64_t i = 0; i < count; ++i) out[i] = (first + i) * inner.stride;
    return;
  }
  std::int64_t index[ModeList::capacity];
  std::int64_t offset = 0;
  for (int k = 0; k < modes; ++k) {
    const Step step = mode_of(k);
    index[k] = first % step.extent;
    first /= step.extent;
    offset += index[k] * step.stride;
  }
  for (std::int64_t i = 0; i < count;) {
    const std::int64_t stop = std::min(count, i + inner.extent - index[0]);
    index[0] += stop - i;
    for (; i < stop; ++i, offset += inner.stride) out[i] = offset;
    for (int k = 0; k + 1 < modes; ++k) {
      const Step step = mode_of(k);
      if (index[k] < step.extent) break;
      index[k] = 0;
      ++index[k + 1];
      offset += mode_of(k + 1).stride - step.extent * step.stride;
    }
  }
}

// walk(), where the modes may have a list: mode_at(k) is the number of the k-th fastest mode. The
// list's own steps are looked up, from its last entry on where it is walked backwards.
template <class ModeAt, class StepOf>
void walk_with_list(int modes, ModeAt mode_at, StepOf step_of, int list, const ListPlaces& places,
                    bool backwards, std::int64_t first, std::int64_t count, std::int64_t* out) {
  std::int64_t before = 1;
  int k = 0;
  for (; k < modes && mode_at(k) != list; ++k) before *= step_of(k).extent;
  if (k == modes) return walk(modes, step_of, first, count, out);
  const std::int64_t extent = step_of(k).extent;
  walk(
      modes,
      [&](int i) {
        return i == k ? Step{extent, 0} : step_of(i);
      },
      first, count, out);
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t at = (first + i) / before % extent;
    out[i] += places.offset(backwards ? extent - 1 - at : at);
  }
}

}  // namespace

TileGrid make_grid(const plan::TileConfig& config, const Problem& normal, const TileLists* lists) {
  TileGrid grid;
  grid.problem = &normal;
  grid.lists = lists;
  grid.split = plan::split_tile(normal, config.run_modes);
  grid.width = normal.dst_type.size();
  for (int k = 0; k < grid.split.chain_modes; ++k) {
    const int number = grid.split.chain[static_cast<std::size_t>(k)];
    const Mode& mode = normal.modes[number];
    if (mode.src_stride >= 0) continue;
    grid.src_start += (mode.extent - 1) * mode.src_stride;
    // A list's own places are looked up, wherever they begin.
    if (grid.is_list(&plan::SpreadProblem::dst_list, number)) continue;
    grid.dst_start += (mode.extent - 1) * mode.dst_stride;
  }
  const std::int64_t row_stride = std::abs(normal.modes.back().src_stride);
  for (int k = 0; k < grid.split.batch_modes; ++k) {
    const Mode& mode = normal.modes[grid.split.batch[static_cast<std::size_t>(k)]];
    (std::abs(mode.src_stride) < row_stride ? grid.near_batch : grid.far_batch) *= mode.extent;
  }
  // Strips of equal length, in whole lines. Packed tiles hold the whole run.
  const std::int64_t line_elements = line / grid.width;
  const std::int64_t strips =
      config.packed ? 1 : ceil_div(grid.split.run * grid.width, config.strip_bytes);
  grid.strip_rows = ceil_div(ceil_div(grid.split.run, strips), line_elements) * line_elements;
  grid.strips = ceil_div(grid.split.run, grid.strip_rows);
  // Both ways of a direct tile to move short runs have the same pieces: see plan::tile::at_phase.
  if (config.direct && grid.split.run * grid.width <= plan::tile::short_run)
    grid.strips_a_piece = grid.strips;
  // A last window too narrow for one 16-byte load joins the one before.
  grid.window_columns = std::max<std::int64_t>(config.window_bytes, 16) / grid.width;
  const std::int64_t narrow = grid.split.columns % grid.window_columns;
  grid.windows = std::max<std::int64_t>(
      1, grid.split.columns / grid.window_columns + (narrow * grid.width >= 16 ? 1 : 0));
  // Pieces of 64 KiB to 4 MiB, where the sweep is long enough.
  const std::int64_t tile_bytes = std::min(grid.strip_rows * grid.strips_a_piece, grid.split.run) *
                                  grid.window_columns * grid.width;
  const std::int64_t wanted =
      std::clamp<std::int64_t>(normal.bytes() / 64, 64 << 10, 4 << 20) / tile_bytes;
  grid.windows_a_piece = std::clamp<std::int64_t>(wanted, 1, grid.windows);
  grid.pieces_a_row = ceil_div(grid.windows, grid.windows_a_piece);
  return grid;
}

TileGrid::Piece TileGrid::piece(std::int64_t index) const {
  Piece piece{};
  piece.first_window = index % pieces_a_row * windows_a_piece;
  piece.last_window = std::min(windows, piece.first_window + windows_a_piece);
  index /= pieces_a_row;
  const std::int64_t near = index % near_batch;
  index /= near_batch;
  const std::int64_t groups = strips / strips_a_piece;
  piece.first_strip = index % groups * strips_a_piece;
  std::int64_t rest = index / groups * near_batch + near;
  piece.src_offset = src_start;
  piece.dst_offset = dst_start;
  // The first entry of a list lies anywhere, too.
  for (int k = 0; lists == nullptr ? rest > 0 : k < split.batch_modes; ++k) {
    const Mode& mode = problem->modes[split.batch[static_cast<std::size_t>(k)]];
    const std::int64_t i = rest % mode.extent;
    rest /= mode.extent;
    const int number = split.batch[static_cast<std::size_t>(k)];
    piece.src_offset += is_list(&plan::SpreadProblem::src_list, number)
                            ? lists->places.src.offset(i)
                            : i * mode.src_stride;
    piece.dst_offset += is_list(&plan::SpreadProblem::dst_list, number)
                            ? lists->places.dst.offset(i)
                            : i * mode.dst_stride;
  }
  return piece;
}

void TileGrid::row_offsets(std::int64_t first, std::int64_t count, std::int64_t* out) const {
  const auto mode_at = [this](int k) { return problem->rank() - 1 - k; };
  const auto step_of = [this, mode_at](int k) {
    const Mode& mode = problem->modes[mode_at(k)];
    return Step{mode.extent, mode.src_stride};
  };
  if (lists == nullptr) return walk(split.run_modes, step_of, first, count, out);
  walk_with_list(split.run_modes, mode_at, step_of, lists->spread.src_list, lists->places.src,
                 false, first, count, out);
}

void TileGrid::column_offsets(std::int64_t first, std::int64_t count, std::int64_t* out) const {
  const auto mode_at = [this](int k) { return int{split.chain[static_cast<std::size_t>(k)]}; };
  const auto step_of = [this, mode_at](int k) {
    const Mode& mode = problem->modes[mode_at(k)];
    return Step{mode.extent, mode.src_stride < 0 ? -mode.dst_stride : mode.dst_stride};
  };
  if (lists == nullptr) return walk(split.chain_modes, step_of, first, count, out);
  const int list = lists->spread.dst_list;
  const bool backwards = list >= 0 && problem->modes[list].src_stride < 0;
  walk_with_list(split.chain_modes, mode_at, step_of, list, lists->places.dst, backwards, first,
                 count, out);
}

}  // namespace cornerturn::cpu
