#include "plan/cpu/convert.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "plan/cpu/box_moves.hpp"
#include "plan/cpu/convert_boxes.hpp"
#include "plan/cpu/cpu_info.hpp"
#include "values/types.hpp"

namespace cornerturn::plan {

bool operator==(const ConvertConfig& a, const ConvertConfig& b) {
  const bool same_moves =
      a.moves == b.moves || (a.moves != nullptr && b.moves != nullptr && *a.moves == *b.moves);
  return a.order == b.order && a.src_run == b.src_run && a.dst_run == b.dst_run &&
         a.stores == b.stores && same_moves;
}

namespace convert {
namespace {

using Order = ConvertConfig::Order;

// Policies. Runs of so many elements are worth a vector loop, and pieces of so many bytes worth
// moving before they are converted; destination runs up to so many bytes are worth joining.
constexpr std::int64_t shortest_run = 16;
constexpr std::int64_t shortest_moved = 32;
constexpr std::int64_t short_run = 128;
// A box has runs of so many bytes on the side that is converted and on the other, as long as its
// stage leaves half of the second-level cache to the rest. Runs are not cut below so many elements,
// nor boxes of so few in order to have that many boxes for threads to share.
constexpr std::int64_t converted_run_bytes = 1024;
constexpr std::int64_t moved_run_bytes = 2048;
constexpr std::int64_t l2_share = 2;
constexpr std::int64_t least_run = 32;
constexpr std::int64_t least_box = 16 << 10;
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
         past_caches(stores_for(normal, cpu));
}

// Where the destination is read as well, its lines are in the caches anyway.
Stores stores_of(Order order, const Problem& normal, const CpuInfo& cpu) {
  if (normal.values.beta != 0) return Stores::regular;
  const Stores stores = stores_for(normal, cpu);
  const bool may_be_fresh = order == Order::direct && past_caches(stores);
  return may_be_fresh ? Stores::past_caches_unless_fresh : stores;
}

std::shared_ptr<const BoxMoves> moves_of(const ConvertConfig& config, const Problem& normal,
                                         const CpuInfo& cpu) {
  const ConvertBoxes boxes = make_boxes(config, normal);
  // A box is small, what it belongs to may not be.
  CpuInfo around = cpu;
  around.caches_taken = config.order == Order::convert_first && past_caches(config.stores);
  return std::make_shared<const BoxMoves>(plan_moves(
      boxes.shapes(), [&](int shape) { return move_of_boxes(boxes, shape, config.order, normal); },
      around));
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

const char* Family::why_not(const Problem& normal, const CpuInfo&) {
  if (normal.rank() == 0 || normal.elements() == 0) return "it has fewer than two elements";
  if (!contiguous_destination(normal) && !may_convert_first(normal)) {
    return "neither side has a contiguous run to convert";
  }
  return nullptr;
}

void Family::configure(const Problem& normal, const CpuInfo& cpu, const Add<ConvertConfig>& add) {
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
  const bool converts_first = config.order == Order::convert_first;
  config.src_run = (converts_first ? converted_run_bytes : moved_run_bytes) / src_size;
  config.dst_run = (converts_first ? moved_run_bytes : converted_run_bytes) / dst_size;
  const int staged = converts_first ? dst_size : src_size;
  const auto too_large = [&](std::int64_t elements) {
    return elements * staged > cpu.l2_bytes / l2_share ||
           (elements > least_box && elements * least_boxes > normal.elements());
  };
  while (too_large(config.src_run * config.dst_run) && config.src_run > least_run) {
    std::int64_t& longer_side =
        config.src_run * src_size > config.dst_run * dst_size ? config.src_run : config.dst_run;
    longer_side /= 2;
  }
  config.stores = stores_of(config.order, normal, cpu);
  if (config.order != Order::direct) config.moves = moves_of(config, normal, cpu);
  add(config);
}

double Family::cost_ns(const ConvertConfig& config, const Problem& normal, const CpuInfo&,
                       const Costs& c) {
  const auto elements = static_cast<double>(normal.elements());
  const double bytes = elements * (normal.src_type.size() + normal.dst_type.size());
  const bool direct = config.order == Order::direct;
  return (direct ? 0.0 : double{c.stage_start_ns}) + elements * c.element_ns + bytes * c.byte_ns;
}

std::string Family::describe(const ConvertConfig& config, const Problem& normal) {
  const std::string types = fmt::format("{} to {}", normal.src_type.name(), normal.dst_type.name());
  const char* stores = past_caches(config.stores) ? "non-temporal" : "regular";
  if (config.order == Order::direct) {
    const char* unless = config.stores == Stores::past_caches_unless_fresh
                             ? ", regular ones where pages are yet to be provided"
                             : "";
    return fmt::format("{} in runs of both sides, {} stores{}", types, stores, unless);
  }
  const std::string boxes =
      fmt::format("{}, boxes of {} by {} elements", types, config.src_run, config.dst_run);
  if (config.order == Order::convert_first) {
    return fmt::format("{}, converted, then moved by {}", boxes, plan::describe(*config.moves));
  }
  return fmt::format("{}, moved by {}, then converted, {} stores", boxes,
                     plan::describe(*config.moves), stores);
}

std::string Family::details(const ConvertConfig& config) {
  return config.moves == nullptr ? "" : explain(*config.moves, "boxes");
}

}  // namespace convert
}  // namespace cornerturn::plan
