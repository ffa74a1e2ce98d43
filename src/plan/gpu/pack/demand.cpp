// What boxes of pack ask of a device.
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

// Values that change are more work, and a block takes longer for them.
void change(Demand& demand, const Problem& normal, const Family::Costs& c) {
  demand.instructions *= c.change_work;
  const bool narrows = normal.dst_type.size() < normal.src_type.size();
  demand.block_seconds *= narrows ? c.narrow_block : c.wide_block;
}

// What a box costs, whatever its form.
struct BoxWork {
  const Setup& setup;
  double threads;
  double V;            // elements of a vector of the destination
  double loads;        // vectors
  double setup_lanes;  // instructions before the first load

  BoxWork(const Setup& of, const PackConfig& config, const Box& box, const Problem& normal,
          const Family::Costs& c)
      : setup(of),
        threads(static_cast<double>(threads_of(config, box, normal))),
        V(vector_elements(normal)) {
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
  void add_anywhere(Demand& demand, const Family::Costs& c) const {
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
    demand.instructions = demand.blocks * (setup_lanes + threads * c.axis * rank + places +
                                           ends * c.edge + loads * c.load + stores * c.lane);
    // Whole vectors are stored to shared memory; elements are loaded one by one.
    demand.wavefronts = demand.blocks * c.wavefront *
                        (loads / 32 * 8 + stores / 32 * (W * setup.wavefronts + 1) + ends / 32 * 4);
    demand.barriers = c.barriers;
    demand.block_seconds = c.block;
  }

  // Boxes whose runs begin at multiples of 16 bytes.
  void add_aligned(Demand& demand, const Box& box, const Problem& normal,
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
    demand.instructions = demand.blocks * (setup_lanes + threads * c.axis * rank +
                                           repeats * threads * ways * c.aligned_element * V);
    demand.wavefronts =
        demand.blocks * (loads / 32 * 8 + repeats * threads / 32 * (V * setup.wavefronts + 6));
    demand.barriers = c.aligned_barriers;
    demand.block_seconds = c.aligned_block;
  }
};

// Blocks of an SM, of so many bytes of shared memory.
double resident_of(const PackConfig& config, const Box& box, const Problem& normal,
                   const Model& model, unsigned shared_bytes) {
  const bool is_anywhere = config.anywhere && !normal.converts();
  const int sure = is_anywhere ? most_threads_anywhere : most_threads_aligned;  // by registers
  return resident_blocks(model.device, static_cast<int>(threads_of(config, box, normal)),
                         shared_bytes, sure / config.threads);
}

// What is sure however boxes are set up: vectors are loaded, elements stored, by so many stores,
// and requests collide in no bank.
Demand sure_of(double loads, double stored, double stores, bool anywhere, const Problem& normal,
               const Family::Costs& c) {
  Demand demand;
  if (anywhere) {
    demand.instructions = loads * c.load + stores * c.lane;
    demand.wavefronts = c.wavefront * (loads * 8 + stored + stores) / 32;
    demand.barriers = c.barriers;
    demand.block_seconds = c.block;
  } else {
    demand.instructions = stored * c.aligned_element;
    demand.wavefronts = (loads * 8 + stored + stores * 6) / 32;
    demand.barriers = c.aligned_barriers;
    demand.block_seconds = c.aligned_block;
  }
  if (normal.converts()) change(demand, normal, c);
  return demand;
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

// The blocks, and what memory moves for them.
void add_moved(Demand& demand, const PackConfig& config, const Box& box, const Problem& normal,
               const Model& model, const Family::Costs& c) {
  demand.blocks = static_cast<double>(count_boxes(box, normal));
  const double src_run = box.src.run_modes == 0
                             ? bytes_of_element(normal)
                             : static_cast<double>(box.src.places * normal.src_type.size());
  const double dst_run = static_cast<double>(box.unshared(box.dst.places) * normal.dst_type.size());
  demand.src_bytes = src_moved(model, {src_run, granule_of(box.src, normal, &Mode::src_stride)});
  MovedRuns written{dst_run, granule_of(box.dst, normal, &Mode::dst_stride)};
  if (box.shared > 0) written.granule = sector_bytes;
  demand.dst_bytes = dst_moved(model, written);
  if (!config.anywhere) {
    // Memory takes each sparse row by itself.
    if (dst_row(normal).is_sparse()) {
      demand.dst_bytes = std::max(demand.dst_bytes, model.least.dst_bytes + model.cut_bytes());
    }
    return;
  }
  if (!leaves_gaps(box, normal)) return;
  demand.dst_bytes = std::min(demand.dst_bytes, model.least.dst_bytes * c.most_moved);
  if (model.least.dst_short > 0) {
    demand.dst_bytes = std::max(demand.dst_bytes, model.least.dst_bytes + model.cut_bytes());
  }
}

}  // namespace

// What is sure before any box is made: memory moves what no kernel can avoid, each vector is loaded
// and each element stored once, and the boxes that an SM holds at a time fit into its shared
// memory.
Demand Family::least_demand(const Alignment& start, const Problem& normal, const Model& model,
                            const Costs& c, const Common& boxes) {
  const auto stored = static_cast<double>(normal.elements());
  double loaded = stored * normal.src_type.size();  // bytes: broadcast modes add none
  for (const Mode& mode : normal.modes) {
    if (mode.src_stride == 0) loaded /= static_cast<double>(mode.extent);
  }
  Demand demand = sure_of(loaded / vector, stored, 0, true, normal, c);
  int most_resident = most_threads_anywhere / least_threads_anywhere;
  if (boxes.may_be_aligned(start)) {
    const Demand aligned = sure_of(loaded / vector, stored, 0, false, normal, c);
    demand.instructions = std::min(demand.instructions, aligned.instructions);
    demand.wavefronts = std::min(demand.wavefronts, aligned.wavefronts);
    demand.barriers = std::min(demand.barriers, aligned.barriers);
    demand.block_seconds = std::min(demand.block_seconds, aligned.block_seconds);
  }
  demand.src_bytes = model.src_read();
  demand.dst_bytes = model.least.dst_bytes;
  // The boxes fill the shared memory of all SMs so many times, each time for a block's seconds.
  demand.blocks = model.device.sm_count;
  demand.resident = model.device.shared_per_sm * demand.blocks / loaded;
  demand.barriers *= std::min(demand.resident, 1.0) / most_resident;
  return demand;
}

// What is sure before the kernel is set up for a box.
Demand Family::least_demand(const PackConfig& config, const Problem& normal, const Model& model,
                            const Costs& c, Common& boxes) {
  const Box& box = boxes.of(config);
  double loaded = normal.src_type.size();  // bytes: broadcast modes add none
  for (int i = 0; i < box.src.modes; ++i) {
    loaded *= box.extent[box.src.order[static_cast<std::size_t>(i)]];
  }
  const auto stored = static_cast<double>(box.unshared(box.elements));
  const int size = normal.dst_type.size();
  double stores = stored * size / vector;
  if (config.anywhere) {
    // What runs, and parts of them, have beyond whole units leaves element by element.
    constexpr double in_parts = 0.98;
    const double W = static_cast<double>(kernels::pack_unit_bytes(size)) / size;
    const double runs = stored / static_cast<double>(box.unshared(box.dst.run));
    stores = std::max(0.0, stored - (W - 1) * runs) / W * in_parts;
  }
  const auto boxes_of_all = static_cast<double>(count_boxes(box, normal));
  Demand demand = sure_of(boxes_of_all * loaded / vector, boxes_of_all * stored,
                          boxes_of_all * stores, config.anywhere, normal, c);
  int axes = 0;  // modes that boxes cut
  for (int i = 0; i < normal.rank(); ++i) axes += box.step(i) != normal.modes[i].extent ? 1 : 0;
  demand.instructions +=
      boxes_of_all * static_cast<double>(threads_of(config, box, normal)) * c.axis * axes;
  add_moved(demand, config, box, normal, model, c);
  demand.resident = resident_of(config, box, normal, model, static_cast<unsigned>(loaded));
  return demand;
}

Demand Family::demand(const PackConfig& config, const Problem& normal, const Model& model,
                      const Costs& c, Common& boxes) {
  const Box& box = boxes.of(config);
  const Setup setup = setup_of(config, box, normal);
  Demand demand;
  add_moved(demand, config, box, normal, model, c);
  demand.resident = resident_of(config, box, normal, model, setup.shared_bytes());
  const BoxWork of_box(setup, config, box, normal, c);
  if (config.anywhere) {
    of_box.add_anywhere(demand, c);
  } else {
    of_box.add_aligned(demand, box, normal, c);
  }
  if (normal.converts()) change(demand, normal, c);
  if (normal.converts() && why_no_common_cast(normal) != nullptr) {
    demand.instructions += static_cast<double>(normal.elements()) * model.costs.any_value;
  }
  return demand;
}

}  // namespace cornerturn::plan::gpu::pack
