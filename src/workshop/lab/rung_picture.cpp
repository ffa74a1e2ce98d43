#include "workshop/lab/rung_picture.hpp"

#include <algorithm>
#include <bit>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/refuse.hpp"
#include "maps/sectors.hpp"
#include "workshop/lab/explain.hpp"
#include "workshop/lab/explain_words.hpp"
#include "workshop/lab/warp_picture.hpp"
#include "workshop/rungs/cute.hpp"

namespace cornerturn::lab {
namespace {

using simt::Op;

constexpr std::int64_t most_drawn = 36;  // rows and columns of a panel
constexpr std::int64_t least_rows = 4;

// The places of a grid that lanes touch, and who does.
struct Touched {
  std::map<std::pair<std::int64_t, std::int64_t>, std::uint32_t> lanes;  // (row, column) -> lanes
  std::uint32_t bad = 0;  ///< lanes that cost more than they must
};

// The rows or columns to draw: all from the first to the last touched, or these alone.
std::vector<std::int64_t> drawn_lines(std::vector<std::int64_t> touched, std::int64_t least) {
  std::sort(touched.begin(), touched.end());
  touched.erase(std::unique(touched.begin(), touched.end()), touched.end());
  const std::int64_t first = touched.front();
  const std::int64_t last = std::max(touched.back(), first + least - 1);
  if (last - first < most_drawn) {
    touched.clear();
    for (std::int64_t i = first; i <= last; ++i) touched.push_back(i);
  }
  return touched;
}

Panel panel_of(std::string title, const Touched& touched, const std::vector<std::int64_t>& rows,
               const std::vector<std::int64_t>& columns, std::int64_t unit) {
  Panel panel =
      make_panel(std::move(title), static_cast<int>(rows.size()), static_cast<int>(columns.size()));
  for (std::size_t i = 0; i < rows.size(); ++i) panel.row_labels[i] = std::to_string(rows[i]);
  for (std::size_t j = 0; j < columns.size(); ++j) {
    panel.column_labels[j] = std::to_string(columns[j] * unit);
  }
  for (const auto& [place, lanes] : touched.lanes) {
    const auto row = std::lower_bound(rows.begin(), rows.end(), place.first) - rows.begin();
    const auto column =
        std::lower_bound(columns.begin(), columns.end(), place.second) - columns.begin();
    Cell& cell = panel.at(static_cast<int>(row), static_cast<int>(column));
    const int first = std::countr_zero(lanes);
    cell.label = std::to_string(first) + (std::has_single_bit(lanes) ? "" : "+");
    cell.lanes = lanes_text(lanes);
    cell.tone = static_cast<std::int16_t>(first);
    cell.mark = (lanes & touched.bad) != 0 ? Mark::conflict : Mark::touched;
  }
  panel.tones = warp_lanes;
  return panel;
}

std::vector<std::int64_t> of_places(const Touched& touched, bool rows) {
  std::vector<std::int64_t> all;
  for (const auto& [place, lanes] : touched.lanes) all.push_back(rows ? place.first : place.second);
  return all;
}

// Lanes that share a sector with bytes that nobody of the warp wants.
std::uint32_t lanes_of_broken_sectors(const WarpRequest& request) {
  std::map<std::uint64_t, std::pair<std::uint32_t, int>> sectors;
  for (int lane = 0; lane < warp_lanes; ++lane) {
    if (!request.is_active(lane)) continue;
    auto& [lanes, bytes] = sectors[request.address[static_cast<std::size_t>(lane)] / sector_bytes];
    lanes |= 1U << lane;
    bytes += request.width;
  }
  std::uint32_t bad = 0;
  for (const auto& [sector, used] : sectors) {
    if (used.second < sector_bytes) bad |= used.first;
  }
  return bad;
}

Panel matrix_panel(const std::string& title, const simt::Request& request, std::int64_t columns,
                   int bytes) {
  const std::int64_t unit = std::max(1, request.lanes.width / bytes);
  Touched touched;
  touched.bad = lanes_of_broken_sectors(request.lanes);
  for (int lane = 0; lane < warp_lanes; ++lane) {
    if (!request.lanes.is_active(lane)) continue;
    const auto element =
        static_cast<std::int64_t>(request.lanes.address[static_cast<std::size_t>(lane)]) / bytes;
    touched.lanes[{element / columns, element % columns / unit}] |= 1U << lane;
  }
  Panel panel = panel_of(title, touched, drawn_lines(of_places(touched, true), least_rows),
                         drawn_lines(of_places(touched, false), 8), unit);
  const GlobalCost cost = global_cost(request.lanes);
  panel.row_axis = "row";
  panel.column_axis = "column";
  panel.description = counted(cost.sectors, "sector") + " where " + std::to_string(cost.ideal) +
                      " would do; " + std::to_string(cost.bytes) + " of their " +
                      std::to_string(cost.sectors * sector_bytes) + " bytes are used.";
  return panel;
}

SharedOp op_of(Op op) {
  return op == Op::shared_store || op == Op::async_copy ? SharedOp::store : SharedOp::load;
}

// Shared memory as the hardware has it: a row is 128 bytes, a column is a bank.
Panel banks_panel(const std::string& title, const simt::Request& request) {
  const Request explained = explain_request(request.lanes, op_of(request.op));
  Touched touched;
  for (const LaneGroup& group : explained.groups) {
    for (std::size_t bank = 0; bank < bank_count; ++bank) {
      if (group.words[bank] > group.room) touched.bad |= group.by[bank];
    }
  }
  for (int lane = 0; lane < warp_lanes; ++lane) {
    if (!request.lanes.is_active(lane)) continue;
    const std::uint64_t first = request.lanes.address[static_cast<std::size_t>(lane)] / bank_bytes;
    const std::uint64_t last = (request.lanes.address[static_cast<std::size_t>(lane)] +
                                static_cast<std::uint64_t>(request.lanes.width) - 1) /
                               bank_bytes;
    for (std::uint64_t word = first; word <= last; ++word) {
      touched.lanes[{static_cast<std::int64_t>(word / bank_count),
                     static_cast<std::int64_t>(word % bank_count)}] |= 1U << lane;
    }
  }
  std::vector<std::int64_t> banks;
  for (std::int64_t bank = 0; bank < bank_count; ++bank) banks.push_back(bank);
  Panel panel =
      panel_of(title, touched, drawn_lines(of_places(touched, true), least_rows), banks, 1);
  panel.row_axis = "128 B";
  panel.column_axis = "bank";
  panel.description = counted(explained.cost.wavefronts, "wavefront") + " where " +
                      std::to_string(explained.cost.ideal) + " would do.";
  return panel;
}

// By the copy engine, of which no lane knows.
bool is_tma(const simt::Request& request) {
  return std::string_view(request.site.file) == "TMA";
}

std::vector<Panel> panels_of(const simt::Request& request, const ladder::Rung& rung,
                             const ladder::Matrix& m) {
  const std::int64_t source_width = m.fused ? m.cols * m.batch : m.cols;
  switch (request.op) {
    case Op::global_load:
      return {matrix_panel(is_tma(request)
                               ? "The source: what the copy engine loads, 32 pieces of a box"
                               : "The source: what the lanes load",
                           request, source_width, m.bytes)};
    case Op::async_copy: {
      simt::Request from = request;
      from.lanes.address = request.source;
      return {matrix_panel("The source: what the lanes copy", from, source_width, m.bytes),
              banks_panel("Shared memory: where it lands", request)};
    }
    case Op::shared_store:
      return {banks_panel("Shared memory: where they store it", request)};
    case Op::shared_load:
      return {banks_panel("Shared memory: what they load after the barrier", request)};
    case Op::global_store:
      return {matrix_panel(is_tma(request)
                               ? "The destination: what the copy engine stores, 32 pieces of a box"
                               : "The destination: where they store it",
                           request, rung.transposes ? m.rows : m.cols, m.bytes)};
    default:
      return {};
  }
}

// Which cells of the tile the lanes of a request touch: (row, piece of `chunk` columns).
Touched places_in(const ladder::TileMap& tile, const simt::Request& request) {
  std::map<std::int64_t, std::pair<std::int64_t, std::int64_t>> owners;  // by slot
  for (int row = 0; row < tile.rows; ++row) {
    for (int column = 0; column < tile.columns; ++column) {
      owners[tile.at(row, column)] = {row, column / tile.chunk};
    }
  }
  Touched touched;
  for (int lane = 0; lane < warp_lanes; ++lane) {
    if (!request.lanes.is_active(lane)) continue;
    const std::uint64_t first = request.lanes.address[static_cast<std::size_t>(lane)];
    for (int byte = 0; byte < request.lanes.width; byte += tile.slot_bytes) {
      const auto slot =
          static_cast<std::int64_t>(first + static_cast<std::uint64_t>(byte)) / tile.slot_bytes;
      if (const auto owner = owners.find(slot); owner != owners.end()) {
        touched.lanes[owner->second] |= 1U << lane;
      }
    }
  }
  return touched;
}

// The tile by rows and columns, whatever banks they lie in: who stored what the others load.
std::optional<Panel> tile_of(const std::optional<ladder::TileMap>& tile,
                             const simt::Request* stored, const simt::Request& loaded) {
  if (!tile || stored == nullptr) return std::nullopt;
  const Touched in = places_in(*tile, *stored);
  const Touched out = places_in(*tile, loaded);
  if (in.lanes.empty() || out.lanes.empty()) return std::nullopt;
  Touched both = in;
  for (const auto& [place, lanes] : out.lanes) both.lanes[place] |= lanes;
  Panel panel = panel_of("The tile: a lane stores what other lanes load", both,
                         drawn_lines(of_places(both, true), least_rows),
                         drawn_lines(of_places(both, false), 8), tile->chunk);
  std::map<std::string, int> rows;
  for (int i = 0; i < panel.rows(); ++i) rows[panel.row_labels[static_cast<std::size_t>(i)]] = i;
  std::map<std::string, int> columns;
  for (int j = 0; j < panel.columns(); ++j) {
    columns[panel.column_labels[static_cast<std::size_t>(j)]] = j;
  }
  for (const auto& [place, lanes] : both.lanes) {
    Cell& cell = panel.at(rows.at(std::to_string(place.first)),
                          columns.at(std::to_string(place.second * tile->chunk)));
    const auto from = in.lanes.find(place);
    const auto to = out.lanes.find(place);
    cell.mark = to == out.lanes.end() ? Mark::none : Mark::touched;
    if (from == in.lanes.end()) cell.tone = Cell::no_tone;
    const auto first = [](const auto& found) {
      return std::to_string(std::countr_zero(found->second));
    };
    cell.label = (from == in.lanes.end() ? "" : first(from)) +
                 (to == out.lanes.end() ? "" : ">" + first(to));
  }
  panel.row_axis = "row";
  panel.column_axis = "column";
  panel.description =
      "Coloured: what the lanes of one request store. Framed: what those of one request load after "
      "the barrier. 5 is stored by lane 5, >7 is loaded by lane 7, and 0>0 is both.";
  return panel;
}

// Which tile of the source becomes which tile of the destination.
std::vector<Panel> blocks_panels(const BlockPlace& block, const BlockPlace& count,
                                 bool transposes) {
  constexpr std::int64_t least = 4;
  const std::int64_t rows = std::min(count.row, std::max(least, block.row + 2));
  const std::int64_t columns = std::min(count.column, std::max(least, block.column + 2));
  const auto grid = [&](const char* title, bool swapped) {
    Panel panel = make_panel(title, static_cast<int>(swapped ? columns : rows),
                             static_cast<int>(swapped ? rows : columns));
    for (std::int64_t i = 0; i < rows; ++i) {
      for (std::int64_t j = 0; j < columns; ++j) {
        Cell& cell = panel.at(static_cast<int>(swapped ? j : i), static_cast<int>(swapped ? i : j));
        cell.label = std::to_string(i) + "," + std::to_string(j);
        if (i != block.row || j != block.column) continue;
        cell.tone = 0;
        cell.mark = Mark::touched;
      }
    }
    panel.row_axis = "block";
    panel.tones = 2;
    return panel;
  };
  Panel source = grid("Blocks of the source", false);
  source.description = "The number of a block is its row and column here.";
  Panel destination = grid("Blocks of the destination", transposes);
  destination.description = "Each has the number of the source's block that it comes from.";
  return {std::move(source), std::move(destination)};
}

// Moves a request of the first block to this one.
void move_to(simt::Request& request, const BlockPlace& block, const BlockPlace& tile,
             const ladder::Matrix& m, bool transposes) {
  const std::int64_t row = block.row * tile.row;
  const std::int64_t column = block.column * tile.column;
  const std::int64_t source = (row * m.cols * (m.fused ? m.batch : 1) + column) * m.bytes;
  const std::int64_t destination =
      transposes ? (column * m.rows + row) * m.bytes : (row * m.cols + column) * m.bytes;
  if (request.op == Op::global_load) {
    for (std::uint64_t& address : request.lanes.address) {
      address += static_cast<std::uint64_t>(source);
    }
  }
  if (request.op == Op::global_store) {
    for (std::uint64_t& address : request.lanes.address) {
      address += static_cast<std::uint64_t>(destination);
    }
  }
  for (std::uint64_t& address : request.source) address += static_cast<std::uint64_t>(source);
}

}  // namespace

std::optional<BlockPlace> tile_of_block(const ladder::Rung& rung, int bytes) {
  if (rung.family == ladder::Family::cute) {
    const ladder::CuteInfo& info = *ladder::find_cute(rung.name);
    if (info.tile_rows == 1) return std::nullopt;
    return BlockPlace{info.tile_rows, info.tile_cols};
  }
  const ladder::RungBody* body = rung.body(bytes);
  const auto one_block = [&](std::int64_t rows, std::int64_t cols) {
    return body->launch(nullptr, nullptr, {rows, cols, bytes}).grid.count() == 1;
  };
  constexpr std::int64_t largest = 2048;
  BlockPlace tile{1, 1};
  while (tile.row < largest && one_block(2 * tile.row, 1)) tile.row *= 2;
  while (tile.column < largest && one_block(1, 2 * tile.column)) tile.column *= 2;
  if (tile.row == largest || tile.column == largest || !one_block(tile.row, tile.column)) {
    return std::nullopt;
  }
  return tile;
}

Picture rung_picture(const ladder::Rung& rung, const ladder::Prediction& run,
                     std::optional<BlockPlace> block) {
  Picture picture;
  picture.title = std::string(rung.name) + ": the way of a warp's first accesses";
  picture.description =
      "A cell that a lane touches has the lane's number and colour. A red frame with a corner "
      "means in a matrix: the warp does not use the whole sector; in shared memory: lanes want "
      "different words of one bank.";
  const ladder::Matrix& m = run.matrix;
  if (m.batch > 1) picture.title += " in a stack of " + std::to_string(m.batch) + " matrices";
  if (m.fused) picture.description += " A row of the source has that row of all matrices.";
  const std::optional<ladder::TileMap> map = rung.tile(m.bytes);
  std::optional<BlockPlace> tile;
  if (block) {
    tile = tile_of_block(rung, m.bytes);
    if (!tile) refuse(std::string(rung.name) + ": its blocks have no tiles of the matrix");
    const BlockPlace count{(m.rows + tile->row - 1) / tile->row,
                           (m.cols + tile->column - 1) / tile->column};
    if (block->row >= count.row || block->column >= count.column) {
      refuse("--block: " + std::to_string(m.rows) + " x " + std::to_string(m.cols) +
             " elements, which are drawn, have " + std::to_string(count.row) + " x " +
             std::to_string(count.column) + " blocks of " + std::string(rung.name));
    }
    picture.title += ", block " + std::to_string(block->row) + "," + std::to_string(block->column);
    picture.lines.push_back(blocks_panels(*block, count, rung.transposes));
  }
  int step = 1;
  std::set<Op> drawn;
  simt::Request kept;
  const simt::Request* stored = nullptr;
  for (simt::Request request : run.first) {
    if (request.lanes.active == 0 || !drawn.insert(request.op).second) continue;
    if (block) move_to(request, *block, *tile, m, rung.transposes);
    if (request.op == Op::shared_load) {
      if (auto panel = tile_of(map, stored, request)) picture.lines.push_back({std::move(*panel)});
    }
    for (Panel& panel : panels_of(request, rung, m)) {
      panel.title = std::to_string(step++) + ". " + panel.title;
      picture.lines.push_back({std::move(panel)});
    }
    if (request.op == Op::shared_store || request.op == Op::async_copy) {
      kept = request;
      stored = &kept;
    }
  }
  return picture;
}

}  // namespace cornerturn::lab
