// What boxes of pack should take.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>

#include "core/divide.hpp"
#include "plan/gpu/convert.hpp"
#include "plan/gpu/cut_sectors.hpp"
#include "plan/gpu/neighbours.hpp"
#include "plan/gpu/pack_layout.hpp"
#include "plan/gpu/pack_setup.hpp"
#include "plan/gpu/runs.hpp"

namespace cornerturn::plan::gpu::pack {
namespace {

using kernels::PackArgs;

// A divisor of the places where the box's runs begin on a side, 64 bytes at most.
std::int64_t granule_of(const Box::Side& side, const Problem& normal, std::int64_t Mode::*stride) {
  const std::int64_t run = side.places * element_size(normal, stride);
  std::int64_t granule = gcd_of_power(64, run);
  for (const Mode& mode : normal.modes) {
    if (std::abs(mode.*stride) >= run) granule = gcd_of_power(granule, mode.*stride);
  }
  return granule;
}

// Modes of a period of the destination's runs.
int period_digits(const PackArgs& args) {
  const int modes = args.of_run.count;
  return std::max(modes - 1, args.anywhere ? 0 : std::min(modes, 1));
}

// Elements of a run of the destination that boxes cut at its last mode, from end to end.
std::int64_t whole_run(const Box& box, const Problem& normal) {
  if (box.dst.run_modes == 0) return box.dst.run;
  const int last = box.dst.order[static_cast<std::size_t>(box.dst.run_modes - 1)];
  return box.dst.run / box.extent[static_cast<std::size_t>(last)] * normal.modes[last].extent;
}

// Bytes of such a run behind its last whole vector, if it begins at a multiple of 16 bytes.
int bytes_behind_vectors(const Box& box, const Problem& normal) {
  return static_cast<int>(whole_run(box, normal) * normal.dst_type.size() % vector);
}

// What a box costs, whatever its form.
struct BoxWork {
  const Setup& setup;
  double threads;
  double V;            // elements of a vector of the destination
  double loads;        // vectors
  double setup_lanes;  // instructions before the first load

  BoxWork(const Setup& of, double threads_of_block, const Problem& normal, const Family::Costs& c)
      : setup(of), threads(threads_of_block), V(vector_elements(normal)) {
    const PackArgs& args = setup.args;
    const auto rounded = [&](std::int64_t n) {
      return std::ceil(static_cast<double>(n) / threads) * threads;
    };
    loads = static_cast<double>(args.from.runs) * args.from.vectors.divisor;
    loads *= args.rounds;
    const double digits =
        args.from_list.beside.count + args.to_list.beside.count + period_digits(args);
    setup_lanes = (rounded(args.from.listed()) + rounded(args.to.listed())) * c.run_digit * digits;
    if (args.anywhere) return;
    setup_lanes += rounded(std::int64_t{args.period.divisor} + vector_elements(normal)) *
                   (c.entry + c.entry_digit * digits);
  }

  // Boxes whose runs begin anywhere.
  void add_anywhere(Work& work, const Box& box, const Problem& normal,
                    const Family::Costs& c) const {
    const PackArgs& args = setup.args;
    const double rank = args.axes;
    const double W = args.of_unit();
    // Lanes that store, where groups of lanes are not full too; and where their elements lie.
    const double lanes = args.across.divisor;
    const double stores = args.columns * lanes * static_cast<double>(args.to.runs);
    const double columns = args.columns * lanes * args.down.divisor;
    const int unit = args.of_unit() * args.element_bytes;
    const bool has_ends = args.of_unit() > 1 && !(args.same && args.to.bytes % unit == 0);
    const double ends_places = has_ends ? c.entry + c.entry_digit * period_digits(args) : 0;
    const double places =
        columns * (c.column + c.column_digit * std::max(0, args.of_run.count - 2)) +
        threads * ends_places;
    const double ends =
        has_ends ? static_cast<double>(args.to.runs) / args.to_list.pieces.count.divisor * 2 * W
                 : 0;
    work.instructions =
        work.blocks *
        (setup_lanes + threads * (c.thread + c.axis * rank) + places + ends * c.edge +
         loads * c.load + stores * (c.lane + c.element * W) + columns * args.finds * c.shifting);
    // Whole vectors are stored to shared memory; elements are loaded one by one.
    work.wavefronts = work.blocks * c.wavefront *
                      (loads / 32 * 8 + stores / 32 * (W * setup.wavefronts + 1) + ends / 32 * 4);
    work.barriers = c.barriers;
    const double units = args.columns * std::ceil(static_cast<double>(args.to.runs) /
                                                  static_cast<double>(args.down.divisor));
    work.block_seconds = c.block + c.block_lane * static_cast<double>(box.bytes) / 16 / threads +
                         c.block_unit * units;
    if (normal.converts()) change(work, normal, c);
  }

