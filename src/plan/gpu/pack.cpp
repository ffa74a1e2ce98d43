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
#include "plan/gpu/plan.hpp"

namespace cornerturn::plan::gpu::pack {
namespace {

using kernels::PackArgs;
using kernels::PackDigit;

constexpr std::int64_t vector = 16;
constexpr std::int64_t most_bytes = 48 << 10;  // of a box
constexpr std::int64_t most_shared = 60 << 10;

int vector_elements(const Problem& normal) {
  return static_cast<int>(vector) / normal.dst_type.size();
}

struct Layout {
  std::array<int, ModeList::capacity> shared{};  // bytes for each index of a mode
  std::array<int, ModeList::capacity> pad_shift{};
  std::int64_t pitch = 0;
  std::int64_t bytes = 0;
  std::int64_t src_runs = 1;
  int padded = -1;  // the mode
};

// Runs of the source one after the other, each in whole vectors. If the destination runs along a
// mode that the source does not, V indices of it are 16 bytes further apart.
Layout layout_of(const Box& box, const Problem& normal) {
  Layout layout;
  layout.pad_shift.fill(31);
  const std::int64_t size = normal.dst_type.size();
  layout.pitch = ceil_div(box.src.run * size, vector) * vector;
  std::int64_t next = layout.pitch;
  const int first = box.dst.run_modes > 0 ? box.dst.order[0] : -1;
  for (int i = 0; i < box.src.modes; ++i) {
    const int which = box.src.order[static_cast<std::size_t>(i)];
    const auto at = static_cast<std::size_t>(which);
    if (i < box.src.run_modes) {
      layout.shared[at] = static_cast<int>(normal.modes[which].src_stride);
      continue;
    }
    layout.shared[at] = static_cast<int>(next);
    next *= box.extent[at];
    layout.src_runs *= box.extent[at];
    if (which == first && box.extent[at] > vector_elements(normal)) {
      layout.pad_shift[at] = std::countr_zero(static_cast<unsigned>(vector_elements(normal)));
      layout.padded = which;
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

PackArgs args_of(const PackConfig& config, const Box& box, const Layout& layout,
                 const Problem& normal) {
  PackArgs args;
  args.element_bytes = normal.dst_type.size();
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
  for (int i = 0; i < box.src.modes; ++i) {
    const int which = box.src.order[static_cast<std::size_t>(i)];
    const auto extent = static_cast<std::uint32_t>(box.extent[static_cast<std::size_t>(which)]);
    if (extent == 1) continue;
    if (i + 1 == box.src.run_modes) {
      args.src_last = extent;
      args.src_cut = cut_of(args, which, box, normal);
      args.src_unit = static_cast<std::uint32_t>(box.src.run) / extent;
    } else if (i >= box.src.run_modes) {
      args.src_digit[args.src_digits++] = digit(which, normal.modes[which].src_stride);
      args.src_runs *= extent;
    }
  }
  args.src_vectors = FastDivide(static_cast<std::uint32_t>(layout.pitch / vector));

  std::uint32_t period = 1;
  for (int i = 0; i < box.dst.modes; ++i) {
    const int which = box.dst.order[static_cast<std::size_t>(i)];
    const auto extent = static_cast<std::uint32_t>(box.extent[static_cast<std::size_t>(which)]);
    if (extent == 1) continue;
    if (i >= box.dst.run_modes) {
      args.dst_digit[args.dst_digits++] = digit(which, normal.modes[which].dst_stride);
      args.dst_runs *= extent;
      continue;
    }
    const bool is_last = i + 1 == box.dst.run_modes;
    if (is_last) {
      args.dst_last = extent;
      args.dst_cut = cut_of(args, which, box, normal);
      args.dst_unit = static_cast<std::uint32_t>(box.dst.run) / extent;
      args.last_stride = layout.shared[static_cast<std::size_t>(which)];
    }
    if (!is_last || box.dst.run_modes == 1) {
      args.period_digit[args.period_digits++] = digit(which, 0);
      period *= extent;
    }
  }
  args.period = FastDivide(period);
  args.runs_at = static_cast<int>(layout.bytes);
  args.table_at = args.runs_at + static_cast<int>(args.src_runs + args.dst_runs) * 16;

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

// Wavefronts of a request of a warp that gathers, on the average of some; which lanes are
// neighbours is `args.lanes`.
double wavefronts(const PackArgs& args, int lanes, std::int64_t run) {
  const int size = args.element_bytes;
  const auto V = static_cast<std::uint32_t>(16 / size);
  const std::uint32_t across = 1U << lanes;
  int sum = 0;
  int requests = 0;
  for (std::uint32_t k = 0; k < V; k += (V + 1) / 2) {
    WarpRequest request;
    request.active = 0;
    request.width = size;
    for (std::uint32_t lane = 0; lane < 32; ++lane) {
      const std::uint32_t element = (lane % across) * V + k;
      std::uint32_t n = lane / across;
      if (n >= args.dst_runs || element >= static_cast<std::uint32_t>(run)) continue;
      int at = 0;
      for (int i = 0; i < args.dst_digits; ++i) {
        const std::uint32_t rest = args.dst_digit[i].extent.quotient(n);
        at += args.dst_digit[i].shared_at(n - rest * args.dst_digit[i].extent.divisor);
        n = rest;
      }
      const std::uint32_t periods = args.period.quotient(element);
      std::uint32_t left = element - periods * args.period.divisor;
      at += static_cast<int>(periods) * args.last_stride;
      for (int i = 0; i < args.period_digits; ++i) {
        const std::uint32_t rest = args.period_digit[i].extent.quotient(left);
        at += args.period_digit[i].shared_at(left - rest * args.period_digit[i].extent.divisor);
        left = rest;
      }
      request.active |= 1U << lane;
      request.address[lane] = static_cast<std::uint64_t>(at);
    }
    sum += shared_cost(request, SharedOp::load).wavefronts;
    ++requests;
  }
  return static_cast<double>(sum) / requests;
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
    if ((32U >> shift) > 2 * args.dst_runs && best.shift >= 0) continue;
    const double w = wavefronts(args, shift, run);
    if (w < 0.8 * best.wavefronts) best = {shift, w};
  }
  return best;
}

// Groups of lanes that a run of the destination takes.
std::int64_t groups_of(const PackArgs& args, const Box& box, const PackConfig& config, int shift) {
  const std::int64_t before = config.shifted ? vector - args.element_bytes : 0;
  const std::int64_t vectors = ceil_div(box.dst.run * args.element_bytes + before, vector);
  return ceil_div(vectors, std::int64_t{1} << shift);
}

std::int64_t table_bytes(const PackArgs& args) {
  return (args.period.divisor + std::int64_t{16} / args.element_bytes) * 2;
}

// A divisor of the places where the box's runs begin on a side, 64 bytes at most.
std::int64_t granule_of(const Box::Side& side, const Problem& normal, std::int64_t Mode::*stride) {
  const std::int64_t run = side.run * normal.dst_type.size();
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
    const Box box = box_of(normal, run_bytes);
    if (box.bytes > most_bytes) break;
    if (std::find(seen.begin(), seen.end(), box) != seen.end()) continue;
    seen.push_back(box);
    if (count_cuts(box, normal) > PackArgs::max_cuts ||
        count_boxes(box, normal) >= (std::int64_t{1} << 31)) {
      continue;
    }
    const Layout layout = layout_of(box, normal);
    int digits = 0;
    for (const std::int32_t extent : box.extent) digits += extent > 1 ? 1 : 0;
    // Offsets of the table have 16 bits; lists of runs must not outgrow the box.
    const std::int64_t runs = layout.src_runs + box.elements / box.dst.run;
    const std::int64_t shared =
        layout.bytes + runs * 16 + (box.dst.run + vector_elements(normal)) * 2;
    if (layout.bytes > most_shared || shared > device.shared_per_block ||
        shared > 4 * box.bytes + 4096 || digits > PackArgs::max_digits) {
      continue;
    }
    PackConfig config;
    config.run_bytes = static_cast<std::int32_t>(run_bytes);
    config.threads = box.bytes >= 8192 ? 256 : 128;
    config.shifted = start.src < vector || start.dst < vector ||
                     box.src.run * normal.dst_type.size() % vector != 0;
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
        // The last box's runs end with whole vectors too.
        config.shifted |= in_src && mode.extent % extent * mode.src_stride % vector != 0;
        config.shifted |= mode.src_stride * extent % vector != 0;
        config.shifted |= mode.dst_stride * extent % vector != 0;
      }
      if (extent > 1) {
        config.shifted |= !in_src && mode.src_stride % vector != 0;
        config.shifted |= !in_dst && mode.dst_stride % vector != 0;
      }
    }
    add(config);
  }
}

Estimate estimate(const PackConfig& config, const Problem& normal, const Model& model) {
  const Costs& c = model.costs;
  const Box box = box_of(normal, config.run_bytes);
  const Layout layout = layout_of(box, normal);
  const PackArgs args = args_of(config, box, layout, normal);
  const Lanes lanes = choose_lanes(args, box.dst.run);
  const double size = normal.dst_type.size();
  const double V = vector_elements(normal);
  const auto boxes = static_cast<double>(count_boxes(box, normal));
  const double threads = config.threads;
  const auto rounded = [&](std::int64_t n) {
    return std::ceil(static_cast<double>(n) / threads) * threads;
  };

  Work work;
  work.blocks = boxes;
  work.resident = resident_blocks(model.device, config.threads,
                                  static_cast<unsigned>(args.table_at + table_bytes(args)),
                                  4 * 256 / config.threads);
  // Lanes that load, and that store, where groups of lanes are not full too.
  const double loads = static_cast<double>(args.src_runs) * args.src_vectors.divisor;
  const double down = 32 >> lanes.shift;
  const double groups = static_cast<double>(groups_of(args, box, config, lanes.shift));
  const double stores = groups * std::ceil(static_cast<double>(args.dst_runs) / down) * 32;
  const double shifted = config.shifted ? 1 + c.pack_shifted : 1;
  const double digits = args.src_digits + args.dst_digits + args.period_digits;
  const double setup =
      rounded(std::int64_t{args.period.divisor} + vector_elements(normal)) *
          (c.pack_entry + c.pack_entry_digit * digits) +
      (rounded(args.src_runs) + rounded(args.dst_runs)) * c.pack_run_digit * digits +
      threads * (c.pack_thread + c.pack_axis * args.boxes.rank);
  // Warps with a vector that is cut take its elements one by one.
  const double cut_warps =
      config.shifted ? std::min(2.0, groups) * std::ceil(static_cast<double>(args.dst_runs) / down)
                     : 0;
  work.phases = c.pack_phases;
  work.instructions =
      boxes * (setup + cut_warps * 32 * V * c.pack_edge + loads * c.pack_load * shifted +
               stores * (c.pack_lane * shifted + c.pack_element * V));
  // Whole vectors are stored to shared memory and by the lanes; elements, and where they lie, are
  // loaded one by one. Lanes read the table V entries of two bytes apart.
  const double entries = std::min<double>(1U << lanes.shift, std::ceil(args.period.divisor / V));
  const double lookups = std::max(1.0, entries * V * 2 / (bank_count * bank_bytes));
  work.wavefronts = boxes * c.pack_wavefront *
                    (loads / 32 * 8 + stores / 32 * (V * (lanes.wavefronts + lookups) + 4));
  work.block_seconds =
      c.pack_block + c.pack_block_lane * static_cast<double>(box.bytes) / 16 / threads;
  const double src_run = static_cast<double>(box.src.run) * size;
  const double dst_run = static_cast<double>(box.dst.run) * size;
  work.src_bytes = src_moved(model, {src_run, granule_of(box.src, normal, &Mode::src_stride)});
  work.dst_bytes = dst_moved(model, {dst_run, granule_of(box.dst, normal, &Mode::dst_stride)});
  return estimate_of(model, work);
}

std::string describe(const PackConfig& config, const Problem& normal) {
  const Box box = box_of(normal, config.run_bytes);
  const std::int64_t size = normal.dst_type.size();
  return fmt::format("boxes of {} B in runs of {} and {} B{}", box.bytes, box.src.run * size,
                     box.dst.run * size, config.shifted ? ", begin anywhere" : "");
}

Prepared prepare(const PackConfig& config, const Problem& normal) {
  const Box box = box_of(normal, config.run_bytes);
  const Layout layout = layout_of(box, normal);
  PackArgs args = args_of(config, box, layout, normal);
  args.lanes = choose_lanes(args, box.dst.run).shift;
  args.dst_groups =
      FastDivide(static_cast<std::uint32_t>(groups_of(args, box, config, args.lanes)));
  Prepared ready{args, {}};
  ready.launch.dynamic_shared = static_cast<unsigned>(args.table_at + table_bytes(args));
  ready.launch.block = {static_cast<unsigned>(config.threads), 1, 1};
  ready.launch.grid = {static_cast<unsigned>(count_boxes(box, normal)), 1, 1};
  return ready;
}

}  // namespace cornerturn::plan::gpu::pack
