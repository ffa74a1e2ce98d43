#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>

#include "core/validate.hpp"
#include "plan/gpu/convert.hpp"
#include "plan/gpu/pack/layout.hpp"
#include "plan/gpu/runs.hpp"
#include "plan/gpu/sectors.hpp"

namespace cornerturn::plan::gpu::pack {
namespace {

using kernels::PackArgs;
using kernels::PackDigit;
using kernels::PackDigits;
using kernels::PackList;
using kernels::PackSide;

// The arguments, and what making them takes.
struct Making {
  const Box& box;
  const Box::Side& to;  // the runs of the destination
  const Layout& layout;
  const Problem& normal;
  PackArgs& args;
  BoxOrder order;
};

std::uint32_t extent_of(const Making& of, int which) {
  return static_cast<std::uint32_t>(of.box.extent[static_cast<std::size_t>(which)]);
}

// Which of the cuts tells how many indices of the mode a box has.
int cut_of(const Making& of, int which) {
  const std::uint32_t extent = extent_of(of, which);
  return extent == of.normal.modes[which].extent || extent == 1 ? -1 : of.order.of(which);
}

// Appends modes to a list.
class Appended {
 public:
  explicit Appended(PackDigits& to) : to_(to) {}

  // Bytes for each index, on the list's side and in shared memory.
  PackDigit& add(std::uint32_t extent, std::int64_t stride, int shared, int pad_shift) {
    PackDigit& digit = to_.digit[to_.count++];
    digit.pad_shift = static_cast<std::uint8_t>(pad_shift);
    to_.padded = to_.padded || pad_shift != no_pads;
    digit.before = kernels::PackQuotient(numbers_);
    digit.extent = static_cast<std::uint16_t>(extent);
    digit.more = stride - reached_;
    digit.more_shared = shared - reached_shared_;
    numbers_ *= extent;
    reached_ = stride * extent;
    reached_shared_ = shared * static_cast<int>(extent);
    return digit;
  }

 private:
  PackDigits& to_;
  std::uint32_t numbers_ = 1;
  std::int64_t reached_ = 0;
  int reached_shared_ = 0;
};

// The modes of a side's run, and those beside it; `each` hears of the former.
template <class Each>
void set_side(Making& of, PackSide& side, PackList& list, const Box::Side& order,
              std::int64_t Mode::*stride, const Each& each) {
  Appended beside(list.beside);
  side.bytes = static_cast<int>(element_size(of.normal, stride));
  for (int i = 0; i < order.modes; ++i) {
    const int which = order.order[static_cast<std::size_t>(i)];
    const std::uint32_t extent = extent_of(of, which);
    if (extent == 1) continue;
    if (i >= order.run_modes) {
      const auto at = static_cast<std::size_t>(which);
      PackDigit& digit = beside.add(extent, of.normal.modes[which].*stride, of.layout.shared[at],
                                    of.layout.pad_shift[at]);
      digit.cut = static_cast<std::int8_t>(cut_of(of, which));
      side.runs *= extent;
      continue;
    }
    const bool is_last = i + 1 == order.run_modes;
    if (is_last) {
      side.cut = static_cast<std::int8_t>(cut_of(of, which));
      side.bytes = static_cast<int>(order.places * element_size(of.normal, stride));
      list.last.bytes = static_cast<int>(std::abs(of.normal.modes[which].*stride));
      list.last.gap = list.last.bytes * static_cast<int>(extent) - side.bytes;
    }
    each(which, extent, is_last);
  }
}

// What an axis adds, in two parts.
struct Split {
  explicit Split(std::int64_t bytes)
      : near(static_cast<std::int32_t>(static_cast<std::uint32_t>(bytes))),
        far(static_cast<std::int32_t>((bytes - near) >> 32)) {}

