#include "plan/cpu/blocks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <utility>

#include "plan/cpu/block_boxes.hpp"
#include "plan/cpu/cpu_info.hpp"

namespace cornerturn::plan {

bool operator==(const BlocksConfig& a, const BlocksConfig& b) {
  return a.boxes == b.boxes || (a.boxes != nullptr && b.boxes != nullptr && *a.boxes == *b.boxes);
}

namespace blocks {
namespace {

// Policies. A box has so many elements, so that its stage stays in the second-level cache. It takes
// so many of a stripe; where blocks have several lines, or there is a second result, whose stripes
// go the other way, so many of either. It takes so many along the mode in which the array of plain
// values has its runs.
constexpr std::int64_t box_elements = 32 << 10;
constexpr std::int64_t box_stripe = 512;
constexpr std::int64_t box_stripe_of_two = 128;
constexpr std::int64_t box_run = 128;

// The mode along which plain values lie closest. What repeats them comes last.
int fastest_mode(const Problem& normal) {
  const auto distance = [&](int mode) {
    const std::int64_t stride = std::abs(plain_stride(normal, mode));
    return stride == 0 ? std::numeric_limits<std::int64_t>::max() : stride;
  };
  int fastest = 0;
  for (int i = 1; i < normal.rank(); ++i) {
    if (distance(i) < distance(fastest)) fastest = i;
  }
  return fastest;
}

Extents box_extents(const Problem& normal) {
  Extents extent(static_cast<std::size_t>(normal.rank()), 1);
  std::int64_t volume = 1;
  const auto take = [&](int mode, std::int64_t wanted) {
    std::int64_t& taken = extent[static_cast<std::size_t>(mode)];
    if (taken > 1) return;
    taken = std::clamp<std::int64_t>(normal.modes[mode].extent, 1, wanted);
    volume *= taken;
  };
  const Blocks& blocks = *normal.blocks;
  const bool has_lines = blocks.row().across > 1;
  take(blocks.first.axis, blocks.second || has_lines ? box_stripe_of_two : box_stripe);
  if (blocks.second) take(blocks.second->axis, box_stripe_of_two);
  if (has_lines) take(blocks.first.across, box_stripe_of_two);
  take(fastest_mode(normal), box_run);
  for (int i = normal.rank(); i-- > 0 && volume < box_elements;) take(i, box_elements / volume);
  return extent;
}

}  // namespace

const char* Family::why_not(const Problem& normal, const CpuInfo&) {
  if (normal.lists != nullptr) {
    if (const char* rule = why_not_spread(normal)) return rule;
  }
  return is_real(plain_type(normal).kind()) ? nullptr : "the plain values are not real";
}

void Family::configure(const Problem& normal, const CpuInfo& cpu, const Add<BlocksConfig>& add) {
  const BlockModes modes(normal);
  Extents extent = box_extents(modes.problem);
  if (normal.elements() == 0) {
    return add({std::make_shared<const BlockBoxes>(BlockBoxes{std::move(extent), {}, {}, {}, {}})});
  }
  add({std::make_shared<const BlockBoxes>(plan_block_boxes(std::move(extent), modes, cpu))});
}

double Family::cost_ns(const BlocksConfig& config, const Problem& normal, const CpuInfo&,
                       const Costs& c) {
  if (normal.elements() == 0) return 0;
  const BlockModes modes(normal);
  const Blocks& blocks = *normal.blocks;
  const BlockBoxes& boxes = *config.boxes;
  const double value_ns = blocks.back ? c.dequantised_ns : c.quantised_ns;
  const int results = blocks.second ? 2 : 1;
  // As if all boxes were whole.
  double box_ns = 0;
  for (const BoxMoves* moves :
       {&boxes.plain, &boxes.codes, &boxes.transposed, &boxes.second_codes}) {
    if (moves->of_shape.empty()) continue;
    const bool by_steps = modes.list >= 0 && moves == &boxes.plain;
    box_ns +=
        moves->of_shape.front().chosen.seconds() * 1e9 *
        static_cast<double>(by_steps ? boxes.extent[static_cast<std::size_t>(modes.list)] : 1);
  }
  const auto elements = static_cast<double>(normal.elements());
  const double whole =
      elements / static_cast<double>(block_grid(boxes.extent, modes.problem).elements);
  return whole * box_ns + results * elements * value_ns;
}

std::string Family::describe(const BlocksConfig& config, const Problem& normal) {
  const Blocks& blocks = *normal.blocks;
  const BlockBoxes& boxes = *config.boxes;
  const std::string format = name_of(blocks.rule.format);
  std::string text = blocks.back
                         ? fmt::format("{} to {}", format, normal.dst_type.name())
                         : fmt::format("{} to {}{}", normal.src_type.name(), format,
                                       blocks.second ? fmt::format(" along two modes") : "");
  if (boxes.plain.of_shape.empty()) return text;
  text += fmt::format(", boxes of {} elements", fmt::join(boxes.extent, " by "));
  const bool packed = !blocks.row().has_scales();
  const auto add = [&](const char* verb, const BoxMoves& moves) {
    text += fmt::format(", {} by {}", verb, plan::describe(moves));
  };
  if (blocks.back && !packed) add("read", boxes.codes);
  add(blocks.back ? "written" : "read", boxes.plain);
  if (!blocks.back && !packed) add("written", boxes.codes);
  if (!blocks.second) return text;
  add("transposed", boxes.transposed);
  if (!packed) add("written", boxes.second_codes);
  return text;
}

std::string Family::details(const BlocksConfig& config) {
  const BlockBoxes& boxes = *config.boxes;
  return plan::explain(boxes.plain, "boxes") + plan::explain(boxes.codes, "codes") +
         plan::explain(boxes.transposed, "transposed") + plan::explain(boxes.second_codes, "codes");
}

}  // namespace blocks
}  // namespace cornerturn::plan
