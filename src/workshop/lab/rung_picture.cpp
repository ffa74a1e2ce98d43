#include "workshop/lab/rung_picture.hpp"

#include <algorithm>
#include <bit>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "maps/sectors.hpp"
#include "workshop/lab/explain.hpp"
#include "workshop/lab/explain_words.hpp"
#include "workshop/lab/warp_picture.hpp"

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

}  // namespace

Picture rung_picture(const ladder::Rung& rung, const ladder::Prediction& run) {
  Picture picture;
  picture.title = std::string(rung.name) + ": the way of a warp's first accesses";
  picture.description =
      "A cell that a lane touches has the lane's number and colour. A red frame with a corner "
      "means in a matrix: the warp does not use the whole sector; in shared memory: lanes want "
      "different words of one bank.";
  const ladder::Matrix& m = run.matrix;
  if (m.batch > 1) picture.title += " in a stack of " + std::to_string(m.batch) + " matrices";
  if (m.fused) picture.description += " A row of the source has that row of all matrices.";
  int step = 1;
  std::set<Op> drawn;
  for (const simt::Request& request : run.first) {
    if (request.lanes.active == 0 || !drawn.insert(request.op).second) continue;
    for (Panel& panel : panels_of(request, rung, m)) {
      panel.title = std::to_string(step++) + ". " + panel.title;
      picture.lines.push_back({std::move(panel)});
    }
  }
  return picture;
}

}  // namespace cornerturn::lab
