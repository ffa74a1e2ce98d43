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
  double src_run = 6.99;     ///< anywhere
  double src_sector = 8.79;  ///< that begins within a sector
  double src_burst = 17.9;   ///< that begins within 64 bytes, which memory delivers at once
  double dst_run = 6.09;     ///< anywhere
  double dst_sector = 84.7;  ///< that begins within a sector, which is then written twice
  double halo = 0.0984;      ///< of rows that neighbouring tiles both read: not found in the L2
  double kept = 0.591;       ///< of the L2: what lies between two uses of a burst for half of them
  // All kernels.
  double norm = 2.5;       ///< work is the norm of this order of the four
  double rounds = 0.3;     ///< of the time of a block that is alone: what others do not hide
  double phases = 0.0258;  ///< more work with one resident block: nothing else to do at barriers

  double tile_lane = 23.4, tile_element = 2.61, tile_thread = 70.5, tile_mode = 5.44;
  double tile_turn = 0.01;  ///< of memory, for each time more that lanes take four vectors
  double tile_block = 1.25e-06, tile_block_byte = 4.83e-11, table_block = 2.6e-07;
  double skew_lane = 23.1, skew_element = 16.9, skew_thread = 16.1, skew_mode = 12.1;
  double skew_block = 3.85e-06, skew_block_byte = 2.76e-11;
  double turned_lane = 32.3, turned_element = 3.84, turned_thread = 110, turned_mode = 45.9;
  double turned_block = 1.96e-06, turned_block_byte = 2.04e-10;

  double pack_load = 13.1, pack_lane = 71.1, pack_element = 3.88, pack_shifted = 1.79;
  double pack_thread = 136, pack_axis = 43.9, pack_entry = 35.1, pack_entry_digit = 15.1;
  double pack_run_digit = 25.5, pack_wavefront = 0.884;
  double pack_block = 2.56e-06, pack_block_lane = 3.22e-07;

  double rows_lane = 21.3, rows_axis = 8.23, rows_shifted = 83.6, rows_thread = 37.4,
         rows_block = 1.34e-06;
  double boxes_lane = 30.4, boxes_shifted = 107, boxes_thread = 7.33, boxes_axis = 16.7;
  double gather_lane = 9.47, gather_axis = 2.72, gather_sector = 1.31, gather_block = 1e-6;
  double structures_lane = 8.4, structures_byte = 47.9, structures_shifted = 134;
  double structures_block = 1.8e-06;
  double copy_thread = 7.25, copy_lane = 5.09, copy_apart = 0.000241, copy_shifted = 52.8,
         copy_block = 6.35e-07;
};

/// The fields of Costs by name. (nvcc turns a member declared without the alias into one in
/// parentheses, which g++ warns of.)
using CostMember = double Costs::*;
struct CostField {
  std::string_view name;
  CostMember field;
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
