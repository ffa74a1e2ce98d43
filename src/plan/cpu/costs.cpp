#include "plan/cpu/costs.hpp"

#include <string_view>

namespace cornerturn::plan {

std::vector<CpuCosts::Named> CpuCosts::named() {
  std::vector<Named> all;
  const auto add = [&](std::string_view family, auto& costs) {
    for (Cost& cost : costs_in(costs)) {
      all.push_back({std::string(family) + "." + std::string(cost.name), &cost});
    }
  };
  add("copy", copy);
  add("rows", rows);
  add("units", units);
  add("tile", tile);
  add("pack_lines", pack_lines);
  add("pack", pack);
  add("boxes", boxes);
  add("shuffle", shuffle);
  add("strided", strided);
  add("convert", convert);
  add("gather", gather);
  add("blocks", blocks);
  add("amax", amax);
  add("swap", swap);
  add("passes", passes);
  return all;
}

}  // namespace cornerturn::plan
