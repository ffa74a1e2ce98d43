#include "plan/gpu/pack_setup.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>

#include "core/divide.hpp"
#include "core/validate.hpp"
#include "maps/banks.hpp"
#include "plan/gpu/convert.hpp"

namespace cornerturn::plan::gpu::pack {
namespace {

using kernels::PackArgs;
using kernels::PackDigit;
using kernels::PackSide;

constexpr std::int64_t most_shared = 60 << 10;
constexpr std::int64_t most_offset = 64 << 10;  // that the table can hold
constexpr std::int64_t line = 128;              // bytes: all banks once
constexpr int no_pads = 31;

struct Layout {
  std::array<int, ModeList::capacity> shared{};  // bytes for each index of a mode
  std::array<int, ModeList::capacity> pad_shift{};
  std::int64_t pitch = 0;  // of a run of the source, there
  std::int64_t bytes = 0;
  std::int64_t src_runs = 1;
  bool lines = false;  // 16 bytes stay free after each line of a run
};

std::int64_t with_lines(std::int64_t bytes) {
  return bytes + bytes / line * vector;
}

// Whether a run of the source may have 16 bytes free after each line: what an index of a mode adds
// to the address must not depend on the other modes.
bool lines_suit(const Box& box, const Problem& normal) {
  const int last =
      box.dst.run_modes > 1 ? box.dst.order[static_cast<std::size_t>(box.dst.run_modes - 1)] : -1;
  for (int i = 0; i < box.src.run_modes; ++i) {
    const int which = box.src.order[static_cast<std::size_t>(i)];
    const std::int64_t stride = normal.modes[which].src_stride;
    const std::int64_t all = stride * box.extent[static_cast<std::size_t>(which)];
    const bool inside = all <= line && line % all == 0;
    const bool whole = stride % line == 0;
    const bool across = line % stride == 0 && all % line == 0 && which != last;
    if (!inside && !whole && !across) return false;
  }
  return box.src.run * normal.src_type.size() > line;
}

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

// Runs of the source so far apart that no two touch the same vector, whatever their phases.
Layout layout_anywhere(const Box& box, const Problem& normal, const Pads& pads) {
  Layout layout;
  layout.pad_shift.fill(no_pads);
  const std::int64_t size = normal.src_type.size();
  const std::int64_t touched = box.src.run * size + 2 * (vector - size);
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

// Whether the source's runs go backwards along the mode.
bool is_flipped(const Box& box, const Problem& normal, int which) {
  return box.src.runs_along(which) && normal.modes[which].src_stride < 0 &&
         box.extent[static_cast<std::size_t>(which)] > 1;
}

// Runs of the source one after the other, each in whole vectors. If the destination runs along a
// mode that the source does not, V indices of it are 16 bytes further apart.
Layout layout_of(const Box& box, const Problem& normal, bool lines) {
  Layout layout;
  layout.lines = lines;
  layout.pad_shift.fill(no_pads);
  const std::int64_t size = normal.src_type.size();
  layout.pitch = ceil_div(box.src.run * size, vector) * vector;
  std::int64_t next = lines ? with_lines(layout.pitch) + vector : layout.pitch;
  const int first = box.dst.run_modes > 0 ? box.dst.order[0] : -1;
  for (int i = 0; i < box.src.modes; ++i) {
    const int which = box.src.order[static_cast<std::size_t>(i)];
    const auto at = static_cast<std::size_t>(which);
    if (i < box.src.run_modes) {
      const std::int64_t stride = normal.modes[which].src_stride;
      layout.shared[at] =
          static_cast<int>(lines && stride % line == 0 ? with_lines(stride) : stride);
      if (lines && stride < line && stride * box.extent[at] > line) {
        layout.pad_shift[at] = std::countr_zero(static_cast<std::uint64_t>(line / stride));
      }
      continue;
    }
    layout.shared[at] = static_cast<int>(next);
    next *= box.extent[at];
    layout.src_runs *= box.extent[at];
    if (which == first && box.extent[at] > vector_elements(normal)) {
      layout.pad_shift[at] = std::countr_zero(static_cast<unsigned>(vector_elements(normal)));
      next += ceil_div(box.extent[at], vector_elements(normal)) * vector;
    }
  }
  layout.bytes = next;
  return layout;
}

int count_cuts(const Box& box, const Problem& normal) {
  int cuts = 0;
  for (int i = 0; i < normal.rank(); ++i) {
    const std::int64_t extent = box.extent[static_cast<std::size_t>(i)];
    cuts += extent > 1 && extent < normal.modes[i].extent ? 1 : 0;
  }
  return cuts;
}

std::int64_t period_of(const Box& box) {
  if (box.dst.run_modes <= 1) return box.dst.run;
  const int last = box.dst.order[static_cast<std::size_t>(box.dst.run_modes - 1)];
  return box.dst.run / box.extent[static_cast<std::size_t>(last)];
}

// Long runs become pieces: of a vector a thread in the source, of those that threads write at once
// in the destination.
void split(PackArgs& args, const PackConfig& config, const Box& box, const Layout& layout,
           const Problem& normal) {
  const std::int64_t size = args.element_bytes;
  const std::int64_t threads = threads_of(config, box, normal);
  const std::int64_t vectors = args.from.vectors.divisor;
  const auto cut = [](PackSide& side, std::int64_t all, std::int64_t piece, std::int64_t shared) {
    const std::int64_t pieces = ceil_div(all, piece);
    side.vectors = FastDivide(static_cast<std::uint32_t>(std::min(all, piece)));
    if (pieces == 1) return;
    side.pieces = FastDivide(static_cast<std::uint32_t>(pieces));
    side.runs *= static_cast<std::uint32_t>(pieces);
    side.piece_bytes = static_cast<int>(piece * vector);
    side.piece_shared = static_cast<int>(shared);
  };
  cut(args.from, vectors, threads, layout.lines ? with_lines(threads * vector) : threads * vector);
  const Piece piece = piece_of(box, normal, config);
  cut(args.to, ceil_div(box.dst.run * size, vector), piece.vectors,
      piece.vectors * vector / size / args.period.divisor * args.last_stride);
}

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
      side.unit = static_cast<std::uint32_t>(order.run) / extent;
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
  for (int c = 0; c < args.cuts; ++c) args.cut[c].axis = -1 - args.cut[c].axis;
}

PackArgs args_of(const PackConfig& config, const Box& box, const Layout& layout,
                 const Problem& normal) {
  PackArgs args;
  args.element_bytes = normal.dst_type.size();
  args.src_element_bytes = normal.src_type.size();
  args.values = value_args(normal);
  args.anywhere = config.anywhere;
  const Reach reach = src_reach(normal);
  args.src_low = reach.low - normal.src_offset;
  args.src_high = reach.high - normal.src_offset;
  set_side(args, args.from, box.src, &Mode::src_stride, box, layout, normal,
           [&](int which, std::uint32_t extent, bool) {
             if (!is_flipped(box, normal, which)) return;
             const auto bytes = static_cast<int>(-normal.modes[which].src_stride);
             args.flip[args.flips++] = {extent, cut_of(args, which, box, normal), bytes};
             args.room += static_cast<int>(extent - 1) * bytes;
           });
  args.room = static_cast<int>(ceil_div(args.room, int{vector}) * vector);
  args.box_high = normal.src_type.size();
  for (int i = 0; i < normal.rank(); ++i) {
    const std::int64_t last =
        (box.extent[static_cast<std::size_t>(i)] - 1) * normal.modes[i].src_stride;
    (last < 0 ? args.box_low : args.box_high) += last;
  }
  std::uint32_t period = 1;
  set_side(args, args.to, box.dst, &Mode::dst_stride, box, layout, normal,
           [&](int which, std::uint32_t extent, bool is_last) {
             const int shift = layout.pad_shift[static_cast<std::size_t>(which)];
             if (is_last) args.last_stride = layout.shared[static_cast<std::size_t>(which)];
             if (is_last && config.anywhere) {
               if (shift == no_pads) return;
               extent = 1U << shift;  // as many as lie evenly
               args.last_stride = static_cast<int>(extent) * args.last_stride + vector;
             }
             if (!is_last || box.dst.run_modes == 1) {
               args.period_digit[args.period_digits] =
                   digit_of(args, which, 0, box, layout, normal);
               args.period_digit[args.period_digits++].extent = FastDivide(extent);
               period *= extent;
             }
           });
  args.period = FastDivide(period);
  const std::int64_t vectors = layout.pitch / vector;
  const std::int64_t at_once =
      config.anywhere ? std::min<std::int64_t>(vectors, config.threads) : vectors;
  args.from.vectors = FastDivide(static_cast<std::uint32_t>(at_once));
  args.rounds = static_cast<int>(ceil_div(vectors, at_once));
  if (layout.lines) args.line_shift = std::countr_zero(static_cast<std::uint64_t>(line));
  if (!config.anywhere) split(args, config, box, layout, normal);
  args.runs_at = static_cast<int>(layout.bytes);
  args.table_at = args.runs_at + static_cast<int>(args.from.runs + args.to.runs) * 16;
  set_boxes(args, box, normal);
  return args;
}

// Wavefronts of a request of a warp that gathers whole vectors, its first. `across` lanes are
// neighbours in a run of the destination, then come `down` runs.
int wavefronts(const PackArgs& args, std::uint32_t across, std::uint32_t down, std::int64_t run) {
  const auto V = static_cast<std::uint32_t>(16 / args.element_bytes);
  WarpRequest request;
  request.active = 0;
  request.width = args.src_element_bytes;
  std::uint32_t known = ~0U;  // the run of the lane before
  int start = 0;
  for (std::uint32_t lane = 0; lane < 32; ++lane) {
    const std::uint32_t group = lane / across;
    const std::uint32_t n = group % down;
    const std::uint32_t place = lane - group * across + group / down * across;
    const std::uint32_t element =
        place * V + (V < 4 ? 0 : PackArgs::rotated(0, args.rotation_of(lane), V));
    if (n >= args.to.runs || element >= static_cast<std::uint32_t>(run)) continue;
    if (n != known) start = args.to.start(n, [](const PackDigit&, std::uint32_t) {}).shared;
    known = n;
    request.active |= 1U << lane;
    const int at = start + args.element_at(element);
    request.address[lane] = static_cast<std::uint64_t>(at);
  }
  return shared_cost(request, SharedOp::load).wavefronts;
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
    args.to.pieces = FastDivide(pieces);
    args.to.runs *= pieces;
    args.table_at = args.runs_at + static_cast<int>(args.from.runs + args.to.runs) * 16;
    args.to.piece_bytes = static_cast<int>(piece * args.element_bytes);
    args.to.piece_shared = static_cast<int>(piece / period) * args.last_stride;
  }
  args.of_piece = static_cast<int>(piece);
}

// How lanes are laid over the runs of the destination where these begin anywhere: as many
// neighbours in a run as do not leave many idle.
void choose_lanes(PackArgs& args, const PackConfig& config, const Box& box) {
  const std::int64_t W = kernels::pack_unit_bytes(args.element_bytes) / args.element_bytes;
  cut_to_pieces(args, config, box, W);
  const std::int64_t units = std::max<std::int64_t>(1, args.of_piece / W);
  double best = 0;
  for (int shift = 5; shift >= 0; --shift) {
    const std::int64_t columns = ceil_div(units, std::int64_t{1} << shift);
    const double busy = static_cast<double>(units) / static_cast<double>(columns << shift);
    if (busy < 1.15 * best) continue;
    best = busy;
    args.lanes = shift;
    args.columns = static_cast<int>(columns);
  }
  const std::int64_t groups = config.threads >> args.lanes;
  std::int64_t down = std::max<std::int64_t>(1, groups / args.columns);
  if (down > W) down -= down % W;
  args.down = FastDivide(static_cast<std::uint32_t>(down));
}

// The indices of the elements that the lanes of a warp gather with their first request.
class GatheredIndices {
 public:
  GatheredIndices(const PackArgs& args, const Box& box) : width_(args.src_element_bytes) {
    const auto W = static_cast<std::uint32_t>(kernels::pack_unit_bytes(args.element_bytes) /
                                              args.element_bytes);
    std::array<std::uint32_t, 32> element{}, run{};
    for (std::uint32_t lane = 0; lane < 32; ++lane) {
      run[lane] = lane >> args.lanes;
      element[lane] = (lane - (run[lane] << args.lanes)) * W;
      const bool inside = run[lane] < args.to.runs && element[lane] < box.dst.run;
      active_ |= inside ? 1U << lane : 0U;
    }
    for (int i = 0; i < box.dst.modes; ++i) {
      const int which = box.dst.order[static_cast<std::size_t>(i)];
      const auto extent = static_cast<std::uint32_t>(box.extent[static_cast<std::size_t>(which)]);
      auto& number = i < box.dst.run_modes ? element : run;
      if (extent > 1 && std::any_of(number.begin(), number.end(), [](auto n) { return n > 0; })) {
        add(which, extent, number);
      }
    }
  }

