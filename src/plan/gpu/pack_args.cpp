#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>

#include "core/validate.hpp"
#include "plan/gpu/convert.hpp"
#include "plan/gpu/pack_layout.hpp"
#include "plan/gpu/runs.hpp"

namespace cornerturn::plan::gpu::pack {
namespace {

using kernels::PackArgs;
using kernels::PackDigit;
using kernels::PackSide;

// Which of the cuts tells how many indices of the mode a box has.
int cut_of(PackArgs& args, int which, const Box& box, const Problem& normal) {
  const auto extent = static_cast<std::uint32_t>(box.extent[static_cast<std::size_t>(which)]);
  if (extent == normal.modes[which].extent || extent == 1) return -1;
  for (int c = 0; c < args.cuts; ++c) {
    if (args.cut[c].axis == which) return c;
  }
  args.cut[args.cuts] = {which, extent, static_cast<std::uint32_t>(normal.modes[which].extent)};
  return args.cuts++;
}

PackDigit digit_of(PackArgs& args, int which, std::int64_t stride, const Box& box,
                   const Layout& layout, const Problem& normal) {
  const auto at = static_cast<std::size_t>(which);
  PackDigit digit;
  digit.extent = FastDivide(static_cast<std::uint32_t>(box.extent[at]));
  digit.cut = cut_of(args, which, box, normal);
  digit.shared_stride = layout.shared[at];
  digit.pad_shift = layout.pad_shift[at];
  digit.stride = stride;
  return digit;
}

// The modes of a side's run, and those beside it; `each` hears of the former.
template <class Each>
void set_side(PackArgs& args, PackSide& side, const Box::Side& order, std::int64_t Mode::*stride,
              const Box& box, const Layout& layout, const Problem& normal, const Each& each) {
  for (int i = 0; i < order.modes; ++i) {
    const int which = order.order[static_cast<std::size_t>(i)];
    const auto extent = static_cast<std::uint32_t>(box.extent[static_cast<std::size_t>(which)]);
    if (extent == 1) continue;
    if (i >= order.run_modes) {
      side.digit[side.digits++] =
          digit_of(args, which, normal.modes[which].*stride, box, layout, normal);
      side.runs *= extent;
      continue;
    }
    const bool is_last = i + 1 == order.run_modes;
    if (is_last) {
      side.last = extent;
      side.cut = cut_of(args, which, box, normal);
      const std::int64_t step = std::abs(normal.modes[which].*stride);
      const std::int64_t size = element_size(normal, stride);
      side.unit = static_cast<std::uint32_t>(step / size);
      side.gap = static_cast<int>(step * extent - order.places * size);
    }
    each(which, extent, is_last);
  }
}

// The walk from box to box, and which of its axes the cuts are of.
void set_boxes(PackArgs& args, const Box& box, const Problem& normal) {
  std::array<int, ModeList::capacity + 2> order{};
  std::size_t count = 0;
  if (args.anywhere) {  // neighbouring blocks share the sectors at the ends of their runs
    for (const Box::Side* side : {&box.src, &box.dst}) {
      if (side->run_modes == 0) continue;
      order[count++] = side->order[static_cast<std::size_t>(side->run_modes - 1)];
    }
  }
  for (int i = normal.rank(); i-- > 0;) order[count++] = i;  // the destination's fastest first
  for (std::size_t at = 0; at < count; ++at) {
    const int i = order[at];
    if (std::find(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(at), i) !=
        order.begin() + static_cast<std::ptrdiff_t>(at)) {
      continue;
    }
    const Mode& mode = normal.modes[i];
    const std::int64_t step = box.extent[static_cast<std::size_t>(i)];
    if (step == mode.extent) continue;
    for (int c = 0; c < args.cuts; ++c) {
      if (args.cut[c].axis == i) args.cut[c].axis = -1 - args.boxes.rank;  // marked as done
    }
    args.boxes.axis[args.boxes.rank++] = {
        FastDivide(static_cast<std::uint32_t>(ceil_div(mode.extent, step))), step * mode.src_stride,
        step * mode.dst_stride};
  }
  for (int c = 0; c < args.cuts; ++c) {
    args.cut[c].axis = -1 - args.cut[c].axis;
    args.cut_of_axis[args.cut[c].axis] = static_cast<std::int8_t>(c + 1);
  }
}

// Runs of the source that go backwards lie before their first element.
void add_flip(PackArgs& args, int which, std::uint32_t extent, const Box& box,
              const Problem& normal) {
  if (!is_flipped(box, normal, which)) return;
  const auto bytes = static_cast<int>(-normal.modes[which].src_stride);
  args.flip[args.flips++] = {extent, cut_of(args, which, box, normal), bytes};
  args.room += static_cast<int>(extent - 1) * bytes;
}

// What may be read, and how far a box reaches.
void set_reach(PackArgs& args, const Box& box, const Problem& normal) {
  const Reach reach = src_reach(normal);
  args.src_low = reach.low - normal.src_offset;
  args.src_high = reach.high - normal.src_offset;
  args.box_high = normal.src_type.size();
  for (int i = 0; i < normal.rank(); ++i) {
    const std::int64_t last =
        (box.extent[static_cast<std::size_t>(i)] - 1) * normal.modes[i].src_stride;
    (last < 0 ? args.box_low : args.box_high) += last;
  }
}

// A mode of the destination's run: a digit of the period, or what follows after each period.
void add_to_period(PackArgs& args, int which, std::uint32_t extent, bool is_last, const Box& box,
                   const Layout& layout, const Problem& normal) {
  const int shift = layout.pad_shift[static_cast<std::size_t>(which)];
  if (is_last) {
    args.last_stride = layout.shared[static_cast<std::size_t>(which)];
    if (args.anywhere && shift == no_pads) return;
    if (!args.anywhere && box.dst.run_modes > 1) return;
    if (args.anywhere) {
      extent = 1U << shift;  // as many as lie evenly
      args.last_stride = static_cast<int>(extent) * args.last_stride + vector;
    }
  }
  PackDigit& digit = args.period_digit[args.period_digits++];
  digit = digit_of(args, which, 0, box, layout, normal);
  digit.extent = FastDivide(extent);
  args.period = FastDivide(args.period.divisor * extent);
}

}  // namespace

void place_lists(PackArgs& args) {
  args.table_at = args.runs_at + static_cast<int>(args.from.listed() + args.to.listed()) * 16;
}

PackArgs args_of(const PackConfig& config, const Box& box, const Layout& layout,
                 const Problem& normal) {
  PackArgs args;
  args.element_bytes = normal.dst_type.size();
  args.src_element_bytes = normal.src_type.size();
  args.values = value_args(normal);
  args.anywhere = config.anywhere;
  set_reach(args, box, normal);
  set_side(
      args, args.from, box.src, &Mode::src_stride, box, layout, normal,
      [&](int which, std::uint32_t extent, bool) { add_flip(args, which, extent, box, normal); });
  args.room = static_cast<int>(ceil_div(args.room, int{vector}) * vector);
  set_side(args, args.to, box.dst, &Mode::dst_stride, box, layout, normal,
           [&](int which, std::uint32_t extent, bool is_last) {
             add_to_period(args, which, extent, is_last, box, layout, normal);
           });
  const std::int64_t vectors = layout.pitch / vector;
  const std::int64_t at_once =
      config.anywhere ? std::min<std::int64_t>(vectors, config.threads) : vectors;
  args.from.vectors = FastDivide(static_cast<std::uint32_t>(at_once));
  args.rounds = static_cast<int>(ceil_div(vectors, at_once));
  if (layout.lines) args.line_shift = std::countr_zero(static_cast<std::uint64_t>(line));
  args.runs_at = static_cast<int>(layout.bytes);
  place_lists(args);
  set_boxes(args, box, normal);
  return args;
}

}  // namespace cornerturn::plan::gpu::pack
