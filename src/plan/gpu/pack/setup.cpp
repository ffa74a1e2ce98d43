#include "plan/gpu/pack/setup.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <numeric>

#include "maps/banks.hpp"
#include "plan/gpu/pack/lanes.hpp"
#include "plan/gpu/pack/layout.hpp"
#include "plan/gpu/runs.hpp"

namespace cornerturn::plan::gpu::pack {
namespace {

using kernels::PackArgs;
using kernels::PackList;
using kernels::PackSide;

constexpr std::int64_t most_offset = 64 << 10;  // that the table can hold

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
  const auto cut = [](PackSide& side, PackList& list, std::int64_t all, std::int64_t piece,
                      std::int64_t shared) {
    const std::int64_t pieces = ceil_div(all, piece);
    side.vectors = kernels::PackDivide(static_cast<std::uint32_t>(std::min(all, piece)));
    if (pieces == 1) return;
    list.pieces.count = kernels::PackDivide(static_cast<std::uint32_t>(pieces));
    side.runs *= static_cast<std::uint32_t>(pieces);
    list.pieces.bytes = static_cast<int>(piece * vector);
    list.pieces.shared = static_cast<int>(shared);
  };
  cut(args.from, args.from_list, vectors, threads,
      layout.lines ? with_lines(threads * vector) : threads * vector);
  args.at_once = args.from.vectors.quotient(static_cast<std::uint32_t>(threads));
  const Piece piece = piece_of(box, normal, config);
  cut(args.to, args.to_list, ceil_div(box.dst.run * size, vector), piece.vectors,
      piece.vectors * vector / size / args.period.divisor * args.last_stride);
  place_lists(args);
}

PackArgs aligned_args(const PackConfig& config, const Box& box, const Layout& layout,
                      const Problem& normal) {
  PackArgs args = args_of(config, box, box.dst, layout, normal);
  split(args, config, box, layout, normal);
  return args;
}

// The first request of a warp that gathers whole vectors. Neither its runs nor its vectors have
// numbers beyond those of its lanes, however these are laid over them.
class FirstRequest {
 public:
  FirstRequest(const PackArgs& args, std::int64_t run)
      : args_(args),
        V_(static_cast<std::uint32_t>(16 / args.element_bytes)),
        run_(static_cast<std::uint32_t>(run)) {}

  // Its wavefronts, if fewer than `enough`. `across` lanes are neighbours in a run of the
  // destination, then come `down` runs.
  int wavefronts(std::uint32_t across, std::uint32_t down, int rotation_shift, double enough) {
    WarpRequest request;
    request.active = 0;
    request.width = args_.src_element_bytes;
    find_starts(std::min(down, args_.to.runs));
    const bool rotated = V_ >= 4 && rotation_shift < 5;
    for (std::uint32_t rotation = 0; rotation < (rotated ? 4 : 1); ++rotation)
      find_places(rotation);
    std::uint32_t lane = 0;
    for (std::uint32_t first = 0; lane < 32; first += across) {  // the vector of a column's first
      for (std::uint32_t n = 0; n < down && lane < 32; ++n) {
        const std::uint32_t end = std::min(lane + across, 32U);
        if (n >= starts_) {
          lane = end;
          continue;
        }
        for (std::uint32_t vector = first; lane < end; ++lane, ++vector) {
          const std::uint32_t rotation = rotated ? PackArgs::rotation_of(lane, rotation_shift) : 0;
          if (element(vector, rotation) >= run_) continue;
          request.active |= 1U << lane;
          const int at = start_[n] + place_[rotation][vector];
          request.address[lane] = static_cast<std::uint64_t>(at);
        }
      }
    }
    constexpr double all = 128;
    return shared_wavefronts(request, SharedOp::load, args_.runs_at,
                             static_cast<int>(std::ceil(std::min(enough, all))));
  }

 private:
  std::uint32_t element(std::uint32_t vector, std::uint32_t rotation) const {
    return vector * V_ + PackArgs::rotated(0, rotation, V_);
  }

  // Where the first runs begin.
  void find_starts(std::uint32_t runs) {
    for (; starts_ < std::min(runs, 32U); ++starts_) {
      start_[starts_] = args_.to_list.start(starts_).shared;
    }
  }

  // Where the first elements of the first vectors lie.
  void find_places(std::uint32_t rotation) {
    for (std::uint32_t& n = places_[rotation]; n < 32 && element(n, rotation) < run_; ++n) {
      place_[rotation][n] = args_.element_at(element(n, rotation));
    }
  }

