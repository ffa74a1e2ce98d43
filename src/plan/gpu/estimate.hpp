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
  double src_run = 6.6;      ///< anywhere
  double src_sector = 3.18;  ///< that begins within a sector
  double src_burst = 11.3;   ///< that begins within 64 bytes, which memory delivers at once
  double dst_run = 7.75;     ///< anywhere
  double dst_sector = 67.3;  ///< that begins within a sector, which is then written twice
  double src_group = 2.38;   ///< at each end of what neighbouring blocks read without a gap
  double dst_group = 6.31;   ///< ... write ...
  double halo = 0.0572;      ///< of rows that neighbouring tiles both read: not found in the L2
  double kept = 0.483;       ///< of the L2: what lies between two uses of a burst for half of them
  // All kernels.
  double norm = 2.5;       ///< work is the norm of this order of the four
  double rounds = 0.265;   ///< of the time of a block that is alone: what others do not hide
  double phases = 0.0225;  ///< more work with one resident block: nothing else to do at barriers

  double tile_lane = 25.5, tile_element = 2.29, tile_thread = 81.4, tile_mode = 4;
  double tile_turn = 0.0054;  ///< of memory, for each time more that lanes take four vectors
  double tile_block = 1.1e-06, tile_block_byte = 3.12e-11, table_block = 6.74e-07;
  double skew_lane = 16.6, skew_element = 20.7, skew_thread = 52.5, skew_mode = 6.63;
  double skew_block = 1.8e-06, skew_block_byte = 1.81e-11;
  double turned_lane = 33.4, turned_element = 5.1, turned_thread = 60.6, turned_mode = 201;
  double turned_block = 8.22e-07, turned_block_byte = 1.61e-10;

  double pack_load = 9.97, pack_lane = 65.1, pack_element = 1.64;
  double pack_thread = 111, pack_axis = 42.2, pack_entry = 14, pack_entry_digit = 7.29;
  double pack_edge = 13;       ///< for each element of a vector that is cut, of all lanes
  double pack_phases = 0.263;  ///< as `phases`: two barriers a box, and more between them
  double pack_run_digit = 12.2, pack_wavefront = 1.81;
  double pack_block = 2.69e-06, pack_block_lane = 2.81e-07;
  double whole_load = 4.98, whole_lane = 7.14, whole_element = 1.94, whole_thread = 59.7;
  double whole_phases = 0.507, whole_wavefront = 0.684;
  double whole_block = 1.77e-06, whole_block_lane = 6.17e-08;  ///< of a turn

  /// Of values that change in whole boxes: instructions, and the time of a block that is alone. As
  /// measured of six pairs of types.
  double convert_work = 1.5, narrow_block = 3, widen_block = 1.4;
  /// Instructions that converting an element takes: of types known at run time alone, as measured
  /// of bf16 and f32 in gather_convert; of types that gather_convert is compiled for, an
  /// assumption.
  double any_value = 400, gather_known = 60;

  double rows_lane = 9.52, rows_axis = 3.77, rows_shifted = 310, rows_thread = 9.52,
         rows_block = 1.93e-06;
  double boxes_lane = 29.9, boxes_shifted = 205, boxes_thread = 6.97, boxes_axis = 10.8;
  double gather_lane = 42.4, gather_axis = 6.2, gather_sector = 0.633, gather_block = 1.34e-06,
         gather_single = 1.34e-06;
  double structures_lane = 7.96, structures_byte = 54.6, structures_shifted = 125;
  double structures_block = 1.78e-06;
  double copy_thread = 4.88, copy_lane = 8.44, copy_apart = 0.00208, copy_shifted = 54,
         copy_block = 9.58e-07;
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
