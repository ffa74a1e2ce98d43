#include "plan/cpu/amax.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "plan/cpu/cpu_info.hpp"

namespace cornerturn::plan::amax {
namespace {

// A policy: a piece reads so many bytes, which take long beside what a thread does to get it.
constexpr std::int64_t piece_bytes = 256 << 10;

// The extent of the mode that is the i-th from the last, from 0 on; 1 where there is none.
std::int64_t extent_from_last(const Problem& normal, int i) {
  return i < normal.rank() ? normal.modes[normal.rank() - 1 - i].extent : 1;
}

bool follow_one_another(const Problem& normal) {
  return normal.rank() == 0 || normal.modes.back().src_stride == normal.src_type.size();
}

}  // namespace

const char* Family::why_not(const Problem& normal, const CpuInfo&) {
  return is_real(normal.src_type.kind()) ? nullptr : "the values are not real";
}

void Family::configure(const Problem& normal, const CpuInfo&, const Add<AmaxConfig>& add) {
  const std::int64_t most = piece_bytes / normal.src_type.size();
  AmaxConfig config;
  config.row = std::clamp<std::int64_t>(extent_from_last(normal, 0), 1, most);
  config.rows = std::clamp<std::int64_t>(extent_from_last(normal, 1), 1, most / config.row);
  add(config);
}

double Family::cost_ns(const AmaxConfig&, const Problem& normal, const CpuInfo& cpu,
                       const Costs& c) {
  const std::int64_t step = normal.rank() == 0 ? 0 : std::abs(normal.modes.back().src_stride);
  const std::int64_t element_bytes =
      std::clamp<std::int64_t>(step, normal.src_type.size(), cpu.line_bytes);
  return c.byte_ns * static_cast<double>(normal.elements() * element_bytes);
}

std::string Family::describe(const AmaxConfig& config, const Problem& normal) {
  return fmt::format("{} {} of {} element{}{} a piece", config.rows,
                     config.rows == 1 ? "row" : "rows", config.row, config.row == 1 ? "" : "s",
                     follow_one_another(normal) ? "" : " that lie apart");
}

}  // namespace cornerturn::plan::amax
