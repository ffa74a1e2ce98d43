#include "plan/cpu/convert_boxes.hpp"

#include <algorithm>
#include <cstdlib>

#include "core/checked.hpp"
#include "core/divide.hpp"

namespace cornerturn::plan {
namespace {

using Order = ConvertConfig::Order;

// A box has so many elements where the problem has: what is set up for a box pays off, and some
// boxes are left for other threads.
constexpr std::int64_t least_elements = 8 << 10;
constexpr std::int64_t enough_elements = 64 << 10;
constexpr std::int64_t enough_boxes = 64;
constexpr std::int64_t direct_run = 4 << 10;
constexpr std::int64_t stage_line = 64;

std::size_t slot(int i) {
  return static_cast<std::size_t>(i);
}

class Builder {
 public:
  Builder(const ConvertConfig& config, const Problem& normal) : config_(config), normal_(normal) {
    boxes_.rank = normal.rank();
    for (int i = 0; i < boxes_.rank; ++i) {
      boxes_.extent[slot(i)] = 1;
      boxes_.by_source[slot(i)] = i;
      boxes_.by_destination[slot(i)] = boxes_.rank - 1 - i;
    }
    // What the source repeats comes last.
    const auto key = [&](int i) {
      const std::int64_t stride = std::abs(normal.modes[i].src_stride);
      return stride == 0 ? INT64_MAX : stride;
    };
    std::stable_sort(boxes_.by_source.begin(), boxes_.by_source.begin() + boxes_.rank,
                     [&](int a, int b) { return key(a) < key(b); });
    if (config.order == Order::direct) {
      // The shared run first, whatever overlaps in the source.
      const auto begin = boxes_.by_source.begin();
      const auto run = std::find(begin, begin + boxes_.rank, boxes_.rank - 1);
      std::rotate(begin, run, run + 1);
    }
  }

  ConvertBoxes build() {
    if (config_.order == Order::direct) {
      // Short runs are joined by those that neighbour them on either side.
      const bool long_runs = normal_.modes.back().extent >= direct_run;
      grow(boxes_.by_destination, &Mode::dst_stride, long_runs ? 4 * direct_run : direct_run);
      if (!long_runs) grow(boxes_.by_source, &Mode::src_stride, direct_run);
    } else {
      grow(boxes_.by_destination, &Mode::dst_stride, config_.dst_run);
      grow(boxes_.by_source, &Mode::src_stride, config_.src_run);
    }
    // Small modes that follow nothing contiguously: more of them, from the destination's on.
    const std::int64_t least =
        std::clamp(normal_.elements() / enough_boxes, least_elements, enough_elements);
    for (int k = 0; k < boxes_.rank && volume() < least; ++k) {
      const int i = boxes_.by_destination[slot(k)];
      const std::int64_t room = least / volume();
      std::int64_t& extent = boxes_.extent[slot(i)];
      extent = std::min(normal_.modes[i].extent, extent * std::max<std::int64_t>(room, 1));
    }
    boxes_.order = boxes_.by_source;
    // Few modes are cut: at most one by each stretch of a side, and one by filling the box.
    boxes_.count_boxes(normal_);
    find_run();
    lay_out_stage();
    return boxes_;
  }

 private:
  using ModeOrder = BoxGrid::ModeOrder;

  std::int64_t volume() const {
    std::int64_t product = 1;
    for (int i = 0; i < boxes_.rank; ++i) product *= boxes_.extent[slot(i)];
    return product;
  }

  // Takes modes that continue each other until they hold `wanted` elements.
  void grow(const ModeOrder& order, std::int64_t Mode::*stride, std::int64_t wanted) {
    for (int k = 0; k < boxes_.rank && wanted > 1; ++k) {
      const Mode& mode = normal_.modes[order[slot(k)]];
      if (k > 0) {
        const Mode& before = normal_.modes[order[slot(k - 1)]];
        if (std::abs(mode.*stride) != std::abs(before.*stride) * before.extent) return;
      }
      std::int64_t& extent = boxes_.extent[slot(order[slot(k)])];
      // A mode is not cut where little would be left of it.
      const std::int64_t all = mode.extent;
      extent = std::max(extent, all < wanted + wanted / 2 ? all : wanted);
      if (extent < all) return;
      wanted = ceil_div(wanted, extent);
    }
  }

  const ModeOrder& converted_order() const {
    return config_.order == Order::move_first ? boxes_.by_destination : boxes_.by_source;
  }

  bool has_vector(int mode) const {
    return normal_.scale.mode == mode || normal_.bias.mode == mode;
  }

  void find_run() {
    const ModeOrder& order = converted_order();
    for (int k = 1; k < boxes_.rank; ++k) {
      const int inner = order[slot(k - 1)];
      const int outer = order[slot(k)];
      const Mode& a = normal_.modes[inner];
      const Mode& b = normal_.modes[outer];
      const bool src_follows = a.src_stride > 0 && is_product(b.src_stride, a.src_stride, a.extent);
      const bool dst_follows = is_product(b.dst_stride, a.dst_stride, a.extent);
      const bool whole = boxes_.extent[slot(inner)] == a.extent;
      bool follows = dst_follows;
      if (config_.order == Order::convert_first) {
        follows = src_follows && (dst_follows || normal_.values.rounding == Rounding::nearest_even);
      } else if (config_.order == Order::direct) {
        follows = src_follows && dst_follows;
      }
      if (!follows || !whole || has_vector(inner) || has_vector(outer)) return;
      ++boxes_.run_modes;
    }
  }

  void lay_out_stage() {
    if (config_.order == Order::direct) return;
    const ModeOrder& order = converted_order();
    std::int64_t stride =
        config_.order == Order::convert_first ? normal_.dst_type.size() : normal_.src_type.size();
    for (int k = 0; k < boxes_.rank; ++k) {
      // Runs a power of two apart would share few sets of the first-level cache.
      if (k == boxes_.run_modes && stride >= 4 * stage_line)
        stride = ceil_div(stride, stage_line) * stage_line + stage_line;
      boxes_.stage_stride[slot(order[slot(k)])] = stride;
      stride *= boxes_.extent[slot(order[slot(k)])];
    }
    boxes_.stage_bytes = stride;
  }

  const ConvertConfig& config_;
  const Problem& normal_;
  ConvertBoxes boxes_;
};

}  // namespace

ConvertBoxes make_boxes(const ConvertConfig& config, const Problem& normal) {
  return Builder(config, normal).build();
}

Problem move_of_boxes(const ConvertBoxes& boxes, int shape, Order order, const Problem& normal) {
  const bool to_stage = order == Order::convert_first;
  const ElementType type = to_stage ? normal.dst_type : normal.src_type;
  Problem problem;  // in elements that are only moved
  problem.src_type = problem.dst_type = ElementType::bytes(type.size());
  for (int i = 0; i < boxes.rank; ++i) {
    const Mode& mode = normal.modes[i];
    const std::int64_t count = boxes.count_of(shape, i, mode);
    std::int64_t stage_step = boxes.stage_stride[static_cast<std::size_t>(i)];
    // A source run is converted from its lowest address on: a mirrored one lies so in the stage.
    if (to_stage && i == boxes.by_source[0] && mode.src_stride < 0) {
      problem.src_offset = (count - 1) * stage_step;
      stage_step = -stage_step;
    }
    problem.modes.push_back(to_stage ? Mode{count, stage_step, mode.dst_stride}
                                     : Mode{count, mode.src_stride, stage_step});
  }
  return problem;
}

}  // namespace cornerturn::plan
