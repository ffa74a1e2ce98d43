#include "plan/gpu/estimate.hpp"

#include <algorithm>
#include <cmath>

#include "core/divide.hpp"
#include "maps/sectors.hpp"
#include "plan/gpu/sectors.hpp"

namespace cornerturn::plan::gpu {
namespace {

constexpr double lanes_a_clock = 128;  // of an SM: four warps
constexpr int system_shared = 1024;    // bytes that the driver adds to each block

// The share of the places that lie within a sector, not at its beginning.
double within_sectors(std::int64_t granule) {
  return 1 - static_cast<double>(gcd_of_power(sector_bytes, granule)) / sector_bytes;
}

double cube(double x) {
  return x * x * x;
}

}  // namespace

double Model::times_read() const {
  double times = 1;
  const double room = cube(costs.kept * static_cast<double>(device.l2_bytes));
  for (int i = 0; i < least.repeat_count; ++i) {
    const Repeat& repeat = least.repeats[static_cast<std::size_t>(i)];
    const double between = cube(repeat.between);
    times *= 1 + (repeat.times - 1) * between / (between + room);
  }
  return times;
}

double Model::src_read() const {
  return std::max(least.src_bytes, least.src_sparse) * times_read();
}

double Model::cut_bytes() const {
  if (!outgrow_l2(least.of_cut_rows, device)) return 0;
  if (least.dst_short > 0) return std::max(0.0, least.dst_short - least.dst_bytes);
  return least.cut_rows * costs.row_gap;
}

double src_moved(const Model& model, const MovedRuns& runs) {
  const double more = 1 + model.costs.src_run / runs.bytes;
  return std::max(model.least.src_bytes * more, model.least.src_lines) * model.times_read();
}

double dst_moved(const Model& model, const MovedRuns& runs) {
  const SharedCosts& c = model.costs;
  const double cut = c.dst_sector * within_sectors(runs.granule);
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
  e.memory_seconds = std::max(work.src_bytes + work.dst_bytes, work.l2_bytes / model.costs.l2) /
                     device.copy_bandwidth;
  // Blocks of an SM, on the average and on those that have most.
  const double of_sm = work.blocks / device.sm_count;
  const double more = std::ceil(of_sm) / of_sm - 1;
  const double busiest = 1 + model.costs.uneven_issue * more;
  e.issue_seconds = work.instructions / (lanes_a_clock * clocks) * busiest;
  e.shared_seconds = work.wavefronts / clocks * busiest;
  e.rounds_seconds =
      model.costs.rounds * work.block_seconds * work.blocks / (device.sm_count * work.resident);
  e.start_seconds = device.launch_seconds + work.block_seconds;
  const double parts[] = {e.memory_seconds, e.issue_seconds, e.shared_seconds, e.rounds_seconds};
  const double longest = *std::max_element(std::begin(parts), std::end(parts));
  const double resident = std::min(work.resident, std::max(1.0, std::ceil(of_sm)));
  const double barriers = work.barriers > 0 ? work.barriers : model.costs.barriers;
  const auto set_seconds = [&](double busy) {
    e.seconds = e.start_seconds + busy * (1 + barriers / resident);
  };
  set_seconds(longest);  // at least
  if (longest == 0 || model.is_out_of_reach(e)) return e;
  const bool cubes = model.norm == 3;  // which take less time than powers
  double sum = 0;
  for (const double part : parts) {
    const double share = part == longest ? 1 : part / longest;  // the longest may be infinite
    sum += cubes ? cube(share) : std::pow(share, model.norm);
  }
  set_seconds(longest * (cubes ? std::cbrt(sum) : std::pow(sum, 1 / model.norm)));
  return e;
}

}  // namespace cornerturn::plan::gpu
