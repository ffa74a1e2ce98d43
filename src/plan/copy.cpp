#include "plan/copy.hpp"

#include <fmt/format.h>

#include "plan/planner.hpp"

namespace cornerturn::plan::copy {

const char* why_not(const Problem& normal, const CpuInfo&) {
  if (normal.rank() > 1) return "it needs a single mode";
  if (normal.rank() == 0) return nullptr;
  const Mode& mode = normal.modes.back();
  const std::int64_t size = normal.dst_type.size();
  if (mode.dst_stride != size || (mode.src_stride != size && mode.src_stride != -size)) {
    return "it needs the mode to be contiguous on both sides";
  }
  return nullptr;
}

CopyConfig configure(const Problem& normal, const CpuInfo& cpu) {
  return {normal.rank() == 1 && normal.modes.back().src_stride < 0,
          stores_bypass_cache(normal, cpu)};
}

double cost_ns(const CopyConfig& config, const Problem& normal, const CpuInfo&) {
  const double bytes_per_ns = config.non_temporal ? 24.0 : 25.0;  // of payload
  return 20.0 + static_cast<double>(normal.bytes()) / bytes_per_ns;
}

std::string describe(const CopyConfig& config, const Problem& normal) {
  return fmt::format(
      "{}{}",
      config.reversed ? fmt::format("{} B at a time, backwards, ", normal.dst_type.size()) : "",
      config.non_temporal ? "whole lines around the caches" : "through the caches");
}

}  // namespace cornerturn::plan::copy