  const PackArgs& args_;
  std::uint32_t V_;
  std::uint32_t run_;
  std::uint32_t starts_ = 0;
  std::array<std::uint32_t, 4> places_{};
  std::array<int, 32> start_;
  std::array<std::array<int, 32>, 4> place_;
};

// How threads are laid over the runs of the destination: as many neighbours as do not collide more
// than fewer would.
void choose_order(Setup& setup, const PackConfig& config, const Box& box, const Problem& normal) {
  PackArgs& args = setup.args;
  const std::uint32_t vectors = args.to.vectors.divisor;
  const auto threads = static_cast<std::uint32_t>(threads_of(config, box, normal));
  setup.wavefronts = 1e9;
  FirstRequest request(args, box.dst.run);
  double one_by_one = 0;
  for (std::uint32_t across = vectors; across > 1 || across == vectors;
       across = across == vectors ? std::bit_floor(std::min(across - 1, 16U)) : across / 2) {
    const std::uint32_t columns = (vectors + across - 1) / across;
    const std::uint32_t down = std::min(args.to.runs, threads / (columns * across));
    const double idle = static_cast<double>(vectors) / static_cast<double>(columns * across);
    // With one run at a time lanes take one vector after the other, however many are neighbours.
    const bool is_known = down == 1 && idle <= one_by_one;
    if (down == 0 || is_known) continue;
    if (down == 1) one_by_one = idle;
    const double better = 0.8 * setup.wavefronts;
    const double w = request.wavefronts(across, down, args.rotation_shift, better * idle) / idle;
    if (w < better) {
      setup.wavefronts = w;
      args.across = kernels::PackDivide(across);
      args.down = kernels::PackDivide(down);
    }
    if (setup.wavefronts <= 1.25 || across <= 2) break;
  }
  int best = args.rotation_shift;
  for (int shift = 0; args.element_bytes <= 4 && shift <= 4 && setup.wavefronts > 1.25; ++shift) {
    const double better = 0.8 * setup.wavefronts;
    const double w = request.wavefronts(args.across.divisor, args.down.divisor, shift, better);
    if (w >= better) continue;
    setup.wavefronts = w;
    best = shift;
  }
  args.rotation_shift = static_cast<std::uint8_t>(best);
}

}  // namespace

int vector_elements(const Problem& normal) {
  return static_cast<int>(vector) / normal.dst_type.size();
}

const Box& Boxes::of(const PackConfig& config) {
  const std::int64_t run_bytes = config.run_bytes;
  // As measured: where values change, boxes of 4 KiB do.
  const bool grows = config.anywhere && !normal_.converts();
  const std::int64_t least = grows ? std::clamp<std::int64_t>(64 * run_bytes, 4096, 32768) : 4096;
  const std::int64_t dst_run_bytes =
      config.dst_shift < 0 ? run_bytes >> -config.dst_shift : run_bytes << config.dst_shift;
  BoxWish wish{.src_run_bytes = run_bytes,
               .dst_run_bytes = dst_run_bytes,
               .least_bytes = least,
               .gaps = config.gaps};
  wish.shares = config.anywhere && config.shares;
  wish.ends_anywhere = config.anywhere;
  for (const Cached& made : cached_) {
    if (made.wish == wish) return made.box;
  }
  Cached& made = cached_[next_];
  next_ = 1 - next_;
  made.wish = wish;
  // Whether what the box takes of shared memory, about, is within `most`: gaps in runs of the
  // source lie there, too.
  const auto attempt = [&](std::int64_t granule, std::int64_t most) {
    wish.granule = granule;
    wish.most_bytes = most;
    made.box = box_of(normal_, sides_, wish);
    const Box& box = made.box;
    if (box.src.places == box.src.run) return box.bytes <= most;
    const std::int64_t size = normal_.src_type.size();
    return box.elements / box.src.run * (box.src.places * size + 2 * vector) <= most;
  };
  if (attempt(sector_bytes, most_bytes)) return made.box;
  if (attempt(vector, most_shared) || !wish.ends_anywhere) return made.box;
  attempt(1, most_shared);
  return made.box;
}