  // Boxes whose runs begin at multiples of 16 bytes.
  void add_aligned(Work& work, const Box& box, const Problem& normal,
                   const Family::Costs& c) const {
    const PackArgs& args = setup.args;
    const double rank = args.axes;
    // How often a thread writes a vector; those beyond the last whole run are idle.
    const double repeats = std::ceil(
        static_cast<double>(args.to.runs) /
        static_cast<double>(args.to.vectors.quotient(static_cast<std::uint32_t>(threads))));
    // A warp with the end of a run goes both ways if that is no whole vector.
    const bool has_ends = bytes_behind_vectors(box, normal) > 0;
    const double of_run = static_cast<double>(whole_run(box, normal)) / V;  // vectors
    const double ways = has_ends ? 1 + std::min(1.0, 32 / of_run) : 1;
    work.instructions =
        work.blocks *
        (setup_lanes + threads * (c.aligned_thread + c.axis * rank) + loads * c.aligned_load +
         repeats * threads * ways * (c.aligned_lane + c.aligned_element * V));
    work.wavefronts = work.blocks * c.aligned_wavefront *
                      (loads / 32 * 8 + repeats * threads / 32 * (V * setup.wavefronts + 6));
    work.barriers = c.aligned_barriers;
    work.block_seconds = c.aligned_block + c.aligned_block_lane * repeats;
    if (normal.converts()) change(work, normal, c);
  }

