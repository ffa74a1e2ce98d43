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
  double src_run = 7.24;     ///< anywhere
  double src_sector = 3.78;  ///< that begins within a sector
  double src_burst = 11;     ///< that begins within 64 bytes, which memory delivers at once
  double dst_run = 7.21;     ///< anywhere
  double dst_sector = 59.6;  ///< that begins within a sector, which is then written twice
  double src_group =
      4.98;  ///< at each end of what blocks that follow each other read without a gap
  double dst_group = 23.1;  ///< ... write ...
  double halo = 0.0494;     ///< of rows that neighbouring tiles both read: not found in the L2
  double kept = 0.41;       ///< of the L2: what lies between two uses of a burst for half of them
  // All kernels.
  double norm = 2.5;       ///< work is the norm of this order of the four
  double rounds = 0.281;   ///< of the time of a block that is alone: what others do not hide
  double phases = 0.0167;  ///< more work with one resident block: nothing else to do at barriers

  double tile_lane = 23.6, tile_element = 2.2, tile_thread = 45.1, tile_mode = 2.67;
  double tile_turn = 0.0112;  ///< of memory, for each time more that lanes take four vectors
  double tile_block = 1.02e-06, tile_block_byte = 4.95e-11, table_block = 4.16e-07;
  double skew_lane = 12.3, skew_element = 22.2, skew_thread = 45.3, skew_mode = 9.99;
  double skew_block = 3.06e-06, skew_block_byte = 1.5e-11;
  double turned_lane = 46.6, turned_element = 5.98, turned_thread = 85.2, turned_mode = 66.5;
  double turned_block = 1.33e-06, turned_block_byte = 2.12e-10;

  double pack_load = 8.07, pack_lane = 68.4, pack_element = 1.71, pack_shifted = 0.439;
  double pack_thread = 84, pack_axis = 36.4, pack_entry = 13.8, pack_entry_digit = 6.92;
  double pack_edge = 12;       ///< for each element of a vector that is cut, of all lanes
  double pack_phases = 0.353;  ///< as `phases`: two barriers a box, and more between them
  double pack_run_digit = 23.6, pack_wavefront = 0.882;
  double pack_block = 1.71e-06, pack_block_lane = 2.61e-07;

  double rows_lane = 10.2, rows_axis = 4.13, rows_shifted = 298, rows_thread = 10.1,
         rows_block = 1.33e-06;
  double boxes_lane = 35.4, boxes_shifted = 62.4, boxes_thread = 6.47, boxes_axis = 7.41;
  double gather_lane = 43.1, gather_axis = 4.72, gather_sector = 0.997, gather_block = 1.42e-06;
  double structures_lane = 8, structures_byte = 46.9, structures_shifted = 121;
  double structures_block = 1.83e-06;
  double copy_thread = 4.98, copy_lane = 8.45, copy_apart = 0.002, copy_shifted = 54.9,
         copy_block = 6.41e-07;
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
  double phases = 0;         ///< see Costs; 0: that of all kernels
};

/// Bytes that memory moves for one side, where runs begin and end as given.
double src_moved(const Model& model, const MovedRuns& runs);
double dst_moved(const Model& model, const MovedRuns& runs);

/// Blocks that an SM holds at a time, of so many threads and bytes of shared memory. `promised`
/// is how many the registers are sure to suffice for.
double resident_blocks(const DeviceInfo& device, int threads, unsigned shared_bytes, int promised);

Estimate estimate_of(const Model& model, const Work& work);

}  // namespace cornerturn::plan::gpu
