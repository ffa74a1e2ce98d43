#include "plan/gpu/pack.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <numeric>
#include <vector>

#include "core/divide.hpp"
#include "core/validate.hpp"
#include "maps/banks.hpp"
#include "plan/gpu/box.hpp"
#include "plan/gpu/convert.hpp"
#include "plan/gpu/plan.hpp"
#include "plan/gpu/runs.hpp"

namespace cornerturn::plan::gpu::pack {
namespace {

using kernels::PackArgs;
using kernels::PackDigit;
using kernels::PackSide;

constexpr std::int64_t vector = 16;
constexpr std::int64_t most_bytes = 48 << 10;  // of a box
constexpr std::int64_t most_shared = 60 << 10;

// Of the destination.
int vector_elements(const Problem& normal) {
  return static_cast<int>(vector) / normal.dst_type.size();
}

constexpr std::int64_t most_offset = 64 << 10;  // that the table can hold
constexpr std::int64_t line = 128;              // bytes: all banks once

// Runs end with a sector, or, where such boxes are too large, at least with a vector.
Box box_of_runs(const Problem& normal, std::int64_t run_bytes) {
  Box box = box_of(normal, run_bytes);
  return box.bytes > most_bytes ? box_of(normal, run_bytes, vector) : box;
}

// So many that each has several vectors of the destination to write, as far as there are.
std::int16_t threads_for(const Box& box, const Problem& normal) {
  if (!normal.converts() || normal.dst_type.size() > 1) return box.bytes >= 8192 ? 256 : 128;
  const std::int64_t vectors = box.elements * normal.dst_type.size() / vector;
  return vectors >= 2048 ? 256 : vectors >= 512 ? 128 : 64;
}

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

// Runs of the source one after the other, each in whole vectors. If the destination runs along a
// mode that the source does not, V indices of it are 16 bytes further apart.
Layout layout_of(const Box& box, const Problem& normal, bool lines) {
  Layout layout;
  layout.lines = lines;
  layout.pad_shift.fill(31);
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

int cut_of(PackArgs& args, int which, const Box& box, const Problem& normal) {
  const auto extent = static_cast<std::uint32_t>(box.extent[static_cast<std::size_t>(which)]);
  if (extent == normal.modes[which].extent || extent == 1) return -1;
  for (int c = 0; c < args.cuts; ++c) {
    if (args.cut[c].axis == which) return c;
  }
  args.cut[args.cuts] = {which, extent, static_cast<std::uint32_t>(normal.modes[which].extent)};
  return args.cuts++;
}

int count_cuts(const Box& box, const Problem& normal) {
  int cuts = 0;
  for (int i = 0; i < normal.rank(); ++i) {
    const std::int64_t extent = box.extent[static_cast<std::size_t>(i)];
    cuts += extent > 1 && extent < normal.modes[i].extent ? 1 : 0;
  }
  return cuts;
}

std::int64_t count_boxes(const Box& box, const Problem& normal) {
  std::int64_t boxes = 1;
  for (int i = 0; i < normal.rank(); ++i) {
    boxes *= ceil_div(normal.modes[i].extent, box.extent[static_cast<std::size_t>(i)]);
  }
  return boxes;
}

// Of a block whose threads each have one place in a run of the destination, or in a piece of one:
// as many whole periods as there are threads.
struct Turn {
  std::int64_t vectors = 0;  // of a run or piece; 0: there is no such turn
  std::int64_t threads = 0;
};

Turn turn_of(const Box& box, std::int64_t period, std::int64_t size, std::int64_t threads) {
  constexpr std::int64_t most = 1024, comfortable = 320;
  const std::int64_t all = ceil_div(box.dst.run * size, vector);
  if (all <= comfortable) return {all, all * std::max<std::int64_t>(1, threads / all)};
  const std::int64_t unit = period / std::gcd(period, vector / size);
  const std::int64_t piece = unit * std::max<std::int64_t>(1, threads / unit);
  if (piece < all && piece <= most) return {piece, piece};
  return all <= most ? Turn{all, all} : Turn{};
}

std::int64_t period_of(const Box& box) {
  if (box.dst.run_modes <= 1) return box.dst.run;
  const int last = box.dst.order[static_cast<std::size_t>(box.dst.run_modes - 1)];
  return box.dst.run / box.extent[static_cast<std::size_t>(last)];
}

std::int64_t threads_of(const PackConfig& config, const Box& box, std::int64_t size) {
  if (config.shifted) return config.threads;
  return ceil_div(turn_of(box, period_of(box), size, config.threads).threads, 32) * 32;
}

// Long runs become pieces: of a vector a thread in the source, of a turn in the destination.
void split(PackArgs& args, const PackConfig& config, const Box& box, const Layout& layout) {
  const std::int64_t size = args.element_bytes;
  const std::int64_t threads = threads_of(config, box, size);
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
  const Turn turn = turn_of(box, args.period.divisor, size, config.threads);
  cut(args.to, ceil_div(box.dst.run * size, vector), turn.vectors,
      turn.vectors * vector / size / args.period.divisor * args.last_stride);
}

PackArgs args_of(const PackConfig& config, const Box& box, const Layout& layout,
                 const Problem& normal) {
  PackArgs args;
  args.element_bytes = normal.dst_type.size();
  args.src_element_bytes = normal.src_type.size();
  args.shifted = config.shifted;
  const Reach reach = src_reach(normal);
  args.src_low = reach.low - normal.src_offset;
  args.src_high = reach.high - normal.src_offset;
  const auto digit = [&](int which, std::int64_t stride) {
    const auto at = static_cast<std::size_t>(which);
    PackDigit d;
    d.extent = FastDivide(static_cast<std::uint32_t>(box.extent[at]));
    d.cut = cut_of(args, which, box, normal);
    d.shared_stride = layout.shared[at];
    d.pad_shift = layout.pad_shift[at];
    d.stride = stride;
    return d;
  };
  // The modes of a side's run, and those beside it; `each` hears of the former.
  const auto fill = [&](PackSide& side, const Box::Side& order, std::int64_t Mode::*stride,
                        const auto& each) {
    for (int i = 0; i < order.modes; ++i) {
      const int which = order.order[static_cast<std::size_t>(i)];
      const auto extent = static_cast<std::uint32_t>(box.extent[static_cast<std::size_t>(which)]);
      if (extent == 1) continue;
      if (i >= order.run_modes) {
        side.digit[side.digits++] = digit(which, normal.modes[which].*stride);
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
  };
  fill(args.from, box.src, &Mode::src_stride, [](int, std::uint32_t, bool) {});
  std::uint32_t period = 1;
  fill(args.to, box.dst, &Mode::dst_stride, [&](int which, std::uint32_t extent, bool is_last) {
    if (is_last) args.last_stride = layout.shared[static_cast<std::size_t>(which)];
    if (!is_last || box.dst.run_modes == 1) {
      args.period_digit[args.period_digits++] = digit(which, 0);
      period *= extent;
    }
  });
  args.period = FastDivide(period);
  args.from.vectors = FastDivide(static_cast<std::uint32_t>(layout.pitch / vector));
  if (layout.lines) args.line_shift = std::countr_zero(static_cast<std::uint64_t>(line));
  if (!config.shifted) split(args, config, box, layout);
  args.runs_at = static_cast<int>(layout.bytes);
  args.table_at = args.runs_at + static_cast<int>(args.from.runs + args.to.runs) * 16;

  for (int i = normal.rank(); i-- > 0;) {  // the destination's fastest first
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
  return args;
}

// Wavefronts of a request of a warp that gathers, its first. `across` lanes are
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
        place * V + (V < 4 ? 0 : PackArgs::turned(0, args.turn_of(lane), V));
    if (n >= args.to.runs || element >= static_cast<std::uint32_t>(run)) continue;
    if (n != known) start = args.to.start(n, [](const PackDigit&, std::uint32_t) {}).shared;
    known = n;
    request.active |= 1U << lane;
    const int at = start + args.element_at(element);
    request.address[lane] = static_cast<std::uint64_t>(at);
  }
  return shared_cost(request, SharedOp::load).wavefronts;
}

struct Lanes {
  int shift = 5;
  double wavefronts = 1;
};

// The widest group of neighbours whose loads do not collide more than those of narrower ones.
Lanes choose_lanes(const PackArgs& args, std::int64_t run) {
  const std::int64_t vectors = std::max<std::int64_t>(1, run * args.element_bytes / 16);
  Lanes best{-1, 1e9};
  for (int shift = 5; shift >= 1; --shift) {
    if (shift > 1 && (std::int64_t{1} << shift) >= 2 * vectors) continue;  // idle lanes
    if ((32U >> shift) > 2 * args.to.runs && best.shift >= 0) continue;
    const double w = wavefronts(args, 1U << shift, 32U >> shift, run);
    if (w < 0.8 * best.wavefronts) best = {shift, w};
  }
  return best;
}

// Groups of lanes that a run of the destination takes.
std::int64_t groups_of(const PackArgs& args, const Box& box, int shift) {
  const std::int64_t vectors =
      ceil_div(box.dst.run * args.element_bytes + vector - args.element_bytes, vector);
  return ceil_div(vectors, std::int64_t{1} << shift);
}

std::int64_t table_bytes(const PackArgs& args) {
  return (args.period.divisor + std::int64_t{16} / args.element_bytes) * 2;
}

// All of a configuration that its box decides.
struct Setup {
  PackArgs args;
  double wavefronts = 1;  // of a gathering request
};

// How threads are laid over the runs of the destination: as many neighbours as do not collide more
// than fewer would.
void choose_order(Setup& setup, const PackConfig& config, const Box& box) {
  PackArgs& args = setup.args;
  const std::uint32_t vectors = args.to.vectors.divisor;
  const auto threads = static_cast<std::uint32_t>(threads_of(config, box, args.element_bytes));
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
  int best = args.turn_shift;
  for (int shift = 0; args.element_bytes <= 4 && shift <= 4 && setup.wavefronts > 1.25; ++shift) {
    args.turn_shift = shift;
    const double w = wavefronts(args, args.across.divisor, args.down.divisor, box.dst.run);
    if (w >= 0.8 * setup.wavefronts) continue;
    setup.wavefronts = w;
    best = shift;
  }
  args.turn_shift = best;
}

Setup setup_of(const PackConfig& config, const Box& box, const Problem& normal) {
  Setup setup{args_of(config, box, layout_of(box, normal, false), normal)};
  PackArgs& args = setup.args;
  if (config.shifted) {
    const Lanes lanes = choose_lanes(args, box.dst.run);
    args.lanes = lanes.shift;
    args.groups = FastDivide(static_cast<std::uint32_t>(groups_of(args, box, lanes.shift)));
    setup.wavefronts = lanes.wavefronts;
    return setup;
  }
  choose_order(setup, config, box);
  if (setup.wavefronts > 1 && lines_suit(box, normal)) {
    const Layout layout = layout_of(box, normal, true);
    if (layout.bytes > most_offset) return setup;
    Setup with{args_of(config, box, layout, normal)};
    choose_order(with, config, box);
    if (with.wavefronts < setup.wavefronts) setup = with;
  }
  return setup;
}

// A divisor of the places where the box's runs begin on a side, 64 bytes at most.
std::int64_t granule_of(const Box::Side& side, const Problem& normal, std::int64_t Mode::*stride) {
  const std::int64_t run = side.run * element_size(normal, stride);
  std::int64_t granule = std::gcd(std::int64_t{64}, run);
  for (const Mode& mode : normal.modes) {
    if (std::abs(mode.*stride) >= run) granule = std::gcd(granule, mode.*stride);
  }
  return granule;
}

}  // namespace

const char* why_not(const Problem& normal, const DeviceInfo&) {
  if (normal.modes.empty()) return "a single element";
  if (normal.rank() > kernels::max_axes) return "more modes than any memory has elements for";
  for (const Mode& mode : normal.modes) {
    if (mode.extent >= (std::int64_t{1} << 30)) return "a mode of 2^30 elements or more";
  }
  return nullptr;
}

void configure(const Problem& normal, const Alignment& start, const DeviceInfo& device,
               const std::function<void(const PackConfig&)>& add) {
  std::vector<Box> seen;
  for (std::int64_t run_bytes = 64; run_bytes <= 32768; run_bytes *= 2) {
    const Box box = box_of_runs(normal, run_bytes);
    if (box.bytes > most_bytes) break;
    if (std::find(seen.begin(), seen.end(), box) != seen.end()) continue;
    seen.push_back(box);
    if (count_cuts(box, normal) > PackArgs::max_cuts ||
        count_boxes(box, normal) >= (std::int64_t{1} << 31)) {
      continue;
    }
    const Layout layout = layout_of(box, normal, false);
    int digits = 0;
    for (const std::int32_t extent : box.extent) digits += extent > 1 ? 1 : 0;
    // Offsets of the table have 16 bits; lists of runs must not outgrow the box.
    const std::int64_t runs = layout.src_runs + box.elements / box.dst.run;
    const std::int64_t shared =
        with_lines(layout.bytes) + runs * 32 + (box.dst.run + vector_elements(normal)) * 2;
    if (layout.bytes > most_shared || shared > device.shared_per_block ||
        shared > 4 * box.bytes + 4096 || digits > PackSide::max_digits) {
      continue;
    }
    PackConfig config;
    config.run_bytes = static_cast<std::int32_t>(run_bytes);
    config.threads = threads_for(box, normal);
    config.shifted = start.src < vector || start.dst < vector;
    for (int i = 0; i < normal.rank(); ++i) {
      const std::int64_t extent = box.extent[static_cast<std::size_t>(i)];
      const bool in_src = [&] {
        for (int k = 0; k < box.src.run_modes; ++k) {
          if (box.src.order[static_cast<std::size_t>(k)] == i) return true;
        }
        return false;
      }();
      const bool in_dst = [&] {
        for (int k = 0; k < box.dst.run_modes; ++k) {
          if (box.dst.order[static_cast<std::size_t>(k)] == i) return true;
        }
        return false;
      }();
      const Mode& mode = normal.modes[i];
      // Whole steps from box to box, and from run to run.
      if (extent < mode.extent) {
        config.shifted |= mode.src_stride * extent % vector != 0;
        config.shifted |= mode.dst_stride * extent % vector != 0;
      }
      if (extent > 1) {
        config.shifted |= !in_src && mode.src_stride % vector != 0;
        config.shifted |= !in_dst && mode.dst_stride % vector != 0;
      }
    }
    const std::int64_t size = normal.dst_type.size();
    config.shifted |= turn_of(box, period_of(box), size, config.threads).vectors == 0;
    add(config);
  }
}

Estimate estimate(const PackConfig& config, const Problem& normal, const Model& model) {
  const Costs& c = model.costs;
  const Box box = box_of_runs(normal, config.run_bytes);
  const Setup setup = setup_of(config, box, normal);
  const PackArgs& args = setup.args;
  const double V = vector_elements(normal);
  const auto boxes = static_cast<double>(count_boxes(box, normal));
  const auto threads = static_cast<double>(threads_of(config, box, normal.dst_type.size()));
  const auto rounded = [&](std::int64_t n) {
    return std::ceil(static_cast<double>(n) / threads) * threads;
  };

  Work work;
  work.blocks = boxes;
  work.resident = resident_blocks(model.device, static_cast<int>(threads),
                                  static_cast<unsigned>(args.table_at + table_bytes(args)),
                                  static_cast<int>(1024 / threads));
  const double loads = static_cast<double>(args.from.runs) * args.from.vectors.divisor;
  const double digits = args.from.digits + args.to.digits + args.period_digits;
  const double setup_lanes =
      rounded(std::int64_t{args.period.divisor} + vector_elements(normal)) *
          (c.pack_entry + c.pack_entry_digit * digits) +
      (rounded(args.from.runs) + rounded(args.to.runs)) * c.pack_run_digit * digits;
  const double rank = args.boxes.rank;
  if (config.shifted) {
    // Lanes that store, where groups of lanes are not full too.
    const double down = 32 >> args.lanes;
    const double groups = args.groups.divisor;
    const double stores = groups * std::ceil(static_cast<double>(args.to.runs) / down) * 32;
    // Warps with a vector that is cut take its elements one by one.
    const double cut_warps =
        std::min(2.0, groups) * std::ceil(static_cast<double>(args.to.runs) / down);
    work.instructions = boxes * (setup_lanes + threads * (c.pack_thread + c.pack_axis * rank) +
                                 cut_warps * 32 * V * c.pack_edge + loads * c.pack_load +
                                 stores * (c.pack_lane + c.pack_element * V));
    // Whole vectors are stored to shared memory and by the lanes; elements, and where they lie, are
    // loaded one by one. Lanes read the table V entries of two bytes apart.
    const double entries = std::min<double>(1U << args.lanes, std::ceil(args.period.divisor / V));
    const double lookups = std::max(1.0, entries * V * 2 / (bank_count * bank_bytes));
    work.wavefronts = boxes * c.pack_wavefront *
                      (loads / 32 * 8 + stores / 32 * (V * (setup.wavefronts + lookups) + 4));
    work.phases = c.pack_phases;
    work.block_seconds =
        c.pack_block + c.pack_block_lane * static_cast<double>(box.bytes) / 16 / threads;
  } else {
    // Threads beyond the last whole run idle.
    const double turns = std::ceil(
        static_cast<double>(args.to.runs) /
        static_cast<double>(args.to.vectors.quotient(static_cast<std::uint32_t>(threads))));
    work.instructions =
        boxes * (setup_lanes + threads * (c.whole_thread + c.pack_axis * rank) +
                 loads * c.whole_load + turns * threads * (c.whole_lane + c.whole_element * V));
    work.wavefronts = boxes * c.whole_wavefront *
                      (loads / 32 * 8 + turns * threads / 32 * (V * setup.wavefronts + 6));
    work.phases = c.whole_phases;
    work.block_seconds = c.whole_block + c.whole_block_lane * turns;
    if (normal.converts()) {
      work.instructions *= c.convert_work;
      const bool narrows = normal.dst_type.size() < normal.src_type.size();
      work.block_seconds *= narrows ? c.narrow_block : c.widen_block;
    }
  }
  if (normal.converts() && why_no_common_cast(normal) != nullptr) {
    work.instructions += static_cast<double>(normal.elements()) * c.any_value;
  }
  const double src_run = static_cast<double>(box.src.run * normal.src_type.size());
  const double dst_run = static_cast<double>(box.dst.run * normal.dst_type.size());
  work.src_bytes = src_moved(model, {src_run, granule_of(box.src, normal, &Mode::src_stride)});
  work.dst_bytes = dst_moved(model, {dst_run, granule_of(box.dst, normal, &Mode::dst_stride)});
  return estimate_of(model, work);
}

std::string describe(const PackConfig& config, const Problem& normal) {
  const Box box = box_of_runs(normal, config.run_bytes);
  return fmt::format("boxes of {} B in runs of {} and {} B{}", box.bytes,
                     box.src.run * normal.src_type.size(), box.dst.run * normal.dst_type.size(),
                     config.shifted ? ", begin anywhere" : "");
}

Prepared prepare(const PackConfig& config, const Problem& normal) {
  const Box box = box_of_runs(normal, config.run_bytes);
  const PackArgs args = setup_of(config, box, normal).args;
  Prepared ready{args, {}};
  ready.launch.dynamic_shared = static_cast<unsigned>(args.table_at + table_bytes(args));
  ready.launch.block = {static_cast<unsigned>(threads_of(config, box, normal.dst_type.size())), 1,
                        1};
  ready.launch.grid = {static_cast<unsigned>(count_boxes(box, normal)), 1, 1};
  return ready;
}

}  // namespace cornerturn::plan::gpu::pack

namespace cornerturn::plan::gpu::pack_convert {

const char* why_not(const Problem& normal, const DeviceInfo& device) {
  if (const char* rule = why_not_by_value(normal)) return rule;
  if (std::max(normal.src_type.size(), normal.dst_type.size()) > 4) return "elements of 8 B";
  return pack::why_not(normal, device);
}

void configure(const Problem& normal, const Alignment& start, const DeviceInfo& device,
               const std::function<void(const PackConvertConfig&)>& add) {
  // Types that are known at run time alone have a kernel of one form.
  const bool common = kernels::with_common_cast(normal.src_type.kind(), normal.dst_type.kind(),
                                                []<class Change>() {});
  pack::configure(normal, start, device, [&](PackConfig config) {
    config.shifted |= !common;
    add({config});
  });
}

Estimate estimate(const PackConvertConfig& config, const Problem& normal, const Model& model) {
  return pack::estimate(config, normal, model);
}

std::string describe(const PackConvertConfig& config, const Problem& normal) {
  return pack::describe(config, normal) + ", " + normal.src_type.name() + " to " +
         normal.dst_type.name();
}

Prepared prepare(const PackConvertConfig& config, const Problem& normal) {
  const Prepared moved = pack::prepare(config, normal);
  kernels::PackConvertArgs args;
  static_cast<kernels::PackArgs&>(args) = std::get<kernels::PackArgs>(moved.args);
  args.values = value_args(normal);
  return {args, moved.launch};
}

}  // namespace cornerturn::plan::gpu::pack_convert
