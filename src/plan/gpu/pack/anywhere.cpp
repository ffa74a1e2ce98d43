#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "maps/banks.hpp"
#include "plan/gpu/pack/lanes.hpp"
#include "plan/gpu/pack/layout.hpp"

namespace cornerturn::plan::gpu::pack {
namespace {

using kernels::PackArgs;

// The smallest stride of shared memory from `least` on whose places have the phases of the source.
std::int64_t same_phase(std::int64_t least, std::int64_t src_stride) {
  return least + ((src_stride - least) % vector + vector) % vector;
}

int log2_of_unit(const Problem& normal) {
  const int size = normal.dst_type.size();
  return std::countr_zero(static_cast<unsigned>(kernels::pack_unit_bytes(size) / size));
}

}  // namespace

std::size_t modes_beside_run(const Box& box) {
  const auto* const order = box.src.order.data();
  return static_cast<std::size_t>(
      std::count_if(order + box.src.run_modes, order + box.src.modes,
                    [&](int which) { return box.extent[static_cast<std::size_t>(which)] > 1; }));
}

Layout layout_with(const Box& box, const Problem& normal, const Pads& pads) {
  Layout layout;
  layout.pad_shift.fill(no_pads);
  const std::int64_t size = normal.src_type.size();
  const std::int64_t touched = box.src.places * size + 2 * (vector - size);
  layout.pitch = (touched - (vector - size) + vector - 1) / vector * vector;
  std::int64_t next = touched;
  std::size_t beside = 0;
  for (int i = 0; i < box.src.modes; ++i) {
    const int which = box.src.order[static_cast<std::size_t>(i)];
    const auto at = static_cast<std::size_t>(which);
    const std::int64_t src_stride = normal.modes[which].src_stride;
    if (i < box.src.run_modes) {
      layout.shared[at] = static_cast<int>(src_stride);
      continue;
    }
    if (box.extent[at] == 1) continue;
    std::int64_t stride = same_phase(next, src_stride);
    if (beside < pads.stride.size()) stride += pads.stride[beside++] * vector;
    layout.shared[at] = static_cast<int>(stride);
    next += stride * (box.extent[at] - 1);
    if (pads.unit && box.dst.run_modes > 0 && which == box.dst.order[0]) {
      layout.pad_shift[at] = log2_of_unit(normal);
      next += ((box.extent[at] - 1) >> log2_of_unit(normal)) * vector;
    }
    layout.src_runs *= box.extent[at];
  }
  layout.bytes = ceil_div(next + 2 * vector, vector) * vector;
  return layout;
}

namespace {

// The elements that the lanes of a warp gather with their first request: some of a run each, of
// some runs.
class FirstElements {
 public:
  FirstElements(const PackArgs& args, const Box& box, const Box::Side& to)
      : width_(args.src_element_bytes), across_(args.across.divisor), room_(args.room) {
    const auto W = static_cast<std::uint32_t>(args.of_unit());
    std::array<std::uint32_t, 32> element, run;
    std::uint8_t of = 0, at = 0;
    for (std::uint32_t i = 0; i < 32; ++i) {
      element[i] = i * W;
      run[i] = i;
      run_of_[i] = of;
      unit_of_[i] = at;
      const bool inside = of < args.to.runs && at * W < to.run;
      active_ |= inside ? 1U << i : 0U;
      if (++at == across_) {
        at = 0;
        ++of;
      }
    }
    for (int i = 0; i < to.modes; ++i) {
      const int which = to.order[static_cast<std::size_t>(i)];
      const auto extent = static_cast<std::uint32_t>(box.extent[static_cast<std::size_t>(which)]);
      if (extent == 1) continue;
      if (i < to.run_modes) {
        add(which, extent, std::min<std::size_t>(32, across_), element);
      } else {
        add(which, extent, (31 + across_) / across_, run);
      }
      begin_ = i < to.run_modes ? modes_ : begin_;
    }
  }

  /// The wavefronts of the request, if there are fewer than `enough`.
  int wavefronts(const Layout& layout, double enough) const {
    std::array<int, 32> place{}, start{};
    for (std::size_t m = 0; m < modes_; ++m) {
      const int stride = layout.shared[mode_[m]];
      const int shift = layout.pad_shift[mode_[m]];
      auto& to = m < begin_ ? place : start;
      for (std::size_t i = 0; i < 32; ++i) {
        const std::uint32_t index = index_[m][i];
        to[i] += static_cast<int>(index) * stride + kernels::pack_pads(index, shift);
      }
    }
    WarpRequest request;
    request.active = active_;
    request.width = width_;
    for (std::size_t lane = 0; lane < 32; ++lane) {
      const int at = room_ + start[run_of_[lane]] + place[unit_of_[lane]];
      request.address[lane] = static_cast<std::uint64_t>(at);
    }
    return shared_wavefronts(request, SharedOp::load, static_cast<int>(layout.bytes),
                             static_cast<int>(std::ceil(enough)));
  }

 private:
  // The next digit of the numbers, if the first `count` have such.
  void add(int which, std::uint32_t extent, std::size_t count,
           std::array<std::uint32_t, 32>& number) {
    if (modes_ == mode_.size()) return;  // 32 lanes with more digits than these do not collide more
    if (number[count - 1] == 0) return;  // the largest
    mode_[modes_] = static_cast<std::size_t>(which);
    const FastDivide by(extent);
    for (std::size_t i = 0; i < 32; ++i) {
      const std::uint32_t rest = by.quotient(number[i]);
      index_[modes_][i] = number[i] - rest * extent;
      number[i] = rest;
    }
    ++modes_;
  }

  int width_;
  std::uint32_t across_;
  int room_;  // before the first element of the box, for what lies behind it backwards
  std::uint32_t active_ = 0;
  std::array<std::uint8_t, 32> run_of_, unit_of_;  // of the lanes
  std::size_t modes_ = 0;
  std::size_t begin_ = 0;  // of the modes that tell runs apart
  std::array<std::size_t, 12> mode_{};
  std::array<std::array<std::uint32_t, 32>, 12> index_;
};

}  // namespace

Setup setup_anywhere(const PackConfig& config, const Box& box, const Problem& normal) {
  const Box::Side to = runs_for_lanes(config, box, normal);
  const auto with = [&](const Layout& layout) {
    Setup setup{args_of(config, box, to, layout, normal)};
    choose_lanes(setup.args, config, box, to, normal);
    return setup;
  };
  Pads best;
  Layout layout = layout_with(box, normal, best);
  Setup setup = with(layout);
  const FirstElements gathered(setup.args, box, to);
  constexpr double all = 128;
  const int first = gathered.wavefronts(layout, all);
  int least = first;
  // Whether there is room for such pads.
  const auto attempt = [&](const Pads& pads) {
    const Layout other = layout_with(box, normal, pads);
    if (other.bytes > most_shared) return false;
    const int wavefronts = gathered.wavefronts(other, 0.8 * least);
    if (wavefronts >= 0.8 * least) return true;
    least = wavefronts;
    best = pads;
    layout = other;
    return true;
  };
  constexpr int few = 2;  // little is to be won
  if (least > few) attempt({{}, true});
  const std::size_t modes = std::min(best.stride.size(), modes_beside_run(box));
  for (std::size_t mode = 0; mode < modes; ++mode) {
    for (int count = 1; count < 8 && least > few; ++count) {
      Pads pads = best;
      pads.stride[mode] = count;
      if (!attempt(pads)) break;
    }
  }
  if (least < first) {
    setup = with(layout);
    setup.pads = best;
  }
  setup.wavefronts = least;
  return setup;
}

}  // namespace cornerturn::plan::gpu::pack
