#include "workshop/lab/warp_picture.hpp"

#include <algorithm>
#include <bit>
#include <map>

#include "core/refuse.hpp"
#include "maps/sectors.hpp"
#include "workshop/lab/explain_words.hpp"

namespace cornerturn::lab {
std::string lanes_text(std::uint32_t lanes) {
  std::string out;
  for (int first = 0; first < warp_lanes; ++first) {
    if ((lanes >> first & 1U) == 0) continue;
    int last = first;
    while (last + 1 < warp_lanes && (lanes >> (last + 1) & 1U) != 0) ++last;
    out += (out.empty() ? "" : ", ") + std::to_string(first);
    if (last > first) out += "-" + std::to_string(last);
    first = last;
  }
  return out;
}

WarpRequest warp_request(const Layout& lanes, int bytes, int vector) {
  if (lanes.size() > warp_lanes) {
    refuse("a layout of " + std::to_string(lanes.size()) + " lanes: a warp has 32");
  }
  WarpRequest request;
  request.width = bytes * vector;
  if (bytes < 1 || vector < 1 || request.width > 16 ||
      !std::has_single_bit(static_cast<unsigned>(request.width))) {
    refuse(std::to_string(vector) + " x " + std::to_string(bytes) +
           " B a lane: an access has 1, 2, 4, 8 or 16");
  }
  request.active = 0;
  for (int lane = 0; lane < lanes.size(); ++lane) {
    const std::int64_t address = lanes(lane) * bytes;
    if (address < 0 || address % request.width != 0) {
      refuse("lane " + std::to_string(lane) + " has address " + std::to_string(address) +
             (address < 0 ? ", which is negative"
                          : ", no multiple of its " + std::to_string(request.width) + " B"));
    }
    request.address[static_cast<std::size_t>(lane)] = static_cast<std::uint64_t>(address);
    request.active |= 1U << lane;
  }
  return request;
}

Picture sectors_picture(const WarpRequest& request) {
  const GlobalCost cost = global_cost(request);
  struct Sector {
    std::uint32_t lanes = 0;
    std::map<std::uint64_t, int> starts;
  };
  std::map<std::uint64_t, std::map<std::uint64_t, Sector>> lines;
  for (int lane = 0; lane < warp_lanes; ++lane) {
    if (!request.is_active(lane)) continue;
    const std::uint64_t address = request.address[static_cast<std::size_t>(lane)];
    Sector& sector = lines[address / line_bytes][address % line_bytes / sector_bytes];
    sector.lanes |= 1U << lane;
    sector.starts[address] = request.width;
  }
  Picture picture;
  picture.title = "Global memory: one request of a warp";
  picture.description = counted(cost.sectors, "sector") + " in " + counted(cost.lines, "line") +
                        "; " + std::to_string(cost.bytes) + " of their " +
                        std::to_string(cost.sectors * sector_bytes) + " bytes are asked for.";
  Panel panel = make_panel("Lines of 128 bytes, sectors of 32", static_cast<int>(lines.size()),
                           line_bytes / sector_bytes, 1, sector_bytes);
  panel.row_axis = "address";
  panel.column_axis = "byte";
  panel.tones = sector_bytes + 1;
  panel.description = picture.description +
                      " In a cell are the lanes that want something of the sector; a red frame "
                      "with a corner: part of it is moved for nothing.";
  int i = 0;
  for (const auto& [line, sectors] : lines) {
    panel.row_labels[static_cast<std::size_t>(i)] = std::to_string(line * line_bytes);
    for (const auto& [place, sector] : sectors) {
      Cell& cell = panel.at(i, static_cast<int>(place));
      const int used = static_cast<int>(sector.starts.size()) * request.width;
      cell.tone = static_cast<std::int16_t>(used);
      cell.mark = used < sector_bytes ? Mark::conflict : Mark::none;
      cell.label = lanes_text(sector.lanes);
      cell.lanes = cell.label;
      cell.text = std::to_string(used) + " of 32 bytes used";
    }
    ++i;
  }
  picture.lines.push_back({std::move(panel)});
  return picture;
}

Picture threads_picture(const Layout& threads, std::int64_t rows, std::int64_t columns) {
  if (threads.rank() != 2) {
    refuse("a thread-value layout has two modes, threads and values; this one has " +
           std::to_string(threads.rank()));
  }
  if (rows < 1 || columns < 1 || rows > 64 || columns > 64) {
    refuse("a tile of " + std::to_string(rows) + " x " + std::to_string(columns) +
           ": 1 x 1 to 64 x 64 can be drawn");
  }
  const std::int64_t count = threads.mode(0).size();
  const std::int64_t values = threads.mode(1).size();
  Picture picture;
  picture.title = counted(count, "thread") + ", " + counted(values, "value") + " each";
  Panel panel = make_panel(std::to_string(rows) + " x " + std::to_string(columns) + " elements",
                           static_cast<int>(rows), static_cast<int>(columns));
  panel.row_axis = "row";
  panel.column_axis = "column";
  panel.tones = static_cast<int>(std::min<std::int64_t>(count, 32));
  for (std::int64_t t = 0; t < count; ++t) {
    for (std::int64_t v = 0; v < values; ++v) {
      const std::int64_t element = threads(t, v);
      const std::string who = "T" + std::to_string(t) + " V" + std::to_string(v);
      if (element < 0 || element >= rows * columns) {
        refuse(who + " is element " + std::to_string(element) + " of a tile of " +
               std::to_string(rows * columns));
      }
      Cell& cell = panel.at(static_cast<int>(element % rows), static_cast<int>(element / rows));
      cell.row = element % rows;
      cell.column = element / rows;
      cell.text += (cell.text.empty() ? "thread " : ", thread ") + std::to_string(t) + " value " +
                   std::to_string(v);
      if (!cell.label.empty()) {
        cell.mark = Mark::conflict;
        continue;
      }
      cell.label = who;
      cell.tone = static_cast<std::int16_t>(t % 32);
    }
  }
  const auto held = std::count_if(panel.cells.begin(), panel.cells.end(),
                                  [](const Cell& cell) { return !cell.empty(); });
  const auto twice = std::count_if(panel.cells.begin(), panel.cells.end(),
                                   [](const Cell& cell) { return cell.mark == Mark::conflict; });
  picture.description = std::to_string(held) + " of " + std::to_string(rows * columns) +
                        " elements are held, " + std::to_string(twice) + " of them more than once.";
  panel.description = picture.description + " T is the thread, V its value.";
  picture.lines.push_back({std::move(panel)});
  return picture;
}

}  // namespace cornerturn::lab
