#include "workshop/lab/access.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <numeric>
#include <optional>
#include <utility>

#include "cornerturn/error.hpp"
#include "workshop/analyse/notation.hpp"

namespace cornerturn::lab {
namespace {

[[noreturn]] void refuse_access(std::string_view access, const std::string& problem) {
  throw Error(Status::invalid_argument, fmt::format("access '{}': {}", access, problem));
}

bool is_width(std::int64_t width) {
  return width == 1 || width == 2 || width == 4 || width == 8 || width == 16;
}

TilePoint point_of(std::int64_t index, const TileShape& tile) {
  return {static_cast<int>(index % tile.rows), static_cast<int>(index / tile.rows), true};
}

std::optional<SharedOp> op_named(std::string_view text, bool matrices) {
  for (const SharedOp op :
       {SharedOp::load, SharedOp::store, SharedOp::ldmatrix, SharedOp::stmatrix}) {
    const bool of_matrices = op == SharedOp::ldmatrix || op == SharedOp::stmatrix;
    if (text == name(op) && (matrices || !of_matrices)) return op;
  }
  return std::nullopt;
}

// Takes ":load", ":store" and ":16" off the end of `text`. Of layouts and tables the last number
// may be a stride, or an entry: it is no suffix unless all of those are there before it.
struct Suffixes {
  std::optional<SharedOp> op;
  int width = 0;
};
Suffixes take_suffixes(std::string_view& text, std::string_view whole) {
  const bool table = text.substr(0, 6) == "table:";
  const bool list = table || text.substr(0, 3) == "tv:";
  const int colons = list ? (table ? 1 : 2) : 0;
  Suffixes found;
  while (true) {
    const std::size_t colon = text.rfind(':');
    if (colon == std::string_view::npos || colon == 0) return found;
    const std::string_view last = text.substr(colon + 1);
    const std::string_view before = text.substr(0, colon);
    const std::optional<SharedOp> op = op_named(last, list);
    if (op) {
      found.op = op;
    } else {
      int width = 0;
      const auto [end, error] = std::from_chars(last.data(), last.data() + last.size(), width);
      const bool number = error == std::errc{} && end == last.data() + last.size();
      if (list && (!number || std::count(before.begin(), before.end(), ':') < colons)) return found;
      if (!number || !is_width(width)) {
        refuse_access(whole,
                      fmt::format("'{}' is none of load, store and the 1, 2, 4, 8 or 16 bytes of a "
                                  "lane",
                                  last));
      }
      found.width = width;
    }
    text = before;
  }
}

// (thread, step) -> index: as many warps as there are threads, each step a request.
std::vector<LanePoints> thread_value(std::string_view text, std::string_view whole,
                                     const TileShape& tile) {
  const SwizzledLayout takes = parse_swizzled_layout(text);
  const Layout& layout = takes.layout;
  if (layout.rank() > 2) refuse_access(whole, "(lane, step) are two modes; group the others");
  const bool flat = layout.rank() == 1;
  const std::int64_t threads = flat ? layout.size() : layout.mode(0).size();
  const std::int64_t steps = flat ? 1 : layout.mode(1).size();
  if (threads > 1024)
    refuse_access(whole, fmt::format("{} threads: a block has 1024 at most", threads));
  if (steps > 65536) refuse_access(whole, fmt::format("{} steps are too many", steps));
  std::vector<LanePoints> requests;
  for (std::int64_t first = 0; first < threads; first += warp_lanes) {
    for (std::int64_t step = 0; step < steps; ++step) {
      LanePoints lanes;
      for (int lane = 0; lane < warp_lanes; ++lane) {
        TilePoint& point = lanes[static_cast<std::size_t>(lane)];
        point.inside = first + lane < threads;
        if (!point.inside) continue;
        const std::int64_t index = flat ? takes(first + lane) : takes(first + lane, step);
        if (index < 0 || index >= tile.rows * tile.columns) {
          refuse_access(whole, fmt::format("thread {}, step {} takes element {}: the tile has {}",
                                           first + lane, step, index, tile.rows * tile.columns));
        }
        point = point_of(index, tile);
      }
      requests.push_back(lanes);
    }
  }
  return requests;
}

// Lane by lane, each request 32 entries.
class Table {
 public:
  Table(std::string_view text, const TileShape& tile) : text_(text), tile_(tile) {}

  std::vector<LanePoints> requests() {
    std::vector<LanePoints> out;
    int lane = warp_lanes;
    do {
      if (lane == warp_lanes) {
        lane = 0;
        TilePoint none;
        none.inside = false;
        out.emplace_back().fill(none);
      }
      out.back()[static_cast<std::size_t>(lane++)] = entry();
    } while (take(','));
    if (at_ != text_.size()) fail("',' expected");
    return out;
  }

