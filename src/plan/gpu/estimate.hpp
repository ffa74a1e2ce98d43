// What a candidate should take: the time of each thing that it keeps busy, and their sum.
//
//   time = launch + first and last block + work
//
// Work is the longest of four, a little longer where several are about equal (see `norm`):
//   memory   bytes in whole sectors, over the bandwidth of a large copy
//   issue    instructions, over the SMs' issue slots
//   shared   wavefronts of shared memory, one a clock of an SM
//   rounds   blocks, so many at a time as are resident, each as long as one takes that is alone
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "plan/gpu/device_info.hpp"
#include "plan/gpu/traffic.hpp"

namespace cornerturn::plan::gpu {

/// What things cost, as fitted to measurements by `planning_check --fit`. Instructions are counted
/// a lane. Where a kernel has several numbers, its cost is `lane` for each 16 bytes, `element` for
/// each element of those, `thread` for each thread of each block.
struct Costs {
  // Memory. Bytes more at each end of a run, of both sides.
  double src_run = 6;      ///< anywhere
  double src_sector = 10;  ///< that begins within a sector
  double src_burst = 13;   ///< that begins within 64 bytes, which memory delivers at once
  double dst_run = 6;      ///< anywhere
  double dst_sector = 65;  ///< that begins within a sector, which is then written twice
  double halo = 0.15;      ///< of rows that neighbouring tiles both read: not found in the L2
  double kept = 0.2;       ///< of the L2: what lies between two uses of a burst for half of them
  // All kernels.
  double norm = 2.5;     ///< work is the norm of this order of the four
  double rounds = 0.3;   ///< of the time of a block that is alone: what others do not hide
  double phases = 0.05;  ///< more work with one resident block: nothing else to do at barriers

  double tile_lane = 30, tile_element = 2, tile_thread = 60, tile_mode = 5;
  double tile_block = 1.2e-6, tile_block_byte = 36e-12, table_block = 0.3e-6;
  double skew_lane = 20, skew_element = 4, skew_thread = 100, skew_mode = 40;
  double skew_block = 1.3e-6, skew_block_byte = 45e-12;
  double turned_lane = 30, turned_element = 5, turned_thread = 80, turned_mode = 40;
  double turned_block = 1.2e-6, turned_block_byte = 80e-12;

  double pack_load = 20, pack_lane = 46, pack_element = 1.8, pack_shifted = 0.8;
  double pack_thread = 105, pack_axis = 30, pack_entry = 26, pack_entry_digit = 16;
  double pack_run_digit = 15, pack_wavefront = 1.0;
  double pack_block = 2e-6, pack_block_lane = 0.2e-6;

  double rows_lane = 30, rows_axis = 8, rows_shifted = 40, rows_thread = 40, rows_block = 2e-6;
  double boxes_lane = 10, boxes_shifted = 80, boxes_thread = 40, boxes_axis = 12;
  double boxes_block = 2e-6;
  double gather_lane = 30, gather_axis = 14, gather_sector = 1.5, gather_block = 1.2e-6;
  double structures_lane = 45, structures_byte = 25, structures_shifted = 45;
  double structures_block = 1.5e-6;
  double copy_thread = 30, copy_lane = 10, copy_apart = 0.012, copy_shifted = 20,
         copy_block = 1.5e-6;
};

/// The fields of Costs by name.
struct CostField {
  std::string_view name;
  double Costs::*field;
};
const std::vector<CostField>& cost_fields();

/// All that estimates of one problem share.
struct Model {
  const DeviceInfo& device;
  const Costs& costs;
  Traffic least;  ///< what no kernel can avoid
};

/// Runs of one side as a kernel moves them.
struct MovedRuns {
  double bytes = 0;          ///< of one, on the average
  std::int64_t granule = 1;  ///< bytes: a divisor of the places where they begin
  double between = bytes;    ///< bytes from one place that may lie within a sector to the next
};

struct Estimate {
  double src_bytes = 0;  ///< that memory moves
  double dst_bytes = 0;
  double instructions = 0;  ///< of all lanes
  double wavefronts = 0;    ///< of shared memory

  double memory_seconds = 0;
  double issue_seconds = 0;
  double shared_seconds = 0;
  double rounds_seconds = 0;
  double start_seconds = 0;  ///< of the launch, the first and the last block
  double seconds = 0;        ///< of all

  friend bool operator==(const Estimate&, const Estimate&) = default;
};

/// What a kernel asks of a device.
struct Work {
  double src_bytes = 0;
  double dst_bytes = 0;
  double instructions = 0;
  double wavefronts = 0;
  double blocks = 1;
  double resident = 1;       ///< blocks at a time on an SM
  double block_seconds = 0;  ///< of a block that is alone
};

/// Bytes that memory moves for one side, where runs begin and end as given.
double src_moved(const Model& model, const MovedRuns& runs);
double dst_moved(const Model& model, const MovedRuns& runs);

/// Blocks that an SM holds at a time, of so many threads and bytes of shared memory. `promised`
/// is how many the registers are sure to suffice for.
double resident_blocks(const DeviceInfo& device, int threads, unsigned shared_bytes, int promised);

Estimate estimate_of(const Model& model, const Work& work);

}  // namespace cornerturn::plan::gpu
