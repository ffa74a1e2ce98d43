#include "workshop/lab/explain_picture.hpp"

#include <algorithm>
#include <bit>
#include <optional>
#include <utility>

#include "cornerturn/error.hpp"
#include "workshop/lab/explain_words.hpp"
#include "workshop/lab/warp_picture.hpp"

namespace cornerturn::lab {
namespace {

constexpr int most_wavefronts = 64;

// The lanes that share a word, in the order in which a bank gets its words.
struct Served {
  std::uint64_t word = 0;
  std::uint32_t lanes = 0;
};
std::vector<Served> words_of(const WarpRequest& request, std::uint32_t lanes, int bank) {
  std::vector<Served> words;
  for (std::uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    const std::uint64_t first = request.address[static_cast<std::size_t>(lane)];
    const std::uint64_t last = first + static_cast<std::uint64_t>(request.width) - 1;
    for (std::uint64_t word = first / bank_bytes; word <= last / bank_bytes; ++word) {
      if (static_cast<int>(word % bank_count) != bank) continue;
      const auto known = std::find_if(words.begin(), words.end(),
                                      [&](const Served& served) { return served.word == word; });
      if (known == words.end()) {
        words.push_back({word, 1U << lane});
      } else {
        known->lanes |= 1U << lane;
      }
    }
  }
  return words;
}

bool is_drawn(const Request& request, std::size_t group, int only) {
  return group < request.groups.size() && (only < 0 || static_cast<int>(group) == only);
}

// Lanes that want a bank which is asked for more words than it serves at once.
std::uint32_t in_conflict(const LaneGroup& group) {
  std::uint32_t lanes = 0;
  for (std::size_t bank = 0; bank < bank_count; ++bank) {
    if (group.words[bank] > group.room) lanes |= group.by[bank];
  }
  return lanes;
}

// A tile, how it comes about (from left to right, the tile itself last), and who takes it.
struct Drawing {
  TileShape tile;
  std::vector<std::pair<std::string, Placement>> placed;
  const std::vector<AccessExplanation>& accesses;
  AnySwizzle swizzle;
};

Drawing drawing_of(const Explanation& e) {
  Drawing drawing = {e.tile, {}, e.accesses, e.layout.swizzle};
  const AnySwizzle& s = drawing.swizzle;
  if (s.bits == 0) {
    drawing.placed.emplace_back("The tile", placement_of(e.layout));
    return drawing;
  }
  SwizzledLayout plain = e.layout;
  plain.swizzle = {};
  drawing.placed.emplace_back("Without the swizzle", placement_of(plain));
  drawing.placed.emplace_back("Swizzle<" + std::to_string(s.bits) + "," + std::to_string(s.base) +
                                  "," + std::to_string(s.shift) + ">",
                              placement_of(e.layout));
  return drawing;
}

int common_vector(const std::vector<AccessExplanation>& accesses) {
  int vector = accesses.empty() ? 1 : 64;
  for (const AccessExplanation& access : accesses) vector = std::min(vector, access.vector);
  return vector;
}

// The request as it would be in another place, if it can be.
std::optional<Request> moved(const Placement& placed, int bytes, const AccessExplanation& access,
                             const Request& request) {
  Access same;
  same.name = access.name;
  same.op = access.op;
  same.vector = access.vector;
  same.down = access.down;
  try {
    Request result = explain_request(request_of(placed, bytes, same, request.points), access.op);
    result.points = request.points;
    return result;
  } catch (const Error&) {
    return std::nullopt;
  }
}

std::vector<Panel> tiles(const Drawing& drawing, const AccessExplanation* access,
                         const Request* request, int group) {
  const int bytes = drawing.tile.bytes;
  TileView view;
  view.unit = drawn_unit(drawing.placed.back().second, bytes, common_vector(drawing.accesses));
  std::vector<Panel> panels;
  for (const auto& [title, placed] : drawing.placed) {
    Panel& tile = panels.emplace_back(tile_panel(title, placed, bytes, view));
    if (request == nullptr) continue;
    const auto shown = moved(placed, bytes, *access, *request);
    if (shown) mark_lanes(tile, *shown, *access, view.unit, group);
  }
  return panels;
}

Picture empty_picture(const Drawing& drawing) {
  Picture picture;
  picture.title = std::to_string(drawing.tile.rows) + " x " + std::to_string(drawing.tile.columns) +
                  " elements of " + std::to_string(drawing.tile.bytes) + " B in shared memory";
  for (const AccessExplanation& access : drawing.accesses) {
    picture.description += (picture.description.empty() ? "" : " ") + access.verdict;
  }
  return picture;
}

std::string phases_title(const AccessExplanation& access, std::size_t request) {
  return access.name + ", request " + std::to_string(request) + " of " +
         std::to_string(access.requests.size());
}

Picture whole(const Drawing& drawing) {
  Picture picture = empty_picture(drawing);
  const AccessExplanation* shown = nullptr;
  for (const AccessExplanation& access : drawing.accesses) {
    if (access.requests.empty()) continue;
    if (shown == nullptr ||
        access.worst_request().cost.conflicts > shown->worst_request().cost.conflicts) {
      shown = &access;
    }
  }
  picture.lines.push_back(
      tiles(drawing, shown, shown == nullptr ? nullptr : &shown->worst_request(), -1));
  if (shown != nullptr) {
    for (Panel& panel : picture.lines.back()) {
      panel.title += ": " + phases_title(*shown, shown->worst);
    }
  }
  for (const AccessExplanation& access : drawing.accesses) {
    if (access.requests.empty()) continue;
    Panel panel = groups_panel(access.worst_request());
    panel.title = phases_title(access, access.worst);
    picture.lines.push_back({std::move(panel)});
  }
  if (drawing.swizzle.bits > 0) {
    picture.lines.push_back({bits_panel(drawing.swizzle, drawing.tile.bytes)});
  }
  return picture;
}

}  // namespace

Panel groups_panel(const Request& request, int only) {
  int rows = 0;
  int all = 0;
  for (std::size_t p = 0; p < request.groups.size(); ++p) {
    all += request.groups[p].wavefronts;
    if (is_drawn(request, p, only)) rows += request.groups[p].wavefronts;
  }
  const int drawn = std::min(rows, most_wavefronts);
  Panel panel = make_panel("Wavefronts over the banks", drawn, bank_count);
  panel.row_axis = "lanes";
  panel.column_axis = "bank";
  panel.tones = 4;
  panel.description = counted(all, "wavefront") + ", of which " +
                      std::to_string(request.cost.conflicts) +
                      " for conflicts (marked). A row is a wavefront, a cell the lane that a bank "
                      "serves in it; + stands for further lanes that want the same word.";
  if (drawn < rows) panel.description += " Drawn are the first " + std::to_string(drawn) + ".";
  int top = 0;
  for (std::size_t p = 0; p < request.groups.size(); ++p) {
    if (!is_drawn(request, p, only)) continue;
    const LaneGroup& group = request.groups[p];
    for (int pass = 0; pass < group.wavefronts && top + pass < drawn; ++pass) {
      const int row = top + pass;
      panel.row_labels[static_cast<std::size_t>(row)] =
          pass == 0 ? lanes_text(group.lanes) : "again";
    }
    for (int bank = 0; bank < bank_count; ++bank) {
      const std::vector<Served> words =
          words_of(request.lanes, group.by[static_cast<std::size_t>(bank)], bank);
      for (std::size_t k = 0; k < words.size(); ++k) {
        const int row = top + static_cast<int>(k);
        if (row >= drawn) break;
        Cell& cell = panel.at(row, bank);
        const bool several = !std::has_single_bit(words[k].lanes);
        cell.label = std::to_string(std::countr_zero(words[k].lanes)) + (several ? "+" : "");
        cell.lanes = lanes_text(words[k].lanes);
        cell.bank = bank;
        cell.text = "word " + std::to_string(words[k].word);
        cell.tone = static_cast<std::int16_t>(p % 2);
        if (static_cast<int>(k) >= group.room) {
          cell.mark = Mark::conflict;
          cell.text += ", one of " + std::to_string(words.size()) + " that meet here";
        }
      }
    }
    top += group.wavefronts;
  }
  return panel;
}

void mark_lanes(Panel& tile, const Request& request, const AccessExplanation& access, int unit,
                int only) {
  const int high = access.down ? access.vector : 1;
  const int wide = access.down ? 1 : access.vector;
  for (std::size_t p = 0; p < request.groups.size(); ++p) {
    if (!is_drawn(request, p, only)) continue;
    const LaneGroup& group = request.groups[p];
    const std::uint32_t bad = in_conflict(group);
    for (std::uint32_t rest = group.lanes; rest != 0; rest &= rest - 1) {
      const int lane = std::countr_zero(rest);
      const TilePoint& point = request.points[static_cast<std::size_t>(lane)];
      const int last_row = std::min(point.row + high, tile.rows()) - 1;
      const int last = std::min((point.column + wide - 1) / unit, tile.columns() - 1);
      for (int i = point.row; i <= last_row; ++i) {
        for (int j = point.column / unit; j <= last; ++j) {
          Cell& cell = tile.at(i, j);
          cell.lanes += (cell.lanes.empty() ? "" : ", ") + std::to_string(lane);
          if ((bad >> lane & 1U) != 0) {
            cell.mark = Mark::conflict;
          } else if (cell.mark == Mark::none) {
            cell.mark = Mark::touched;
          }
        }
      }
    }
  }
  tile.description +=
      " A frame marks what the lanes take. A red frame with a corner marks a bank conflict.";
}

Picture picture_of(const Explanation& e) {
  return whole(drawing_of(e));
}

Picture picture_of(const std::string& name, const Placement& placed, int bytes,
                   const std::vector<AccessExplanation>& accesses) {
  const TileShape tile = {placed.rows, placed.columns, bytes};
  const Placement plain = {tile.rows, tile.columns, [tile](std::int64_t row, std::int64_t column) {
                             return row * tile.columns + column;
                           }};
  return whole({tile, {{"Rows one after the other", plain}, {name, placed}}, accesses, {}});
}

Picture picture_of(const Explanation& e, std::size_t access, std::size_t request, int group) {
  const Drawing drawing = drawing_of(e);
  Picture picture = empty_picture(drawing);
  if (e.accesses.empty()) {
    picture.lines.push_back(tiles(drawing, nullptr, nullptr, group));
  } else {
    if (access >= e.accesses.size() || request >= e.accesses[access].requests.size()) {
      throw Error(Status::invalid_argument, "there is no request " + std::to_string(request) +
                                                " of access " + std::to_string(access));
    }
    const AccessExplanation& shown = e.accesses[access];
    picture.lines.push_back({groups_panel(shown.requests[request], group)});
    picture.lines.push_back(tiles(drawing, &shown, &shown.requests[request], group));
  }
  picture.lines.push_back({bits_panel(e.layout.swizzle, e.tile.bytes)});
  return picture;
}

}  // namespace cornerturn::lab