 private:
  [[noreturn]] void fail(const std::string& problem) const {
    throw NotationError(text_, at_, problem);
  }
  bool take(char wanted) {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
    if (at_ == text_.size() || text_[at_] != wanted) return false;
    ++at_;
    return true;
  }
  std::int64_t number() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
    std::int64_t value = 0;
    const auto [end, error] =
        std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    if (error != std::errc{} || value < 0) fail("an index, (row,column) or '-' expected");
    at_ = static_cast<std::size_t>(end - text_.data());
    return value;
  }
  TilePoint entry() {
    if (take('-')) return {0, 0, false};
    const std::size_t begin = at_;
    if (!take('(')) {
      const std::int64_t index = number();
      if (index >= tile_.rows * tile_.columns) {
        at_ = begin;
        fail(fmt::format("the tile has {} elements", tile_.rows * tile_.columns));
      }
      return point_of(index, tile_);
    }
    const std::int64_t row = number();
    if (!take(',')) fail("',' expected");
    const std::int64_t column = number();
    if (!take(')')) fail("')' expected");
    if (row >= tile_.rows || column >= tile_.columns) {
      at_ = begin;
      fail(fmt::format("({},{}) lies outside of {} x {}", row, column, tile_.rows, tile_.columns));
    }
    return {static_cast<int>(row), static_cast<int>(column), true};
  }

  std::string_view text_;
  TileShape tile_;
  std::size_t at_ = 0;
};

// How many matrices the instruction of this name takes, as the lab, PTX or CuTe writes it:
// "ldmatrix", "ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16", "SM75_U16x4_LDSM_T".
int matrices_of(std::string_view text) {
  for (const int matrices : {1, 2, 4}) {
    for (const auto& [prefix, suffix] : {std::pair{"SM75_", "LDSM"}, std::pair{"SM90_", "STSM"}}) {
      if (text == fmt::format("{}U32x{}_{}_N", prefix, matrices, suffix)) return matrices;
      if (text == fmt::format("{}U16x{}_{}_T", prefix, 2 * matrices, suffix)) return matrices;
    }
  }
  if (text.substr(0, 8) != "ldmatrix" && text.substr(0, 8) != "stmatrix") return 0;
  text.remove_prefix(8);
  int matrices = 4;
  while (!text.empty()) {
    if (text.front() != '.') return 0;
    const std::size_t end = std::min(text.find('.', 1), text.size());
    const std::string_view part = text.substr(1, end - 1);
    text.remove_prefix(end);
    if (part == "x1" || part == "x2" || part == "x4") {
      matrices = part[1] - '0';
    } else if (part != "trans" && part != "sync" && part != "aligned" && part != "m8n8" &&
               part != "shared" && part != "b16") {
      return 0;
    }
  }
  return matrices;
}

// The walk of this name, if there is one.
std::optional<TileWalk> walk_named(std::string_view text) {
  TileWalk walk;
  for (const LayoutWalk kind :
       {LayoutWalk::rows, LayoutWalk::columns, LayoutWalk::blocks, LayoutWalk::diagonal}) {
    walk.kind = kind;
    if (text == name(kind)) return walk;
  }
  walk.kind = LayoutWalk::matrices;
  walk.matrices = matrices_of(text);
  if (walk.matrices == 0) return std::nullopt;
  return walk;
}

}  // namespace

const char* name(SharedOp op) {
  switch (op) {
    case SharedOp::load:
      return "load";
    case SharedOp::store:
      return "store";
    case SharedOp::ldmatrix:
      return "ldmatrix";
    default:
      return "stmatrix";
  }
}

Layout tile_layout(const Layout& layout) {
  const int rank = layout.rank();
  if (rank < 3) return layout;
  // The stride from an element of mode `i` to the next one.
  const auto stride = [&](int i) {
    const Layout mode = layout.mode(i);
    for (int k = 0; k < mode.leaves; ++k) {
      if (mode.leaf[k].extent > 1) return std::abs(mode.leaf[k].stride);
    }
    return std::int64_t{0};
  };
  int together = 0;
  while (together < rank && stride(together) != 1) ++together;
  const int cut = together == rank ? 1 : std::max(together, 1);
  std::vector<int> before(static_cast<std::size_t>(cut));
  std::iota(before.begin(), before.end(), 0);
  std::stable_sort(before.begin(), before.end(),
                   [&](int a, int b) { return stride(a) < stride(b); });
  detail::TupleBuilder rows;
  for (const int i : before) rows.add(layout.mode(i));
  detail::TupleBuilder columns;
  for (int i = cut; i < rank; ++i) columns.add(layout.mode(i));
  const auto one = [](detail::TupleBuilder& modes, int count, const Layout& first) {
    return count == 1 ? first : modes.layout();
  };
  return make_layout(
      {one(rows, cut, layout.mode(before.front())), one(columns, rank - cut, layout.mode(cut))});
}

