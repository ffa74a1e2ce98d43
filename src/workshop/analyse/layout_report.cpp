#include "workshop/analyse/layout_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cornerturn/error.hpp"
#include "workshop/analyse/access.hpp"
#include "workshop/analyse/notation.hpp"

namespace cornerturn {
namespace {

constexpr std::int64_t largest_shared = 227 * 1024;

struct Walk : TileWalk {
  const LayoutReport& report;

  Walk(const LayoutReport& of, LayoutWalk walk, int v)
      : TileWalk{walk, of.rows, of.columns, v}, report(of) {}

  std::int64_t offset(std::int64_t row, std::int64_t column) const {
    return report.layout.layout.rank() == 1 ? report.layout(column) : report.layout(row, column);
  }
};

// Why the elements of some vector do not lie together, aligned.
std::string why_not(const Walk& walk) {
  const LayoutReport& r = walk.report;
  if (std::string reason = walk.TileWalk::why_not(); !reason.empty()) return reason;
  for (std::int64_t row = 0; row < r.rows; ++row) {
    for (std::int64_t column = 0; column < r.columns; column += walk.vector) {
      const std::int64_t first = walk.offset(row, column);
      for (int k = 1; k < walk.vector; ++k) {
        const std::int64_t next = walk.offset(row, column + k);
        if (next == first + k) continue;
        return fmt::format("({},{}) lies at {}, ({},{}) at {}: they are no neighbours", row, column,
                           first, row, column + k, next);
      }
      if (first % walk.vector != 0) {
        return fmt::format("({},{}) lies at byte {}, no multiple of {}", row, column,
                           first * r.bytes, walk.vector * r.bytes);
      }
    }
  }
  return {};
}

LayoutAccess access(const Walk& walk) {
  LayoutAccess result;
  result.walk = walk.kind;
  result.width = walk.vector * walk.report.bytes;
  result.why_not = why_not(walk);
  if (!result.why_not.empty()) return result;
  for (std::int64_t i = 0; i < walk.requests(); ++i) {
    WarpRequest request;
    request.width = result.width;
    for (int lane = 0; lane < warp_lanes; ++lane) {
      const TilePoint point = walk.at(i, lane);
      if (!point.inside) {
        request.active &= ~(1U << lane);
        continue;
      }
      request.address[static_cast<std::size_t>(lane)] =
          static_cast<std::uint64_t>(walk.offset(point.row, point.column) * walk.report.bytes);
    }
    const SharedCost cost = shared_cost(request, SharedOp::load);
    if (result.requests == 0 || cost.wavefronts > result.worst.wavefronts) result.worst = cost;
    result.wavefronts += cost.wavefronts;
    ++result.requests;
  }
  return result;
}

bool reaches_below_zero(const SwizzledLayout& layout) {
  std::int64_t least = layout.offset;
  for (int i = 0; i < layout.layout.leaves; ++i) {
    const Layout::Leaf& leaf = layout.layout.leaf[i];
    least += std::min<std::int64_t>(0, (leaf.extent - 1) * leaf.stride);
  }
  return least < 0;
}

std::string line(const LayoutAccess& access) {
  const std::string head = fmt::format("{:<8} {:>2} B a lane   ", name(access.walk), access.width);
  if (!access.why_not.empty()) return head + "impossible: " + access.why_not + "\n";
  return head + describe(access.worst) + "\n";
}

nlohmann::ordered_json json_of(const LayoutAccess& access) {
  nlohmann::ordered_json out = {{"walk", name(access.walk)}, {"bytes_a_lane", access.width}};
  if (!access.why_not.empty()) {
    out["why_not"] = access.why_not;
    return out;
  }
  out["requests"] = access.requests;
  out["wavefronts"] = access.wavefronts;
  out["worst_request"] = {{"wavefronts", access.worst.wavefronts},
                          {"ideal", access.worst.ideal},
                          {"conflicts", access.worst.conflicts}};
  if (!access.worst.clean()) out["worst_request"]["collision"] = describe(access.worst.collision);
  return out;
}

}  // namespace

LayoutReport report_layout(const SwizzledLayout& layout, int bytes) {
  if (bytes != 1 && bytes != 2 && bytes != 4 && bytes != 8 && bytes != 16) {
    throw Error(Status::invalid_argument,
                fmt::format("elements of {} B: they have 1, 2, 4, 8 or 16", bytes));
  }
  const int rank = layout.layout.rank();
  if (rank > 2) {
    throw Error(Status::invalid_argument,
                fmt::format("{} has {} modes: rows and columns are two; group the others, as in "
                            "((2,4),8)",
                            to_string(layout), rank));
  }
  LayoutReport report;
  report.layout = layout;
  report.bytes = bytes;
  report.rows = rank == 1 ? 1 : layout.layout.mode(0).size();
  report.columns = rank == 1 ? layout.size() : layout.layout.mode(1).size();
  report.cosize = layout.layout.cosize();
  report.span = layout.span();
  if (reaches_below_zero(layout)) {
    report.why_no_access = "some offsets are negative";
  } else if (report.span * bytes > largest_shared) {
    report.why_no_access = fmt::format("{} B are more than the {} B of shared memory of a block",
                                       report.span * bytes, largest_shared);
  }
  if (!report.why_no_access.empty()) return report;
  for (const LayoutWalk kind : {LayoutWalk::rows, LayoutWalk::columns, LayoutWalk::blocks}) {
    // A block of one element is a column.
    for (int vector = kind == LayoutWalk::blocks ? 2 : 1; vector * bytes <= 16; vector *= 2) {
      report.accesses.push_back(access({report, kind, vector}));
    }
  }
  return report;
}

std::string LayoutReport::text() const {
  std::string out = to_string(layout) + "\n";
  out += fmt::format("shape        {} x {}, {} elements of {} B\n", rows, columns, rows * columns,
                     bytes);
  out += fmt::format("cosize       {}\n", cosize);
  if (layout.swizzle.bits > 0) {
    out += fmt::format("swizzled     within {} elements, {} B\n", span, span * bytes);
    out += fmt::format("period       {} elements", layout.swizzle.period());
    if (layout.layout.rank() == 2) {
      const std::int64_t row = layout.layout.mode(0).leaf[0].stride;
      if (layout.layout.mode(0).leaves == 1 && row > 0) {
        out += fmt::format(", {} rows of {}", layout.swizzle.period_rows(row), row);
      }
    }
    out += "\n";
  }
  if (!why_no_access.empty()) return out + "accesses     not looked at: " + why_no_access + "\n";
  out +=
      "\nWhat the worst request of 32 lanes costs: rows, along the rows; columns, lane i takes row "
      "i;\n"
      "blocks, lane i takes row V i, V elements a lane.\n";
  for (const LayoutAccess& access : accesses) out += line(access);
  return out;
}

std::string LayoutReport::json() const {
  nlohmann::ordered_json out;
  out["layout"] = to_string(layout);
  out["bytes"] = bytes;
  out["rows"] = rows;
  out["columns"] = columns;
  out["size"] = rows * columns;
  out["cosize"] = cosize;
  out["span"] = span;
  out["swizzle_period"] = layout.swizzle.period();
  if (!why_no_access.empty()) out["why_no_access"] = why_no_access;
  for (const LayoutAccess& access : accesses) out["accesses"].push_back(json_of(access));
  return out.dump(2, ' ', true, nlohmann::json::error_handler_t::replace);
}

}  // namespace cornerturn