  std::int32_t near;
  std::int32_t far;
};

// The walk from box to box.
void set_boxes(Making& of) {
  const Box& box = of.box;
  PackArgs& args = of.args;
  std::uint32_t before = 1;
  std::int64_t src_reached = 0, dst_reached = 0;
  for (int at = 0; at < of.order.count; ++at) {
    const int i = of.order.modes[static_cast<std::size_t>(at)];
    const Mode& mode = of.normal.modes[i];
    const std::int64_t step = box.step(i);
    const std::int64_t all = ceil_div(mode.extent, step) * step;
    const Split src(step * mode.src_stride - src_reached),
        dst(step * mode.dst_stride - dst_reached);
    args.axis[at] = {kernels::PackQuotient(before), src.near, dst.near};
    args.far[at] = {src.far, dst.far};
    args.wide = args.wide || src.far != 0 || dst.far != 0;
    if (at < PackArgs::max_cuts) {
      args.cut[at] = {static_cast<std::uint32_t>(-step), extent_of(of, i),
                      static_cast<std::uint32_t>(mode.extent), static_cast<std::uint32_t>(all)};
    }
    before *= static_cast<std::uint32_t>(all / step);
    src_reached = all * mode.src_stride;
    dst_reached = all * mode.dst_stride;
  }
  args.axes = static_cast<std::uint8_t>(of.order.count);
  args.axis[of.order.count].before = kernels::PackQuotient(before);
  if (box.shared > 0) args.shared_cut = static_cast<std::int8_t>(of.order.of(box.shared_mode));
}

// Runs of the source that go backwards lie before their first element.
void add_flip(Making& of, int which, std::uint32_t extent) {
  if (!is_flipped(of.box, of.normal, which)) return;
  PackArgs& args = of.args;
  const auto bytes = static_cast<int>(-of.normal.modes[which].src_stride);
  args.flip[args.flips++] = {extent, cut_of(of, which), bytes};
  args.room += static_cast<int>(extent - 1) * bytes;
}

// What may be read, and how far a box reaches.
void set_reach(PackArgs& args, const Box& box, const Problem& normal) {
  const Reach reach = src_reach(normal);
  args.src_low = reach.low - normal.src_offset;
  args.src_high = reach.high - normal.src_offset;
  // From a box's first element to its lowest byte, and behind its highest
  std::int64_t low = 0, high = normal.src_type.size();
  for (int i = 0; i < normal.rank(); ++i) {
    const std::int64_t last =
        (box.extent[static_cast<std::size_t>(i)] - 1) * normal.modes[i].src_stride;
    (last < 0 ? low : high) += last;
  }
  args.safe_low = args.src_low - low + vector - 1;
  args.safe_high = args.src_high - high - (vector - 1);
}

// The modes of the destination's run. Its period is what all but the last make.
class Run {
 public:
  explicit Run(Making& of) : of_(of), modes_(of.args.of_run) {}

  void add(int which, std::uint32_t extent, bool is_last) {
    PackArgs& args = of_.args;
    const auto at = static_cast<std::size_t>(which);
    int stride = of_.layout.shared[at];
    int shift = of_.layout.pad_shift[at];
    std::int64_t dst_stride = of_.normal.modes[which].dst_stride;
    if (is_last && args.anywhere && shift != no_pads) {
      const auto even = 1U << shift;  // as many as lie evenly
      if (even > 1) modes_.add(even, dst_stride, stride, no_pads);
      args.period = kernels::PackDivide(args.period.divisor * even);
      stride = static_cast<int>(even) * stride + static_cast<int>(vector);
      dst_stride *= even;
      extent = (extent + even - 1) / even;
      shift = no_pads;
    }
    modes_.add(extent, dst_stride, stride, shift);
    if (is_last) args.last_stride = stride;
    const bool is_alone = is_last && !args.anywhere && of_.to.run_modes == 1;
    if (!is_last || is_alone) args.period = kernels::PackDivide(args.period.divisor * extent);
  }