TileShape tile_shape(const Layout& layout, int bytes) {
  if (!is_width(bytes)) {
    throw Error(Status::invalid_argument,
                fmt::format("elements of {} B: they have 1, 2, 4, 8 or 16", bytes));
  }
  const int rank = layout.rank();
  if (rank > 2) {
    throw Error(Status::invalid_argument,
                fmt::format("{} has {} modes: rows and columns are two; group the others, as in "
                            "((2,4),8)",
                            to_string(layout), rank));
  }
  if (layout.size() > most_tile_elements) {
    throw Error(Status::unsupported,
                fmt::format("{} has {} elements: a tile has at most {}", to_string(layout),
                            layout.size(), most_tile_elements));
  }
  if (rank == 1) return {1, layout.size(), bytes};
  const std::int64_t rows = layout.mode(0).size();
  const std::int64_t columns = layout.mode(1).size();
  const bool across = columns > 1 && layout(0, 1) == layout(0, 0) + 1;
  const bool down = !across && rows > 1 && layout(1, 0) == layout(0, 0) + 1;
  return {rows, columns, bytes, down};
}

Access walk_access(const TileWalk& walk, SharedOp op) {
  if (std::string reason = walk.why_not(); !reason.empty()) refuse_access(name(walk.kind), reason);
  Access access{name(walk.kind), op, walk.vector, {}, walk.down};
  const std::int64_t requests = walk.requests();
  access.requests.resize(static_cast<std::size_t>(requests));
  for (std::int64_t i = 0; i < requests; ++i) {
    LanePoints& lanes = access.requests[static_cast<std::size_t>(i)];
    for (int lane = 0; lane < warp_lanes; ++lane) {
      lanes[static_cast<std::size_t>(lane)] = walk.at(i, lane);
    }
  }
  return access;
}

Access parse_access(std::string_view text, const TileShape& tile, const AccessDefaults& defaults) {
  std::string_view rest = text;
  const Suffixes suffixes = take_suffixes(rest, text);
  Access access;
  access.op = suffixes.op.value_or(defaults.op);
  int width = suffixes.width > 0   ? suffixes.width
              : defaults.width > 0 ? defaults.width
                                   : tile.bytes;
  if (access.op == SharedOp::ldmatrix || access.op == SharedOp::stmatrix) {
    if (suffixes.width != 0 && suffixes.width != 16)
      refuse_access(text, "rows of matrices have 16 bytes");
    width = 16;
  }
  std::optional<TileWalk> walk = walk_named(rest);
  if (walk && walk->kind == LayoutWalk::matrices) {
    if (suffixes.width != 0 && suffixes.width != 16)
      refuse_access(text, "rows of matrices have 16 bytes");
    if (suffixes.op) refuse_access(text, "ldmatrix loads and stmatrix stores");
    width = 16;
    const bool loads = rest.substr(0, 2) == "ld" || rest.find("LDSM") != rest.npos;
    access.op = loads ? SharedOp::ldmatrix : SharedOp::stmatrix;
  }
  if (!is_width(width))
    refuse_access(text, fmt::format("{} B a lane: 1, 2, 4, 8 or 16 can be", width));
  if (width % tile.bytes != 0) {
    refuse_access(text, fmt::format("{} B a lane are no whole number of elements of {} B", width,
                                    tile.bytes));
  }
  access.vector = width / tile.bytes;
  access.down = tile.down && access.vector > 1;
  if (walk) {
    walk->rows = tile.rows;
    walk->columns = tile.columns;
    walk->vector = access.vector;
    walk->down = access.down;
    if (std::string reason = walk->why_not(); !reason.empty()) refuse_access(text, reason);
    access = walk_access(*walk, access.op);
  } else if (rest.substr(0, 3) == "tv:") {
    access.requests = thread_value(rest.substr(3), text, tile);
  } else if (rest.substr(0, 6) == "table:") {
    access.requests = Table(rest.substr(6), tile).requests();
  } else {
    refuse_access(text,
                  "none of rows, columns, blocks, diagonal, ldmatrix, stmatrix, tv:LAYOUT and "
                  "table:LANES");
  }
  access.name = text;
  return access;
}

}  // namespace cornerturn::lab
