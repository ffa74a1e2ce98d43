#include "plan/convert.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "plan/planner.hpp"
#include "values/types.hpp"

namespace cornerturn::plan::convert {
namespace {

using Order = ConvertConfig::Order;

constexpr std::int64_t shortest_run = 16;     // elements that are worth a vector loop
constexpr std::int64_t shortest_moved = 32;   // bytes
constexpr std::int64_t short_run = 128;       // bytes
constexpr std::int64_t least_box = 16 << 10;  // elements
constexpr std::int64_t least_boxes = 16;

bool contiguous_destination(const Problem& normal) {
  return normal.modes.back().dst_stride == normal.dst_type.size();
}

// Where neighbours in the source lie in the destination must be a whole number of elements away:
// their places are then a step apart.
bool may_convert_first(const Problem& normal) {
  const int mode = source_mode(normal);
  return normal.values.beta == 0 && mode >= 0 &&
         normal.modes[mode].dst_stride % normal.dst_type.size() == 0;
}

bool is_direct(const Problem& normal) {
  const Mode& last = normal.modes.back();
  return contiguous_destination(normal) && last.src_stride == normal.src_type.size() &&
         (last.extent >= shortest_run || normal.rank() == 1);
}

// Short runs of a large destination, no narrower than the source: put one after the other before
// they are converted, they are stored in long runs. That pays off the longer, the less there is to
// move beside what is stored.
bool gathers_runs(const Problem& normal, const CpuInfo& cpu) {
  const std::int64_t run = normal.modes.back().extent;
  const std::int64_t wider = normal.dst_type.size() / normal.src_type.size();
  return normal.rank() > 1 && run * normal.src_type.size() >= shortest_moved &&
         run * normal.dst_type.size() <= short_run * wider * wider &&
         stores_bypass_cache(normal, cpu);
}

bool fits_f32(Kind kind) {
  return values::with_kind(
      kind, [](auto type) { return values::fits_f32<typename decltype(type)::type>; });
}

}  // namespace

bool is_straight(const Problem& problem) {
  const Values& values = problem.values;
  const bool arithmetic =
      values.alpha != 1 || values.beta != 0 || problem.scale.present || problem.bias.present;
  if (arithmetic || values.rounding != Rounding::nearest_even) return false;
  const Kind src = problem.src_type.kind();
  const Kind dst = problem.dst_type.kind();
  if (fits_f32(src) && fits_f32(dst)) return true;
  const bool standard = values.overflow == Overflow::standard;
  // NaNs of f16 stay signalling in f64.
  if (dst == Kind::f64) return fits_f32(src) && src != Kind::f16 && standard;
  return (src == Kind::f64 && dst == Kind::f32) || (src == Kind::i32 && dst == Kind::f32) ||
         (src == Kind::f32 && dst == Kind::i32);
}

int source_mode(const Problem& normal) {
  for (int i = normal.rank(); i-- > 0;) {
    if (std::abs(normal.modes[i].src_stride) == normal.src_type.size()) return i;
  }
  return -1;
}

const char* why_not(const Problem& normal, const CpuInfo&) {
  if (!normal.converts()) return "values are not converted";
  if (normal.rank() == 0 || normal.elements() == 0) return "it has fewer than two elements";
  if (!contiguous_destination(normal) && !may_convert_first(normal)) {
    return "neither side has a contiguous run to convert";
  }
  return nullptr;
}

ConvertConfig configure(const Problem& normal, const CpuInfo& cpu) {
  const int src_size = normal.src_type.size();
  const int dst_size = normal.dst_type.size();
  ConvertConfig config;
  if (is_direct(normal)) {
    config.order = gathers_runs(normal, cpu) ? Order::move_first : Order::direct;
  } else if (!contiguous_destination(normal)) {
    config.order = Order::convert_first;
  } else {
    config.order =
        src_size > dst_size && may_convert_first(normal) ? Order::convert_first : Order::move_first;
  }
  // Long runs on either side, and a stage that leaves half of the second-level cache to the rest.
  const bool converts_first = config.order == Order::convert_first;
  config.src_run = (converts_first ? 1024 : 2048) / src_size;
  config.dst_run = (converts_first ? 2048 : 1024) / dst_size;
  const int staged = converts_first ? dst_size : src_size;
  // And enough boxes for some threads, as long as these are worth their while.
  const auto too_large = [&](std::int64_t elements) {
    return elements * staged > cpu.l2_bytes / 2 ||
           (elements > least_box && elements * least_boxes > normal.elements());
  };
  while (too_large(config.src_run * config.dst_run) && config.src_run > 32) {
    std::int64_t& longer =
        config.src_run * src_size > config.dst_run * dst_size ? config.src_run : config.dst_run;
    longer /= 2;
  }
  config.non_temporal = stores_bypass_cache(normal, cpu);
  return config;
}

double cost_ns(const ConvertConfig& config, const Problem& normal, const CpuInfo&) {
  constexpr double start_ns = 60;
  constexpr double stage_ns = 4000;  // planning how a box is moved
  constexpr double element_ns = 0.25;
  constexpr double byte_ns = 0.12;
  const auto elements = static_cast<double>(normal.elements());
  const double bytes = elements * (normal.src_type.size() + normal.dst_type.size());
  const double staged = config.order == Order::direct ? 0 : stage_ns + 0.1 * elements;
  return start_ns + staged + elements * element_ns + bytes * byte_ns;
}

std::string describe(const ConvertConfig& config, const Problem& normal) {
  const std::string types = fmt::format("{} to {}", normal.src_type.name(), normal.dst_type.name());
  const char* stores = config.non_temporal ? "non-temporal" : "regular";
  if (config.order == Order::direct) {
    return fmt::format("{} in runs of both sides, {} stores", types, stores);
  }
  return fmt::format(
      "{}, boxes of {} by {} elements, {}, {} stores", types, config.src_run, config.dst_run,
      config.order == Order::convert_first ? "converted, then moved" : "moved, then converted",
      stores);
}

}  // namespace cornerturn::plan::convert
