// What boxes of pack should take.
#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "core/divide.hpp"
#include "plan/gpu/convert.hpp"
#include "plan/gpu/pack/layout.hpp"
#include "plan/gpu/pack/setup.hpp"
#include "plan/gpu/runs.hpp"
#include "plan/gpu/sectors.hpp"

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
                   c.entry_digit * digits;
  }

  // Boxes whose runs begin anywhere.
  void add_anywhere(Work& work, const Problem& normal, const Family::Costs& c) const {
    const PackArgs& args = setup.args;
    const double rank = args.axes;
    const double W = args.of_unit();
    // Lanes that store, where groups of lanes are not full too; and where their elements lie.
    const double lanes = args.across.divisor;
    const double stores = args.columns * lanes * static_cast<double>(args.to.runs);
    const int unit = args.of_unit() * args.element_bytes;
    const bool has_ends = args.of_unit() > 1 && !(args.same && args.to.bytes % unit == 0);
    const double ends_places = has_ends ? c.entry_digit * period_digits(args) : 0;
    const double places = threads * ends_places;
    const double ends =
        has_ends ? static_cast<double>(args.to.runs) / args.to_list.pieces.count.divisor * 2 * W
                 : 0;
    work.instructions = work.blocks * (setup_lanes + threads * c.axis * rank + places +
                                       ends * c.edge + loads * c.load + stores * c.lane);
    // Whole vectors are stored to shared memory; elements are loaded one by one.
    work.wavefronts = work.blocks * c.wavefront *
                      (loads / 32 * 8 + stores / 32 * (W * setup.wavefronts + 1) + ends / 32 * 4);
    work.barriers = c.barriers;
    work.block_seconds = c.block;
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
    work.instructions = work.blocks * (setup_lanes + threads * c.axis * rank +
                                       repeats * threads * ways * c.aligned_element * V);
    work.wavefronts =
        work.blocks * (loads / 32 * 8 + repeats * threads / 32 * (V * setup.wavefronts + 6));
    work.barriers = c.aligned_barriers;
    work.block_seconds = c.aligned_block;
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
  if (config.anywhere) {
    work.instructions = work.blocks * (loads * c.load + stores * c.lane);
    work.wavefronts = work.blocks * c.wavefront * (loads * 8 + stored + stores) / 32;
    work.barriers = c.barriers;
    work.block_seconds = c.block;
  } else {
    work.instructions = work.blocks * stored * c.aligned_element;
    work.wavefronts = work.blocks * (loads * 8 + stored + stores * 6) / 32;
    work.barriers = c.aligned_barriers;
    work.block_seconds = c.aligned_block;
  }
  work.resident =
      resident_blocks(model.device, static_cast<int>(threads), static_cast<unsigned>(loaded),
                      resident_threads(config, normal) / config.threads);
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

void add_traffic(Work& work, const PackConfig& config, const Box& box, const Problem& normal,
                 const Model& model, const Family::Costs& c) {
  const double src_run = box.src.run_modes == 0
                             ? bytes_of_element(normal)
                             : static_cast<double>(box.src.places * normal.src_type.size());
  const double dst_run = static_cast<double>(box.own(box.dst.places) * normal.dst_type.size());
  work.src_bytes = src_moved(model, {src_run, granule_of(box.src, normal, &Mode::src_stride)});
  MovedRuns written{dst_run, granule_of(box.dst, normal, &Mode::dst_stride)};
  if (box.shared > 0) written.granule = sector_bytes;
  work.dst_bytes = dst_moved(model, written);
  if (!config.anywhere) {
    if (!dst_row(normal).is_sparse()) return;
    // Memory takes each of such rows by itself.
    work.dst_bytes = std::max(work.dst_bytes, model.least.dst_bytes + model.cut_bytes());
    return;
  }
  if (!leaves_gaps(box, normal)) return;
  work.dst_bytes = std::min(work.dst_bytes, model.least.dst_bytes * c.most_moved);
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
  work.instructions = loads * c.load;
  const Estimate anywhere =
      with(c.wavefront, c.block, c.barriers, most_threads_anywhere / least_threads_anywhere);
  if (!boxes.may_be_aligned(start)) return anywhere;
  work.instructions = stored * c.aligned_element;
  const Estimate aligned =
      with(1, c.aligned_block, c.aligned_barriers, most_threads_aligned / least_threads_aligned);
  return aligned.seconds < anywhere.seconds ? aligned : anywhere;
}

Estimate Family::estimate(const PackConfig& config, const Problem& normal, const Model& model,
                          const Costs& c, Facts& boxes) {
  const Box& box = boxes.of(config);
  const auto threads = static_cast<double>(threads_of(config, box, normal));
  Work moved;
  moved.blocks = static_cast<double>(count_boxes(box, normal));
  add_traffic(moved, config, box, normal, model, c);
  const auto estimate_with = [&](const Setup& setup) {
    Work work = moved;
    work.resident = resident_blocks(model.device, static_cast<int>(threads), setup.shared_bytes(),
                                    resident_threads(config, normal) / config.threads);
    const BoxWork of_box(setup, threads, normal, c);
    if (config.anywhere) {
      of_box.add_anywhere(work, normal, c);
    } else {
      of_box.add_aligned(work, box, normal, c);
    }
    if (normal.converts() && why_no_common_cast(normal) != nullptr) {
      work.instructions += static_cast<double>(normal.elements()) * model.costs.any_value;
    }
    return estimate_of(model, work);
  };
  if (model.least_seconds != nullptr && !normal.converts()) {
    Work work = moved;
    add_least(work, config, box, threads, normal, model, c);
    const Estimate least = estimate_of(model, work);
    if (model.is_out_of_reach(least)) return least;
  }
  Setup setup = first_setup(config, box, normal);
  if (model.least_seconds != nullptr) {
    const Estimate least = estimate_with(setup);
    if (model.is_out_of_reach(least)) return least;
  }
  count_wavefronts(setup, config, box, normal);
  return estimate_with(setup);
}

}  // namespace cornerturn::plan::gpu::pack
