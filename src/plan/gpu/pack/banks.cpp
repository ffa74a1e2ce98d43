// Which banks the lanes of pack meet as they gather units of runs that begin anywhere.
#include <algorithm>
#include <array>

#include "core/divide.hpp"
#include "maps/banks.hpp"
#include "plan/gpu/pack/lanes.hpp"
#include "plan/gpu/pack/layout.hpp"

namespace cornerturn::plan::gpu::pack {
namespace {

using kernels::PackArgs;

constexpr int W = 4;  // elements of a unit whose lanes may begin with another one

// Some of the requests with which a block gathers units, counted from where runs begin: of its
// first warp in its first turn, and of one in the middle.
class Requests {
 public:
  Requests(const PackArgs& args, const Box& box, const Box::Side& to, const PackConfig& config)
      : width_(args.src_element_bytes), room_(args.room) {
    const auto warps = static_cast<std::uint32_t>(config.threads) / warp_lanes;
    const std::uint32_t turns = (args.to.runs + args.down.divisor - 1) / args.down.divisor;
    add_warp(args, 0, 0);
    add_warp(args, warps / 2, turns / 2);
    find_indices(box, to);
  }

  /// Their wavefronts in the mean, if there are fewer than `enough`.
  double wavefronts(const Layout& layout, int rotation_shift, double enough) {
    find_places(layout);
    const bool rotates = rotation_shift != PackArgs::no_rotation;
    const int requests = W * warps_;
    const double most = enough * requests;
    int wavefronts = 0;
    for (int n = 0; n < requests && wavefronts < most; ++n) {
      const std::size_t warp = static_cast<std::size_t>(n) / W;
      const std::size_t k = static_cast<std::size_t>(n) % W;
      WarpRequest request;
      request.active = active_[warp];
      request.width = width_;
      for (std::uint32_t lane = 0; lane < warp_lanes; ++lane) {
        const std::size_t by = rotates ? PackArgs::rotation_of(lane, rotation_shift) : 0;
        const std::size_t element = (warp * warp_lanes + lane) * W + ((k + by) & (W - 1));
        request.address[lane] = static_cast<std::uint64_t>(place_[element]);
      }
      wavefronts +=
          shared_wavefronts(request, SharedOp::load, static_cast<int>(layout.bytes), warp_lanes);
    }
    return requests == 0 ? 1 : static_cast<double>(wavefronts) / requests;
  }

 private:
  // The elements of a warp's units, and the runs that they are in.
  void add_warp(const PackArgs& args, std::uint32_t warp, std::uint32_t turn) {
    const kernels::PackDivide& pieces = args.to_list.pieces.count;
    const auto of_run = static_cast<std::uint32_t>(args.to.bytes / args.element_bytes);
    const auto of_piece = static_cast<std::uint32_t>(args.of_piece);
    std::uint32_t active = 0;
    for (std::uint32_t lane = 0; lane < warp_lanes; ++lane) {
      const std::uint32_t thread = warp * warp_lanes + lane;
      const std::uint32_t row = args.across.quotient(thread);
      const std::uint32_t piece = row + turn * args.down.divisor;
      const std::uint32_t run = pieces.quotient(piece);
      const std::uint32_t before = (piece - run * pieces.divisor) * of_piece;
      const std::uint32_t unit = (thread - row * args.across.divisor) * W;
      const bool inside = row < args.down.divisor && piece < args.to.runs && unit + W <= of_piece &&
                          before + unit + W <= of_run;
      active |= inside ? 1U << lane : 0U;
      for (std::uint32_t k = 0; k < W; ++k, ++count_) {
        element_[count_] = inside ? before + unit + k : 0;
        run_[count_] = inside ? run : 0;
      }
    }
    if (active == 0) {
      count_ -= warp_lanes * W;
    } else {
      active_[static_cast<std::size_t>(warps_++)] = active;
    }
  }