bool Boxes::may_be_aligned(const Alignment& start) const {
  if (start.src < vector || start.dst < vector) return false;
  const auto may_be = [&](const Box::Side& side, std::int64_t Mode::*stride) {
    const std::int64_t size = element_size(normal_, stride);
    std::int64_t next = size;  // where a run goes on, or 0
    for (int i = 0; i < side.modes; ++i) {
      const Mode& mode = normal_.modes[side.order[static_cast<std::size_t>(i)]];
      const std::int64_t step = std::abs(mode.*stride);
      // A run along the mode has all elements before it, and so has the box.
      const bool goes_on = step == next && step / size * normal_.src_type.size() <= most_shared;
      if (!goes_on && step % vector != 0) return false;
      next = goes_on ? step * mode.extent : 0;
    }
    return true;
  };
  return may_be(sides_.src, &Mode::src_stride) && may_be(sides_.dst, &Mode::dst_stride);
}

bool leaves_gaps(const Box& box, const Problem& normal) {
  const int modes = box.dst.run_modes;
  if (modes == 0 || modes == box.dst.modes) return false;
  const int last = box.dst.order[static_cast<std::size_t>(modes - 1)];
  const int next = box.dst.order[static_cast<std::size_t>(modes)];
  const Mode& mode = normal.modes[last];
  return box.extent[static_cast<std::size_t>(last)] == mode.extent &&
         normal.modes[next].dst_stride != mode.dst_stride * mode.extent;
}

bool has_aligned_runs(const Box& box, const Problem& normal) {
  for (int i = 0; i < normal.rank(); ++i) {
    const std::int64_t extent = box.extent[static_cast<std::size_t>(i)];
    const Mode& mode = normal.modes[i];
    if (extent < mode.extent) {
      if (mode.src_stride * extent % vector != 0) return false;
      if (mode.dst_stride * extent % vector != 0) return false;
    }
    if (extent > 1) {
      if (box.src.runs_along(i) && mode.src_stride < 0) return false;
      if (!box.src.runs_along(i) && mode.src_stride % vector != 0) return false;
      if (!box.dst.runs_along(i) && mode.dst_stride % vector != 0) return false;
    }
  }
  return true;
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
    boxes *= ceil_div(normal.modes[i].extent, box.step(i));
  }
  return boxes;
}

bool fits(const Box& box, const Problem& normal, const DeviceInfo& device, bool anywhere) {
  if (count_cuts(box, normal) > PackArgs::max_cuts) return false;
  if (count_boxes(box, normal) > kernels::PackQuotient::limit) return false;
  int flips = 0;
  for (int i = 0; i < normal.rank(); ++i) flips += is_flipped(box, normal, i) ? 1 : 0;
  if (flips > PackArgs::max_flips) return false;
  const Layout layout = anywhere ? layout_with(box, normal, {}) : layout_of(box, normal, false);
  const auto digits = std::count_if(box.extent.begin(), box.extent.begin() + normal.rank(),
                                    [](std::int32_t extent) { return extent > 1; });
  // Offsets of the table have 16 bits; lists of runs must not outgrow the box.
  const std::int64_t dst_run = anywhere ? single_runs(box, normal).run : box.dst.run;
  const std::int64_t runs = layout.src_runs + box.elements / dst_run;
  const std::int64_t table = (box.dst.run + vector_elements(normal)) * 2;
  const std::int64_t shared =
      anywhere ? layout.bytes + runs * 16 : with_lines(layout.bytes) + runs * 32 + table;
  const std::int64_t places = anywhere ? TableRoom::of(box.bytes) : 0;
  const std::int64_t gaps = (box.src.places - box.src.run) * normal.src_type.size();
  return layout.bytes <= most_shared && shared + places <= device.shared_per_block &&
         shared <= 4 * box.bytes + gaps * layout.src_runs + 4096 &&
         digits <= kernels::PackDigits::most;
}

Setup setup_of(const PackConfig& config, const Box& box, const Problem& normal) {
  if (config.anywhere) return setup_anywhere(config, box, normal);
  Setup setup{aligned_args(config, box, layout_of(box, normal, false), normal)};
  choose_order(setup, config, box, normal);
  if (setup.wavefronts <= 1 || !lines_suit(box, normal)) return setup;
  const Layout layout = layout_of(box, normal, true);
  if (layout.bytes > most_offset) return setup;
  Setup with{aligned_args(config, box, layout, normal)};
  choose_order(with, config, box, normal);
  return with.wavefronts < setup.wavefronts ? with : setup;
}

}  // namespace cornerturn::plan::gpu::pack