 private:
  static void change(Work& work, const Problem& normal, const Family::Costs& c) {
    work.instructions *= c.change_work;
    const bool narrows = normal.dst_type.size() < normal.src_type.size();
    work.block_seconds *= narrows ? c.narrow_block : c.wide_block;
  }
};

// Threads of an SM for which registers are sure to suffice.
int resident_threads(const PackConfig& config, const Problem& normal) {
  return config.anywhere && !normal.converts() ? most_threads_anywhere : most_threads_aligned;
}

// What is sure before the kernel is set up for a box: each vector is loaded, each element stored,
// and requests collide in no bank.
void add_least(Work& work, const PackConfig& config, const Box& box, double threads,
               const Problem& normal, const Model& model, const Family::Costs& c) {
  double loaded = normal.src_type.size();  // bytes: broadcast modes add none
  for (int i = 0; i < box.src.modes; ++i) {
    loaded *= box.extent[box.src.order[static_cast<std::size_t>(i)]];
  }
  const double loads = loaded / vector;
  const auto stored = static_cast<double>(box.own(box.elements));
  const int size = normal.dst_type.size();
  double stores = stored * size / vector;
  if (config.anywhere) {
    // What runs, and parts of them, have beyond whole units leaves element by element.
    constexpr double in_parts = 0.98;
    const double W = static_cast<double>(kernels::pack_unit_bytes(size)) / size;
    const double runs = stored / static_cast<double>(box.own(box.dst.run));
    stores = std::max(0.0, stored - (W - 1) * runs) / W * in_parts;
  }
  const double turns = stores / threads;
  if (config.anywhere) {
    work.instructions =
        work.blocks * (threads * c.thread + loads * c.load + stores * c.lane + stored * c.element);
    work.wavefronts = work.blocks * c.wavefront * (loads * 8 + stored + stores) / 32;
    work.barriers = c.barriers;
    work.block_seconds = c.block + c.block_lane * loaded / vector / threads + c.block_unit * turns;
  } else {
    work.instructions = work.blocks * (threads * c.aligned_thread + loads * c.aligned_load +
                                       stores * c.aligned_lane + stored * c.aligned_element);
    work.wavefronts = work.blocks * c.aligned_wavefront * (loads * 8 + stored + stores * 6) / 32;
    work.barriers = c.aligned_barriers;
    work.block_seconds = c.aligned_block + c.aligned_block_lane * turns;
  }
  work.resident =
      resident_blocks(model.device, static_cast<int>(threads), static_cast<unsigned>(loaded),
                      resident_threads(config, normal) / config.threads);
}

BlockWalk walk_of(const Box& box, const Problem& normal, bool anywhere) {
  BlockWalk walk(normal);
  for (int i = 0; i < normal.rank(); ++i) walk[i].indices = box.step(i);
  const BoxOrder order(box, normal, anywhere);
  for (int at = 0; at < order.count; ++at) {
    const int i = order.modes[static_cast<std::size_t>(at)];
    walk[i].step = walk.blocks;
    walk.blocks *= std::ceil(static_cast<double>(normal.modes[i].extent) / box.step(i));
  }
  return walk;
}

// `run`: bytes of the piece that a box has.
CutRuns cut_runs(const Box::Side& side, double run, const Box& box, const Problem& normal,
                 const BlockWalk& walk) {
  CutRuns runs{{side.order.data(), static_cast<std::size_t>(side.run_modes)}, run};
  if (side.run_modes == 0) return runs;
  const int last = runs.modes.back();
  runs.pieces = static_cast<double>(normal.modes[last].extent) / box.step(last);
  runs.bytes *= runs.pieces;
  runs.step = walk[last].step;
  return runs;
}

// Bytes of the source that an element takes which has no neighbours: up to the next one, or a
// sector.
double bytes_of_element(const Problem& normal) {
  std::int64_t bytes = sector_bytes;
  for (const Mode& mode : normal.modes) {
    const std::int64_t step = std::abs(mode.src_stride);
    if (step != 0 && mode.extent > 1) bytes = std::min(bytes, step);
  }
  return static_cast<double>(std::max<std::int64_t>(bytes, normal.src_type.size()));
}

// `prefetches`: whether cut sectors of the destination are asked for.
void add_traffic(Work& work, const PackConfig& config, const Box& box, const Problem& normal,
                 const Model& model, const Family::Costs& c, bool prefetches) {
  const double src_run = box.src.run_modes == 0
                             ? bytes_of_element(normal)
                             : static_cast<double>(box.src.places * normal.src_type.size());
  const double dst_run = static_cast<double>(box.own(box.dst.places) * normal.dst_type.size());
  const BlockWalk walk = walk_of(box, normal, config.anywhere);
  const auto moved = [&](const Box::Side& side, double run, std::int64_t Mode::*stride,
                         std::int64_t reach) -> MovedRuns {
    const CutRuns cut = cut_runs(side, run, box, normal, walk);
    return {run, granule_of(side, normal, stride), run,
            met_late(model, normal, walk, cut, stride, reach)};
  };
  work.src_bytes = src_moved(model, moved(box.src, src_run, &Mode::src_stride, 64));
  MovedRuns written = moved(box.dst, dst_run, &Mode::dst_stride, 32);
  if (box.shared > 0) {
    written.granule = sector_bytes;
    const double again = static_cast<double>(box.shared) / box.step(box.shared_mode);
    work.src_bytes += c.shared_again * again * model.least.src_bytes;
  }
  work.dst_bytes = dst_moved(model, written);
  if (!config.anywhere) {
    // The end of a run leaves in pieces. Each after the first one takes the L2 as a sector does.
    const int pieces = std::popcount(static_cast<unsigned>(bytes_behind_vectors(box, normal)));
    const double runs =
        static_cast<double>(normal.elements()) / static_cast<double>(whole_run(box, normal));
    work.dst_bytes = std::min(work.dst_bytes + runs * std::max(0, pieces - 1) * sector_bytes,
                              std::max(work.dst_bytes, model.least.dst_bytes * c.most_moved));
    if (!dst_row(normal).is_sparse()) return;
    // Memory takes each of such rows by itself.
    work.dst_bytes = std::max(work.dst_bytes, model.least.dst_bytes + model.cut_bytes()) +
                     runs * pieces * c.piece_alone;
    return;
  }
  if (!leaves_gaps(box, normal)) return;
  double gap = c.gap;
  if (prefetches) {
    // Of a row that a box has alone, others write into both of its cut sectors at other times.
    const int beside = box.dst.order[static_cast<std::size_t>(box.dst.run_modes)];
    gap = c.gap_prefetched + c.gap_alone / box.extent[static_cast<std::size_t>(beside)];
  }
  const double at_once = model.least.dst_bytes * c.most_moved;
  work.dst_bytes = std::min(work.dst_bytes + model.least.dst_bytes * gap / dst_run, at_once);
  if (model.least.dst_short > 0) {
    work.dst_bytes = std::max(work.dst_bytes, model.least.dst_bytes + model.cut_bytes());
  }
}

}  // namespace

// What is sure before any box is made: memory moves what no kernel can avoid, each vector is loaded
// and each element stored once, and the boxes that an SM holds at a time fit into its shared
// memory.
Estimate Family::least(const Problem& normal, const Alignment& start, const Model& model,
                       const Costs& c, const Facts& boxes) {
  if (normal.converts()) return {};
  const DeviceInfo& device = model.device;
  const auto stored = static_cast<double>(normal.elements());
  double loaded = stored * normal.src_type.size();  // bytes: broadcast modes add none
  for (const Mode& mode : normal.modes) {
    if (mode.src_stride == 0) loaded /= static_cast<double>(mode.extent);
  }
  const double loads = loaded / vector;
  Work work;
  work.src_bytes = model.src_read();
  work.dst_bytes = model.least.dst_bytes;
  // The boxes fill the shared memory of all SMs so many times, each time for a block's seconds.
  work.blocks = device.sm_count;
  work.resident = device.shared_per_sm * work.blocks / loaded;
  const auto with = [&](double wavefront, double block, double barriers, int most_resident) {
    work.wavefronts = wavefront * (loads * 8 + stored) / 32;
    work.block_seconds = block;
    work.barriers = barriers / most_resident * std::min(work.resident, 1.0);
    return estimate_of(model, work);
  };
  work.instructions = loads * c.load + stored * c.element;
  const Estimate anywhere =
      with(c.wavefront, c.block, c.barriers, most_threads_anywhere / least_threads_anywhere);
  if (!boxes.may_be_aligned(start)) return anywhere;
  work.instructions = loads * c.aligned_load + stored * c.aligned_element;
  const Estimate aligned = with(c.aligned_wavefront, c.aligned_block, c.aligned_barriers,
                                most_threads_aligned / least_threads_aligned);
  return aligned.seconds < anywhere.seconds ? aligned : anywhere;
}

Estimate Family::estimate(const PackConfig& config, const Problem& normal, const Model& model,
                          const Costs& c, Facts& boxes) {
  const Box& box = boxes.of(config);
  const auto threads = static_cast<double>(threads_of(config, box, normal));
  Work moved;
  moved.blocks = static_cast<double>(count_boxes(box, normal));
  add_traffic(moved, config, box, normal, model, c, config.prefetches);
  // As measured: estimates of large boxes, and of those whose runs are longer on one side, are so
  // much too low where they are the lowest of many.
  constexpr double doubt = 1.04;
  const bool doubtful = config.longer != 0 || box.bytes > most_bytes;
  const auto doubted = [&](Estimate estimate) {
    if (doubtful) estimate.seconds *= doubt;
    return estimate;
  };
  const auto estimate_with = [&](const Setup& setup) {
    Work work = moved;
    work.resident = resident_blocks(model.device, static_cast<int>(threads), setup.shared_bytes(),
                                    resident_threads(config, normal) / config.threads);
    const BoxWork of_box(setup, threads, normal, c);
    if (config.anywhere) {
      of_box.add_anywhere(work, box, normal, c);
    } else {
      of_box.add_aligned(work, box, normal, c);
    }
    work.block_seconds += model.costs.walk_block * setup.args.axes;
    if (normal.converts() && why_no_common_cast(normal) != nullptr) {
      work.instructions += static_cast<double>(normal.elements()) * c.any_value;
    }
    return doubted(estimate_of(model, work));
  };
  if (model.least_seconds != nullptr && !normal.converts()) {
    Work work = moved;
    add_least(work, config, box, threads, normal, model, c);
    const Estimate least = doubted(estimate_of(model, work));
    if (model.is_out_of_reach(least)) return least;
  }
  Setup setup = first_setup(config, box, normal);
  if (config.prefetches && setup.args.prefetch == kernels::PackPrefetch::none) {
    add_traffic(moved, config, box, normal, model, c, false);
  }
  if (model.least_seconds != nullptr) {
    const Estimate least = estimate_with(setup);
    if (model.is_out_of_reach(least)) return least;
  }
  count_wavefronts(setup, config, box, normal);
  return estimate_with(setup);
}

}  // namespace cornerturn::plan::gpu::pack