  // What the digits of these numbers are.
  void find_indices(const Box& box, const Box::Side& to) {
    for (int i = 0; i < to.modes && modes_ < mode_.size(); ++i) {
      const int which = to.order[static_cast<std::size_t>(i)];
      const auto extent = static_cast<std::uint32_t>(box.extent[static_cast<std::size_t>(which)]);
      if (extent == 1) continue;
      Numbers& numbers = i < to.run_modes ? element_ : run_;
      const FastDivide by(extent);
      mode_[modes_] = static_cast<std::size_t>(which);
      Numbers& indices = index_[modes_++];
      for (std::size_t n = 0; n < capacity; ++n) {
        const std::uint32_t rest = by.quotient(numbers[n]);
        indices[n] = numbers[n] - rest * extent;
        numbers[n] = rest;
      }
    }
  }

  // Where the elements lie in shared memory.
  void find_places(const Layout& layout) {
    place_.fill(room_);
    for (std::size_t m = 0; m < modes_; ++m) {
      const int stride = layout.shared[mode_[m]];
      const int shift = layout.pad_shift[mode_[m]];
      // All of them, so that the compiler knows how many and takes several at once.
      for (std::size_t n = 0; n < capacity; ++n) {
        place_[n] += static_cast<int>(index_[m][n]) * stride;
      }
      for (std::size_t n = 0; n < capacity && shift != no_pads; ++n) {
        place_[n] += kernels::pack_pads(index_[m][n], shift);
      }
    }
  }

  static constexpr std::size_t most_warps = 2, most_modes = 12;
  static constexpr std::size_t capacity = most_warps * warp_lanes * W;
  using Numbers = std::array<std::uint32_t, capacity>;

  int width_;
  int room_;  // before the first element of the box, for what lies behind it backwards
  int warps_ = 0;
  std::array<std::uint32_t, most_warps> active_;
  std::size_t count_ = 0;  // elements of all lanes
  Numbers element_{},
      run_{};  // the numbers of those and of their runs; then what modes leave of them
  std::size_t modes_ = 0;
  std::array<std::size_t, most_modes> mode_;
  std::array<Numbers, most_modes> index_;  // of each element
  std::array<int, capacity> place_;
};

}  // namespace

void choose_banks(Setup& setup, const PackConfig& config, const Box& box, const Problem& normal) {
  constexpr double many = 3;  // as measured: with fewer little is to be won
  if (setup.args.of_unit() != W || setup.wavefronts < many) return;
  const Box::Side to = runs_for_lanes(config, box, normal);
  Requests requests(setup.args, box, to, config);
  const std::int64_t most_bytes_of_box =
      std::min(most_shared, std::int64_t{setup.args.runs_at} * 17 / 16);
  const std::size_t modes = std::min(setup.pads.stride.size(), modes_beside_run(box));
  Pads best = setup.pads;
  int rotation = PackArgs::no_rotation;
  double least = requests.wavefronts(layout_with(box, normal, best), rotation, warp_lanes);
  const auto attempt = [&](const Pads& pads, int shift) {
    const Layout layout = layout_with(box, normal, pads);
    if (layout.bytes > most_bytes_of_box) return;
    const double better = 0.93 * least;
    const double wavefronts = requests.wavefronts(layout, shift, better);
    if (wavefronts >= better) return;
    least = wavefronts;
    best = pads;
    rotation = shift;
  };
  constexpr int most_pads = 3;  // vectors
  for (int shift = 0; shift <= 4; ++shift) {
    attempt(best, shift);
    for (std::size_t mode = 0; mode < modes; ++mode) {
      Pads pads = best;
      for (pads.stride[mode] = 0; pads.stride[mode] <= most_pads; ++pads.stride[mode]) {
        if (!(pads == best)) attempt(pads, shift);
      }
    }
  }
  if (!(best == setup.pads)) {
    setup.args = args_of(config, box, to, layout_with(box, normal, best), normal);
    choose_lanes(setup.args, config, box, to, normal);
    setup.pads = best;
  }
  setup.args.rotation_shift = static_cast<std::uint8_t>(rotation);
  setup.wavefronts = least;
}

}  // namespace cornerturn::plan::gpu::pack