  int wavefronts(const Layout& layout) const {
    WarpRequest request;
    request.active = active_;
    request.width = width_;
    request.address.fill(0);
    for (std::size_t m = 0; m < modes_; ++m) {
      const auto stride = layout.shared[mode_[m]];
      const int shift = layout.pad_shift[mode_[m]];
      for (std::size_t lane = 0; lane < 32; ++lane) {
        const auto index = static_cast<int>(index_[m][lane]);
        request.address[lane] +=
            static_cast<std::uint64_t>(std::int64_t{index} * stride + (index >> shift) * vector);
      }
    }
    return shared_cost(request, SharedOp::load).wavefronts;
  }

 private:
  void add(int which, std::uint32_t extent, std::array<std::uint32_t, 32>& number) {
    if (modes_ == mode_.size()) return;  // 32 lanes with more digits than these do not collide more
    mode_[modes_] = static_cast<std::size_t>(which);
    for (std::size_t lane = 0; lane < 32; ++lane) {
      index_[modes_][lane] = number[lane] % extent;
      number[lane] /= extent;
    }
    ++modes_;
  }

  int width_;
  std::uint32_t active_ = 0;
  std::size_t modes_ = 0;
  std::array<std::size_t, 12> mode_{};
  std::array<std::array<std::uint32_t, 32>, 12> index_;
};

Setup setup_anywhere(const PackConfig& config, const Box& box, const Problem& normal) {
  Pads best;
  Layout layout = layout_anywhere(box, normal, best);
  Setup setup{args_of(config, box, layout, normal)};
  choose_lanes(setup.args, config, box);
  const GatheredIndices gathered(setup.args, box);
  const int first = gathered.wavefronts(layout);
  int least = first;
  const auto attempt = [&](const Pads& pads) {
    if (least <= 2) return;  // little to be won
    const Layout other = layout_anywhere(box, normal, pads);
    if (other.bytes > most_shared) return;
    const int wavefronts = gathered.wavefronts(other);
    if (wavefronts >= 0.8 * least) return;
    least = wavefronts;
    best = pads;
    layout = other;
  };
  attempt({{}, true});
  for (std::size_t mode = 0; mode < best.stride.size(); ++mode) {
    for (int count = 1; count < 8; ++count) {
      Pads pads = best;
      pads.stride[mode] = count;
      attempt(pads);
    }
  }
  if (least < first) {
    setup = {args_of(config, box, layout, normal)};
    choose_lanes(setup.args, config, box);
  }
  setup.wavefronts = least;
  return setup;
}

// How threads are laid over the runs of the destination: as many neighbours as do not collide more
// than fewer would.
void choose_order(Setup& setup, const PackConfig& config, const Box& box, const Problem& normal) {
  PackArgs& args = setup.args;
  const std::uint32_t vectors = args.to.vectors.divisor;
  const auto threads = static_cast<std::uint32_t>(threads_of(config, box, normal));
  setup.wavefronts = 1e9;
  for (std::uint32_t across = vectors; across > 1 || across == vectors;
       across = across == vectors ? std::bit_floor(std::min(across - 1, 16U)) : across / 2) {
    const std::uint32_t columns = (vectors + across - 1) / across;
    const std::uint32_t down = std::min(args.to.runs, threads / (columns * across));
    if (down == 0) continue;
    const double idle = static_cast<double>(vectors) / static_cast<double>(columns * across);
    const double w = wavefronts(args, across, down, box.dst.run) / idle;
    if (w < 0.8 * setup.wavefronts) {
      setup.wavefronts = w;
      args.across = FastDivide(across);
      args.down = FastDivide(down);
    }
    if (setup.wavefronts <= 1.25 || across <= 2) break;
  }
  int best = args.rotation_shift;
  for (int shift = 0; args.element_bytes <= 4 && shift <= 4 && setup.wavefronts > 1.25; ++shift) {
    args.rotation_shift = shift;
    const double w = wavefronts(args, args.across.divisor, args.down.divisor, box.dst.run);
    if (w >= 0.8 * setup.wavefronts) continue;
    setup.wavefronts = w;
    best = shift;
  }
  args.rotation_shift = best;
}

}  // namespace

