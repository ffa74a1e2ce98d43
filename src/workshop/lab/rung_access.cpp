#include "workshop/lab/rung_access.hpp"

#include <fmt/format.h>

#include <map>
#include <optional>

#include "cornerturn/error.hpp"
#include "workshop/analyse/cute_legs.hpp"
#include "workshop/ladder/emulate.hpp"

namespace cornerturn::lab {
namespace {

[[noreturn]] void refuse_rung(std::string_view rung, const std::string& problem) {
  throw Error(Status::invalid_argument, fmt::format("access 'rung:{}': {}", rung, problem));
}

SharedOp shared_op(simt::Op op) {
  switch (op) {
    case simt::Op::shared_load:
      return SharedOp::load;
    case simt::Op::ldmatrix:
      return SharedOp::ldmatrix;
    case simt::Op::stmatrix:
      return SharedOp::stmatrix;
    default:
      return SharedOp::store;
  }
}

LanePoints nobody() {
  LanePoints lanes;
  lanes.fill({0, 0, false});
  return lanes;
}

std::string leg_name(std::string_view rung, simt::Op op) {
  return fmt::format("{}, {}", rung, cornerturn::name(op));
}

std::vector<Access> of_layouts(const ladder::Rung& rung, const ladder::TileMap& tile) {
  std::vector<Access> accesses;
  for (const CuteLeg& leg : cute_legs(rung.name)) {
    if (simt::is_global(leg.op) || leg.tma) continue;
    Access access{leg_name(rung.name, leg.op), shared_op(leg.op), leg.width / tile.slot_bytes, {}};
    const std::int64_t threads = leg.takes.layout.mode(0).size();
    for (std::int64_t step = 0; step < leg.takes.layout.mode(1).size(); ++step) {
      for (std::int64_t first = 0; first < threads; first += warp_lanes) {
        LanePoints lanes;
        for (int lane = 0; lane < warp_lanes; ++lane) {
          const std::int64_t element = leg.takes(first + lane, step);
          lanes[static_cast<std::size_t>(lane)] = {static_cast<int>(element % tile.rows),
                                                   static_cast<int>(element / tile.rows), true};
        }
        access.requests.push_back(lanes);
      }
    }
    accesses.push_back(std::move(access));
  }
  return accesses;
}

std::vector<Access> of_emulator(const ladder::Rung& rung, const ladder::TileMap& tile,
                                const ladder::Matrix& matrix) {
  std::map<std::uint64_t, TilePoint> element;  // by byte address
  for (int row = 0; row < tile.rows; ++row) {
    for (int column = 0; column < tile.columns; ++column) {
      element[static_cast<std::uint64_t>(tile.at(row, column) * tile.slot_bytes)] = {row, column,
                                                                                     true};
    }
  }
  std::vector<Access> accesses;
  std::map<std::uint16_t, std::size_t> of_site;
  ladder::emulate(rung, matrix, nullptr, [&](const simt::Request& request) {
    if (simt::is_global(request.op)) return;
    const auto [found, is_new] = of_site.try_emplace(request.site_index, accesses.size());
    if (is_new) {
      accesses.push_back({leg_name(rung.name, request.op),
                          shared_op(request.op),
                          request.lanes.width / matrix.bytes,
                          {}});
    }
    LanePoints lanes = nobody();
    for (int lane = 0; lane < warp_lanes; ++lane) {
      if (!request.lanes.is_active(lane)) continue;
      const auto i = static_cast<std::size_t>(lane);
      const auto at = element.find(request.lanes.address[i]);
      if (at == element.end()) {
        refuse_rung(rung.name, fmt::format("lane {} reaches byte {} of its shared memory, where no "
                                           "element of its tile begins",
                                           lane, request.lanes.address[i]));
      }
      lanes[i] = at->second;
    }
    accesses[found->second].requests.push_back(lanes);
  });
  return accesses;
}

}  // namespace

std::vector<Access> rung_accesses(std::string_view rung, const TileShape& tile) {
  const ladder::Rung* found = ladder::find_rung(rung);
  if (found == nullptr) refuse_rung(rung, "no such rung; `cornerturn ladder` lists them");
  const std::optional<ladder::TileMap> map = found->tile(tile.bytes);
  if (!map) refuse_rung(rung, fmt::format("it has no tile of elements of {} B", tile.bytes));
  if (map->rows != tile.rows || map->columns != tile.columns) {
    refuse_rung(rung, fmt::format("its tile has {} x {} elements, the layout {} x {}", map->rows,
                                  map->columns, tile.rows, tile.columns));
  }
  std::vector<Access> accesses;
  if (found->family == ladder::Family::cute) {
    accesses = of_layouts(*found, *map);
  } else {
    if (map->slot_bytes != tile.bytes) {
      refuse_rung(rung, fmt::format("an element takes {} B of its tile", map->slot_bytes));
    }
    const ladder::Matrix matrix{map->rows, map->columns, tile.bytes};
    if (const auto reason = ladder::why_not(*found, matrix)) refuse_rung(rung, *reason);
    accesses = of_emulator(*found, *map, matrix);
  }
  if (accesses.empty()) refuse_rung(rung, "none of its lanes reaches shared memory");
  return accesses;
}

}  // namespace cornerturn::lab
