#include "plan/gpu/roofline.hpp"

#include <algorithm>
#include <array>
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

// The time of what takes place at once: a little more than the longest where several are about
// equal.
double together(const std::array<double, 4>& parts) {
  const double longest = *std::max_element(parts.begin(), parts.end());
  if (longest == 0) return 0;
  double sum = 0;  // the longest may be infinite
  for (const double part : parts) sum += part == longest ? 1 : cube(part / longest);
  return longest * std::cbrt(sum);
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

Estimate roofline(const Demand& demand, const DeviceInfo& device, const SharedCosts& costs) {
  Estimate e;
  if (demand.launches == 0) return e;
  const double clocks = device.sm_count * device.clock_hz;  // of all SMs
  e.src_bytes = demand.src_bytes;
  e.dst_bytes = demand.dst_bytes;
  e.instructions = demand.instructions;
  e.wavefronts = demand.wavefronts;
  e.memory_seconds = std::max(demand.src_bytes + demand.dst_bytes, demand.l2_bytes / costs.l2) /
                     device.copy_bandwidth;
  // Blocks of an SM, on the average and on those that have most.
  const double of_sm = demand.blocks / device.sm_count;
  const double more = std::ceil(of_sm) / of_sm - 1;
  const double busiest = 1 + costs.uneven_issue * more;
  e.issue_seconds = demand.instructions / (lanes_a_clock * clocks) * busiest;
  e.shared_seconds = demand.wavefronts / clocks * busiest;
  e.rounds_seconds =
      costs.rounds * demand.block_seconds * demand.blocks / (device.sm_count * demand.resident);
  e.start_seconds = demand.launches * (device.launch_seconds + demand.block_seconds);
  const double busy =
      together({e.memory_seconds, e.issue_seconds, e.shared_seconds, e.rounds_seconds});
  const double resident = std::min(demand.resident, std::max(1.0, std::ceil(of_sm)));
  const double barriers = demand.barriers > 0 ? demand.barriers : costs.barriers;
  e.seconds = demand.parts_seconds > 0 ? demand.parts_seconds
                                       : e.start_seconds + busy * (1 + barriers / resident);
  return e;
}

}  // namespace cornerturn::plan::gpu
