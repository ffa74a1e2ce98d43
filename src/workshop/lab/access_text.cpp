// An access as text, for where texts are all that can be given.
#include <fmt/format.h>

#include <bit>
#include <optional>

#include "maps/algebra.hpp"
#include "maps/tile_maps.hpp"
#include "workshop/analyse/notation.hpp"
#include "workshop/lab/access.hpp"

namespace cornerturn::lab {
namespace {

// What counts as element `index` of the tile: along the rows first, as CuTe counts.
std::int64_t index_of(const TilePoint& point, const TileShape& tile) {
  return point.row + point.column * tile.rows;
}

// (lane, request) -> element, if some layout says it: of lanes and of requests every bit has a
// stride, or the requests together one.
std::optional<Layout> layout_of(const Access& access, const TileShape& tile) {
  const auto at = [&](std::size_t request, std::size_t lane) {
    return index_of(access.requests[request][lane], tile);
  };
  const std::size_t requests = access.requests.size();
  if (requests == 0 || at(0, 0) != 0) return std::nullopt;
  detail::FlatModes lanes;
  for (std::size_t lane = 1; lane < warp_lanes; lane *= 2) lanes.add(2, at(0, lane));
  detail::FlatModes steps;
  if (std::has_single_bit(requests)) {
    for (std::size_t request = 1; request < requests; request *= 2) steps.add(2, at(request, 0));
  } else {
    steps.add(static_cast<std::int64_t>(requests), at(1, 0));
  }
  const Layout layout = make_layout({coalesce(lanes.layout()), coalesce(steps.layout())});
  for (std::size_t request = 0; request < requests; ++request) {
    for (std::size_t lane = 0; lane < warp_lanes; ++lane) {
      const auto i = static_cast<std::int64_t>(lane);
      if (!access.requests[request][lane].inside) return std::nullopt;
      if (layout(i, static_cast<std::int64_t>(request)) != at(request, lane)) return std::nullopt;
    }
  }
  return layout;
}

}  // namespace

std::string access_text(const Access& access, const TileShape& tile) {
  std::string out;
  if (const auto layout = layout_of(access, tile)) {
    out = "tv:" + to_string(*layout);
  } else {
    for (const LanePoints& lanes : access.requests) {
      for (const TilePoint& point : lanes) {
        out += out.empty() ? "table:" : ",";
        out += point.inside ? std::to_string(index_of(point, tile)) : std::string("-");
      }
    }
  }
  return fmt::format("{}:{}:{}", out, name(access.op), access.vector * tile.bytes);
}

}  // namespace cornerturn::lab