 private:
  Making& of_;
  Appended modes_;
};

// Whether the L1 should keep what is loaded, as measured: it saves the L2 requests, but not where
// runs are short or whole vectors and elements have 1 or 2 bytes.
bool gains_from_l1(const PackConfig& config, const Box& box, const Problem& normal) {
  const int size = normal.src_type.size();
  const std::int64_t short_run = size == 1 ? 256 : 128;  // bytes
  return size > 2 || (config.anywhere && box.src.run * size >= short_run);
}

// What is asked for of the destination's rows, if a box has them whole, or as much as it takes.
kernels::PackPrefetch prefetch_of(const Box& box, const Box::Side& to, const Problem& normal) {
  using kernels::PackPrefetch;
  int modes = 0;
  std::int64_t reached = normal.dst_type.size();
  for (int i = 0; i < to.run_modes; ++i) {
    const int which = to.order[static_cast<std::size_t>(i)];
    const Mode& mode = normal.modes[which];
    if (mode.extent == 1) continue;
    ++modes;
    if (mode.dst_stride - reached >= sector_bytes) return PackPrefetch::none;
    reached += mode.dst_stride * (box.extent[static_cast<std::size_t>(which)] - 1);
  }
  if (to.places != to.run) return PackPrefetch::all;
  return modes == dst_row(normal).modes ? PackPrefetch::ends : PackPrefetch::none;
}

}  // namespace

BoxOrder::BoxOrder(const Box& box, const Problem& normal, bool anywhere) {
  const auto add = [&](int which) {
    if (box.step(which) == normal.modes[which].extent || of(which) >= 0) return;
    modes[static_cast<std::size_t>(count++)] = static_cast<std::uint8_t>(which);
  };
  if (anywhere) {  // neighbouring blocks share the sectors at the ends of their runs
    for (const Box::Side* side : {&box.src, &box.dst}) {
      if (side->run_modes > 0) add(side->order[static_cast<std::size_t>(side->run_modes - 1)]);
    }
  }
  for (int i = normal.rank(); i-- > 0;) add(i);  // the destination's fastest first
  // Only the first ones can be cut.
  const auto is_cut = [&](int which) { return box.extent[static_cast<std::size_t>(which)] > 1; };
  if (std::none_of(modes.begin() + std::min(count, PackArgs::max_cuts), modes.begin() + count,
                   is_cut)) {
    return;
  }
  std::stable_partition(modes.begin(), modes.begin() + count, is_cut);
}

int BoxOrder::of(int which) const {
  const auto* const end = modes.data() + count;
  const auto* const found = std::find(modes.data(), end, which);
  return found == end ? -1 : static_cast<int>(found - modes.data());
}

void place_lists(PackArgs& args) {
  args.table_at = args.runs_at + static_cast<int>(args.from.listed() + args.to.listed()) * 16;
}

PackArgs args_of(const PackConfig& config, const Box& box, const Box::Side& to,
                 const Layout& layout, const Problem& normal) {
  PackArgs args;
  Making of{box, to, layout, normal, args, BoxOrder(box, normal, config.anywhere)};
  args.element_bytes = normal.dst_type.size();
  args.src_element_bytes = normal.src_type.size();
  args.values = value_args(normal);
  args.anywhere = config.anywhere;
  set_reach(args, box, normal);
  set_side(of, args.from, args.from_list, box.src, &Mode::src_stride,
           [&](int which, std::uint32_t extent, bool) { add_flip(of, which, extent); });
  args.room = static_cast<int>(ceil_div(args.room, int{vector}) * vector);
  Run run(of);
  set_side(of, args.to, args.to_list, to, &Mode::dst_stride,
           [&](int which, std::uint32_t extent, bool is_last) { run.add(which, extent, is_last); });
  const std::int64_t vectors = layout.pitch / vector;
  const std::int64_t at_once =
      config.anywhere ? std::min<std::int64_t>(vectors, config.threads) : vectors;
  args.from.vectors = kernels::PackDivide(static_cast<std::uint32_t>(at_once));
  args.rounds = static_cast<std::int16_t>(ceil_div(vectors, at_once));
  args.through_l1 = gains_from_l1(config, box, normal);
  if (layout.lines) args.line_shift = std::countr_zero(static_cast<std::uint64_t>(line));
  args.runs_at = static_cast<int>(layout.bytes);
  place_lists(args);
  set_boxes(of);
  if (config.prefetches) args.prefetch = prefetch_of(box, to, normal);
  return args;
}

}  // namespace cornerturn::plan::gpu::pack
