#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <numeric>

#include "maps/banks.hpp"
#include "plan/gpu/pack_layout.hpp"

namespace cornerturn::plan::gpu::pack {
namespace {

using kernels::PackArgs;
using kernels::PackDigit;
using kernels::PackList;
using kernels::PackSide;

// The smallest stride of shared memory from `least` on whose places have the phases of the source.
std::int64_t same_phase(std::int64_t least, std::int64_t src_stride) {
  return least + ((src_stride - least) % vector + vector) % vector;
}

// Vectors of shared memory that stay free, so that lanes read from other banks.
struct Pads {
  std::array<int, 2> stride{};  // after each index of the first two modes beside the source's run
  bool unit = false;  // one after as many indices of the destination's first mode as a unit holds
};

int log2_of_unit(const Problem& normal) {
  const int size = normal.dst_type.size();
  return std::countr_zero(static_cast<unsigned>(kernels::pack_unit_bytes(size) / size));
}

// Modes beside the source's run of which a box has several indices.
std::size_t modes_beside_run(const Box& box) {
  const auto* const order = box.src.order.data();
  return static_cast<std::size_t>(
      std::count_if(order + box.src.run_modes, order + box.src.modes,
                    [&](int which) { return box.extent[static_cast<std::size_t>(which)] > 1; }));
}

// Runs of the source so far apart that no two touch the same vector, whatever their phases.
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

// Cuts long runs of the destination that begin anywhere into pieces of whole units, of so many
// elements each, and whole periods, so that each thread needs the places of one unit only, and few
// lanes are idle.
void cut_to_pieces(PackArgs& args, const PackConfig& config, const Box& box, std::int64_t of_unit) {
  const std::int64_t period = args.period.divisor;
  const std::int64_t least = period * (of_unit / std::gcd(of_unit, period));
  std::int64_t piece = box.dst.run / of_unit * of_unit;
  if (piece > config.threads * of_unit && least <= box.dst.run / 2) {
    double best = 0;
    const std::int64_t most = std::max<std::int64_t>(1, config.threads * of_unit / least);
    for (std::int64_t count = most; count > 0 && count > most - 16; --count) {
      const std::int64_t units = count * least / of_unit;
      const double busy =
          static_cast<double>(units) / static_cast<double>(ceil_div(units, 32) * 32);
      if (busy <= best) continue;
      best = busy;
      piece = count * least;
    }
    const auto pieces = static_cast<std::uint32_t>(ceil_div(box.dst.run, piece));
    args.to_list.pieces.count = FastDivide(pieces);
    args.to.runs *= pieces;
    place_lists(args);
    args.to_list.pieces.bytes = static_cast<int>(piece * args.element_bytes);
    args.to_list.pieces.shared = static_cast<int>(piece / period) * args.last_stride;
  }
  args.of_piece = static_cast<int>(piece);
}

// Whether runs that are `down` apart begin at the same place within a unit: all of them do, or run
// after run lies as far behind the one before as the first two do.
bool is_steady(const PackArgs& args) {
  const std::int64_t unit = kernels::pack_unit_bytes(args.element_bytes);
  std::int64_t step = 0;  // bytes from a run to the next, as far as they count
  std::int64_t next = 0;
  bool same = true;
  bool even = args.to_list.pieces.count.divisor == 1;
  for (int d = 0; d < args.to_list.beside.count; ++d) {
    const PackDigit& digit = args.to_list.beside.digit[d];
    const std::int64_t stride = digit.more + next;
    same = same && stride % unit == 0;
    if (d == 0) step = stride;
    even = even && (d == 0 || digit.more % unit == 0);
    next = stride * digit.extent;
  }
  return same || (even && step * args.down.divisor % unit == 0);
}

// Whether the runs of a side follow one another at equal distances. Threads take every
// `distance`-th.
void set_even(PackSide& side, const PackList& list, std::uint32_t distance) {
  const PackDigit& digit = list.beside.digit[0];
  if (list.beside.count > 1 || list.pieces.count.divisor > 1 || list.beside.padded) return;
  if (std::abs(digit.more) > std::numeric_limits<std::int32_t>::max()) return;
  side.even = true;
  side.step = static_cast<std::int32_t>(digit.more);
  side.step_shared = digit.more_shared;
  side.stride = distance * digit.more;
  side.cut_runs = digit.cut;
}

void set_even(PackArgs& args, std::uint32_t threads) {
  if (args.values.converts) return;
  set_even(args.from, args.from_list, args.from.vectors.quotient(threads));
  if (args.steady) set_even(args.to, args.to_list, args.down.divisor);
  place_lists(args);
}

// Lanes that write one element at once, as many neighbours as a run has.
void choose_single_lanes(PackArgs& args, const PackConfig& config, const Box& box) {
  const auto run = static_cast<std::uint32_t>(box.dst.run);
  args.single = true;
  args.steady = true;
  args.of_piece = static_cast<int>(run);
  args.lanes = static_cast<std::uint8_t>(std::bit_width(run) - 1);  // near enough for the banks
  args.across = FastDivide(run);
  args.down = FastDivide(static_cast<std::uint32_t>(config.threads) / run);
}

// As many neighbours in a run as do not leave many idle.
void choose_unit_lanes(PackArgs& args, const PackConfig& config, const Box& box) {
  const std::int64_t W = args.of_unit();
  cut_to_pieces(args, config, box, W);
  const std::int64_t units = std::max<std::int64_t>(1, args.of_piece / W);
  double best = 0;
  for (int shift = 5; shift >= 0; --shift) {
    const std::int64_t columns = ceil_div(units, std::int64_t{1} << shift);
    const double busy = static_cast<double>(units) / static_cast<double>(columns << shift);
    if (busy < 1.15 * best) continue;
    best = busy;
    args.lanes = static_cast<std::uint8_t>(shift);
    args.columns = static_cast<int>(columns);
  }
  const std::int64_t groups = config.threads >> args.lanes;
  std::int64_t down = std::max<std::int64_t>(1, groups / args.columns);
  if (down > W) down -= down % W;
  args.down = FastDivide(static_cast<std::uint32_t>(down));
  args.steady = is_steady(args);
}

// How lanes are laid over the runs of the destination where these begin anywhere.
void choose_lanes(PackArgs& args, const PackConfig& config, const Box& box) {
  // Of shorter runs most elements lie in no whole unit.
  const int least = 4 * args.of_unit();
  if (args.element_bytes <= 2 && !args.values.converts && box.dst.run < least) {
    choose_single_lanes(args, config, box);
  } else {
    choose_unit_lanes(args, config, box);
  }
  set_even(args, static_cast<std::uint32_t>(config.threads));
}

// The elements that the lanes of a warp gather with their first request: some of a run each, of
// some runs.
class FirstElements {
 public:
  FirstElements(const PackArgs& args, const Box& box)
      : width_(args.src_element_bytes), lanes_(args.lanes), room_(args.room) {
    const auto W = static_cast<std::uint32_t>(args.of_unit());
    std::array<std::uint32_t, 32> element, run;
    for (std::uint32_t i = 0; i < 32; ++i) {
      element[i] = i * W;
      run[i] = i;
      const std::uint32_t of = i >> lanes_;
      const bool inside = of < args.to.runs && (i - (of << lanes_)) * W < box.dst.run;
      active_ |= inside ? 1U << i : 0U;
    }
    for (int i = 0; i < box.dst.modes; ++i) {
      const int which = box.dst.order[static_cast<std::size_t>(i)];
      const auto extent = static_cast<std::uint32_t>(box.extent[static_cast<std::size_t>(which)]);
      if (extent == 1) continue;
      if (i < box.dst.run_modes) {
        add(which, extent, std::size_t{1} << lanes_, element);
      } else {
        add(which, extent, std::size_t{32} >> lanes_, run);
      }
      begin_ = i < box.dst.run_modes ? modes_ : begin_;
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
      const std::size_t run = lane >> lanes_;
      const int at = room_ + start[run] + place[lane - (run << lanes_)];
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
  int lanes_;
  int room_;  // before the first element of the box, for what lies behind it backwards
  std::uint32_t active_ = 0;
  std::size_t modes_ = 0;
  std::size_t begin_ = 0;  // of the modes that tell runs apart
  std::array<std::size_t, 12> mode_{};
  std::array<std::array<std::uint32_t, 32>, 12> index_;
};

// The request of lanes that may begin with another element of their units.
class RotatedElements {
 public:
  RotatedElements(const PackArgs& args, const Box& box) {
    const auto W = static_cast<std::uint32_t>(args.of_unit());
    request_.active = 0;
    request_.width = args.src_element_bytes;
    for (std::uint32_t lane = 0; lane < 32; ++lane) {
      const std::uint32_t run = lane >> args.lanes;
      const std::uint32_t unit = lane - (run << args.lanes);
      if (run >= args.to.runs || (unit + 1) * W > box.dst.run) continue;
      request_.active |= 1U << lane;
      start_[lane] = args.room + (run == 0 ? 0 : args.to_list.start(run).shared);
      for (std::uint32_t k = 0; k < W; ++k) {
        place_[lane][k] = run == 0 ? args.element_at(unit * W + k) : place_[unit][k];
      }
    }
  }

  /// As of FirstElements.
  int wavefronts(const PackArgs& args, double enough) {
    for (std::uint32_t lane = 0; lane < 32; ++lane) {
      const int at = start_[lane] + place_[lane][args.rotation_of(lane)];
      request_.address[lane] = static_cast<std::uint64_t>(at);
    }
    return shared_wavefronts(request_, SharedOp::load, args.runs_at,
                             static_cast<int>(std::ceil(enough)));
  }

 private:
  WarpRequest request_;
  std::array<int, 32> start_{};
  std::array<std::array<int, 4>, 32> place_{};
};

}  // namespace

Layout layout_anywhere(const Box& box, const Problem& normal) {
  return layout_with(box, normal, {});
}

Setup first_setup_anywhere(const PackConfig& config, const Box& box, const Problem& normal) {
  Setup setup{args_of(config, box, layout_with(box, normal, {}), normal)};
  choose_lanes(setup.args, config, box);
  return setup;
}

void count_wavefronts_anywhere(Setup& setup, const PackConfig& config, const Box& box,
                               const Problem& normal) {
  Pads best;
  Layout layout = layout_with(box, normal, best);
  const FirstElements gathered(setup.args, box);
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
    setup = {args_of(config, box, layout, normal)};
    choose_lanes(setup.args, config, box);
  }
  setup.wavefronts = least;
}

void choose_rotation(Setup& setup, const Box& box) {
  constexpr int few = 4;  // as measured: with less than these little is to be won
  PackArgs& args = setup.args;
  if (args.of_unit() != 4 || !args.steady || setup.wavefronts < few) return;
  RotatedElements elements(args, box);
  int best = args.rotation_shift;
  double least = setup.wavefronts;
  for (int shift = 0; shift <= 4; ++shift) {
    args.rotation_shift = static_cast<std::uint8_t>(shift);
    const int wavefronts = elements.wavefronts(args, 0.8 * least);
    if (wavefronts >= 0.8 * least) continue;
    least = wavefronts;
    best = shift;
  }
  args.rotation_shift = static_cast<std::uint8_t>(best);
}

}  // namespace cornerturn::plan::gpu::pack