int vector_elements(const Problem& normal) {
  return static_cast<int>(vector) / normal.dst_type.size();
}

Box box_of_runs(const Problem& normal, const PackConfig& config) {
  const std::int64_t run_bytes = config.run_bytes;
  // As measured: where values change, boxes of 4 KiB do.
  const bool grows = config.anywhere && !normal.converts();
  const std::int64_t least = grows ? std::clamp<std::int64_t>(64 * run_bytes, 4096, 32768) : 4096;
  Box box = box_of(normal, run_bytes, least);
  return box.bytes > most_bytes ? box_of(normal, run_bytes, least, vector) : box;
}

Piece piece_of(const Box& box, const Problem& normal, const PackConfig& config) {
  constexpr std::int64_t most = 1024, comfortable = 320;
  const std::int64_t all = ceil_div(box.dst.run * normal.dst_type.size(), vector);
  const std::int64_t threads = config.threads;
  if (all <= comfortable) return {all, all * std::max<std::int64_t>(1, threads / all)};
  const std::int64_t period = period_of(box);
  const std::int64_t unit = period / std::gcd<std::int64_t>(period, vector_elements(normal));
  const std::int64_t piece = unit * std::max<std::int64_t>(1, threads / unit);
  if (piece < all && piece <= most) return {piece, piece};
  return all <= most ? Piece{all, all} : Piece{};
}

