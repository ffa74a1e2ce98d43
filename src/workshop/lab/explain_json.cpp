// An explanation for programs.
#include <nlohmann/json.hpp>

#include "workshop/analyse/notation.hpp"
#include "workshop/lab/explain.hpp"

namespace cornerturn::lab {
namespace {

using Json = nlohmann::ordered_json;

Json json_of(const TilePoint& point) {
  return Json::array({point.row, point.column});
}

Json json_of(const Request& request) {
  Json lanes = Json::array();
  for (int lane = 0; lane < warp_lanes; ++lane) {
    if (!request.lanes.is_active(lane)) continue;
    const auto i = static_cast<std::size_t>(lane);
    lanes.push_back({{"lane", lane},
                     {"element", json_of(request.points[i])},
                     {"address", request.lanes.address[i]},
                     {"bank", request.lanes.address[i] / bank_bytes % bank_count}});
  }
  Json groups = Json::array();
  for (const LaneGroup& group : request.groups) {
    Json members = Json::array();
    for (int lane = 0; lane < warp_lanes; ++lane) {
      if ((group.lanes >> lane & 1U) != 0) members.push_back(lane);
    }
    groups.push_back(
        {{"lanes", members}, {"wavefronts", group.wavefronts}, {"words_per_bank", group.words}});
  }
  return {{"wavefronts", request.cost.wavefronts},
          {"conflicts", request.cost.conflicts},
          {"lanes", lanes},
          {"groups", groups}};
}

Json json_of(const AccessExplanation& access) {
  Json out = {{"access", access.name},
              {"op", name(access.op)},
              {"bytes_a_lane", access.width},
              {"requests", access.requests.size()},
              {"wavefronts", access.wavefronts},
              {"floor", access.floor},
              {"conflicts", access.wavefronts - access.floor},
              {"verdict", access.verdict}};
  if (!access.clean()) out["why"] = access.why;
  out["worst_request"] = json_of(access.worst_request());
  out["worst_request"]["number"] = access.worst;
  return out;
}

Json json_of(const AddressBit& bit) {
  Json out = {{"bit", bit.bit}};
  if (!bit.from.empty()) out["from"] = bit.from;
  if (bit.is_y) out["swizzle"] = "Y";
  if (bit.is_z) out["swizzle"] = "Z";
  if (bit.xored_with >= 0) out["xored_with"] = bit.xored_with;
  if (bit.bank_bit >= 0) out["bank_bit"] = bit.bank_bit;
  return out;
}

}  // namespace

std::string Explanation::to_json() const {
  Json out = {{"layout", to_string(layout)},  {"rows", tile.rows},
              {"columns", tile.columns},      {"bytes", tile.bytes},
              {"shared_bytes", shared_bytes}, {"clean", clean()}};
  if (same_place) {
    out["not_injective"] = {{"a", json_of(same_place->a)},
                            {"b", json_of(same_place->b)},
                            {"offset", same_place->offset}};
  }
  out["accesses"] = Json::array();
  for (const AccessExplanation& access : accesses) out["accesses"].push_back(json_of(access));
  if (remedy) out["remedy"] = {{"layout", to_string(remedy->layout)}, {"text", remedy->text}};
  out["address_bits"] = Json::array();
  for (const AddressBit& bit : bits) out["address_bits"].push_back(json_of(bit));
  if (layout.swizzle.bits > 0) {
    out["swizzle"] = {{"b", period.b},
                      {"m", period.m},
                      {"s", period.s},
                      {"period_elements", period.elements},
                      {"period_rows", period.rows},
                      {"unchanged_rows", period.unchanged}};
  }
  if (time) {
    out["time"] = {{"device", time->device},
                   {"payload_bytes_per_clock", time->bytes_per_clock},
                   {"wavefronts_per_128_bytes", time->wavefronts},
                   {"clocks_per_128_bytes", time->clocks},
                   {"assumed_legs", time->assumed_legs},
                   {"shared_clocks_per_128_bytes", time->shared_clocks()},
                   {"memory_clocks_per_128_bytes", time->memory_clocks()},
                   {"slowdown", time->slowdown()}};
  }
  return out.dump(2, ' ', true, nlohmann::json::error_handler_t::replace);
}

}  // namespace cornerturn::lab
