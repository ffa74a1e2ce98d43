#include "plan/cpu/copy.hpp"

#include <fmt/format.h>

#include "plan/cpu/cpu_info.hpp"

namespace cornerturn::plan::copy {

const char* Family::why_not(const Problem& normal, const CpuInfo&) {
  if (normal.rank() > 1) return "it needs a single mode";
  if (normal.rank() == 0) return nullptr;
  const Mode& mode = normal.modes.back();
  const std::int64_t size = normal.dst_type.size();
  if (mode.dst_stride != size || (mode.src_stride != size && mode.src_stride != -size)) {
    return "it needs the mode to be contiguous on both sides";
  }
  return nullptr;
}

void Family::configure(const Problem& normal, const CpuInfo& cpu, const Add<CopyConfig>& add) {
  add({normal.rank() == 1 && normal.modes.back().src_stride < 0, stores_for(normal, cpu)});
}

double Family::cost_ns(const CopyConfig&, const Problem& normal, const CpuInfo&, const Costs& c) {
  return static_cast<double>(normal.bytes()) / c.bytes_a_ns;
}

std::string Family::describe(const CopyConfig& config, const Problem& normal) {
  return fmt::format(
      "{}{}",
      config.reversed ? fmt::format("{} B at a time, backwards, ", normal.dst_type.size()) : "",
      past_caches(config.stores) ? "whole lines around the caches" : "through the caches");
}

}  // namespace cornerturn::plan::copy