std::int64_t threads_of(const PackConfig& config, const Box& box, const Problem& normal) {
  if (config.anywhere) return config.threads;
  return ceil_div(piece_of(box, normal, config).threads, 32) * 32;
}

std::int64_t count_boxes(const Box& box, const Problem& normal) {
  std::int64_t boxes = 1;
  for (int i = 0; i < normal.rank(); ++i) {
    boxes *= ceil_div(normal.modes[i].extent, box.extent[static_cast<std::size_t>(i)]);
  }
  return boxes;
}

bool fits(const Box& box, const Problem& normal, const DeviceInfo& device, bool anywhere) {
  if (count_cuts(box, normal) > PackArgs::max_cuts) return false;
  if (count_boxes(box, normal) >= (std::int64_t{1} << 31)) return false;
  int flips = 0;
  for (int i = 0; i < normal.rank(); ++i) flips += is_flipped(box, normal, i) ? 1 : 0;
  if (flips > PackArgs::max_flips) return false;
  const Layout layout = anywhere ? layout_anywhere(box, normal, {}) : layout_of(box, normal, false);
  const auto digits = std::count_if(box.extent.begin(), box.extent.end(),
                                    [](std::int32_t extent) { return extent > 1; });
  // Offsets of the table have 16 bits; lists of runs must not outgrow the box.
  const std::int64_t runs = layout.src_runs + box.elements / box.dst.run;
  const std::int64_t table = (box.dst.run + vector_elements(normal)) * 2;
  const std::int64_t shared =
      anywhere ? layout.bytes + runs * 16 : with_lines(layout.bytes) + runs * 32 + table;
  return layout.bytes <= most_shared && shared <= device.shared_per_block &&
         shared <= 4 * box.bytes + 4096 && digits <= PackSide::max_digits;
}

Setup setup_of(const PackConfig& config, const Box& box, const Problem& normal) {
  if (config.anywhere) return setup_anywhere(config, box, normal);
  Setup setup{args_of(config, box, layout_of(box, normal, false), normal)};
  choose_order(setup, config, box, normal);
  if (setup.wavefronts > 1 && lines_suit(box, normal)) {
    const Layout layout = layout_of(box, normal, true);
    if (layout.bytes > most_offset) return setup;
    Setup with{args_of(config, box, layout, normal)};
    choose_order(with, config, box, normal);
    if (with.wavefronts < setup.wavefronts) setup = with;
  }
  return setup;
}

}  // namespace cornerturn::plan::gpu::pack
