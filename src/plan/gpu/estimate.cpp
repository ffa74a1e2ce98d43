#include "plan/gpu/estimate.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "maps/sectors.hpp"

namespace cornerturn::plan::gpu {
namespace {

constexpr std::int64_t burst = 64;
constexpr double lanes_a_clock = 128;  // of an SM: four warps
constexpr int system_shared = 1024;    // bytes that the driver adds to each block

// How many of the places lie within a piece of `whole` bytes, not at its beginning.
double within(std::int64_t granule, std::int64_t whole) {
  return 1 - static_cast<double>(std::gcd(granule, whole)) / static_cast<double>(whole);
}

}  // namespace

double src_moved(const Model& model, const MovedRuns& runs) {
  const Costs& c = model.costs;
  const double cut =
      c.src_sector * within(runs.granule, sector_bytes) + c.src_burst * within(runs.granule, burst);
  return model.least.src_bytes * (1 + c.src_run / runs.bytes + cut / runs.between);
}

double dst_moved(const Model& model, const MovedRuns& runs) {
  const Costs& c = model.costs;
  const double cut = c.dst_sector * within(runs.granule, sector_bytes);
  return model.least.dst_bytes * (1 + c.dst_run / runs.bytes + cut / runs.between);
}

double resident_blocks(const DeviceInfo& device, int threads, unsigned shared_bytes, int promised) {
  const int by_shared = device.shared_per_sm / (static_cast<int>(shared_bytes) + system_shared);
  const int most = std::min({device.threads_per_sm / threads, device.blocks_per_sm, promised});
  return std::max(1, std::min(most, by_shared));
}

Estimate estimate_of(const Model& model, const Work& work) {
  const DeviceInfo& device = model.device;
  const double clocks = device.sm_count * device.clock_hz;  // of all SMs
  Estimate e;
  e.src_bytes = work.src_bytes;
  e.dst_bytes = work.dst_bytes;
  e.instructions = work.instructions;
  e.wavefronts = work.wavefronts;
  e.memory_seconds = (work.src_bytes + work.dst_bytes) / device.copy_bandwidth;
  e.issue_seconds = work.instructions / (lanes_a_clock * clocks);
  e.shared_seconds = work.wavefronts / clocks;
  e.rounds_seconds =
      model.costs.rounds * work.block_seconds * work.blocks / (device.sm_count * work.resident);
  e.start_seconds = device.launch_seconds + work.block_seconds;
  const double parts[] = {e.memory_seconds, e.issue_seconds, e.shared_seconds, e.rounds_seconds};
  const double longest = *std::max_element(std::begin(parts), std::end(parts));
  double sum = 0;
  for (const double part : parts) {
    if (part > 0) sum += std::pow(part / longest, model.costs.norm);
  }
  const double busy = longest * (longest > 0 ? std::pow(sum, 1 / model.costs.norm) : 0);
  const double phases = work.phases > 0 ? work.phases : model.costs.phases;
  e.seconds = e.start_seconds + busy * (1 + phases / work.resident);
  return e;
}

const std::vector<CostField>& cost_fields() {
#define CT_COST(name) \
  { #name, &Costs::name }
  static const std::vector<CostField> fields = {
      CT_COST(src_run),
      CT_COST(src_sector),
      CT_COST(src_burst),
      CT_COST(dst_run),
      CT_COST(dst_sector),
      CT_COST(src_group),
      CT_COST(dst_group),
      CT_COST(halo),
      CT_COST(kept),
      CT_COST(norm),
      CT_COST(rounds),
      CT_COST(phases),
      CT_COST(tile_lane),
      CT_COST(tile_element),
      CT_COST(tile_thread),
      CT_COST(tile_mode),
      CT_COST(tile_turn),
      CT_COST(tile_block),
      CT_COST(tile_block_byte),
      CT_COST(table_block),
      CT_COST(skew_lane),
      CT_COST(skew_element),
      CT_COST(skew_thread),
      CT_COST(skew_mode),
      CT_COST(skew_block),
      CT_COST(skew_block_byte),
      CT_COST(turned_lane),
      CT_COST(turned_element),
      CT_COST(turned_thread),
      CT_COST(turned_mode),
      CT_COST(turned_block),
      CT_COST(turned_block_byte),
      CT_COST(pack_load),
      CT_COST(pack_lane),
      CT_COST(pack_element),
      CT_COST(pack_thread),
      CT_COST(pack_axis),
      CT_COST(pack_entry),
      CT_COST(pack_entry_digit),
      CT_COST(pack_edge),
      CT_COST(pack_phases),
      CT_COST(pack_run_digit),
      CT_COST(pack_wavefront),
      CT_COST(pack_block),
      CT_COST(pack_block_lane),
      CT_COST(whole_load),
      CT_COST(whole_lane),
      CT_COST(whole_element),
      CT_COST(whole_thread),
      CT_COST(whole_phases),
      CT_COST(whole_wavefront),
      CT_COST(whole_block),
      CT_COST(whole_block_lane),
      CT_COST(convert_work),
      CT_COST(narrow_block),
      CT_COST(widen_block),
      CT_COST(any_value),
      CT_COST(gather_known),
      CT_COST(rows_lane),
      CT_COST(rows_axis),
      CT_COST(rows_shifted),
      CT_COST(rows_thread),
      CT_COST(rows_block),
      CT_COST(boxes_lane),
      CT_COST(boxes_shifted),
      CT_COST(boxes_thread),
      CT_COST(boxes_axis),
      CT_COST(gather_lane),
      CT_COST(gather_axis),
      CT_COST(gather_sector),
      CT_COST(gather_block),
      CT_COST(gather_single),
      CT_COST(structures_lane),
      CT_COST(structures_byte),
      CT_COST(structures_shifted),
      CT_COST(structures_block),
      CT_COST(copy_thread),
      CT_COST(copy_lane),
      CT_COST(copy_apart),
      CT_COST(copy_shifted),
      CT_COST(copy_block),
  };
#undef CT_COST
  return fields;
}

}  // namespace cornerturn::plan::gpu
