// What a candidate asks of a GPU, and the time that this should take. Families say their demands;
// roofline() alone turns them into times:
//
//   time = launch + first and last block + work
//
// Work is the longest of four, a little longer where several are about equal:
//   memory   bytes in whole sectors, over the bandwidth of a large copy; or what SMs get from the
//            L2, over its bandwidth, if that takes longer
//   issue    instructions, over the SMs' issue slots
//   shared   wavefronts of shared memory, one a clock of an SM
//   rounds   blocks, so many at a time as are resident, each as long as one takes that is alone
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>

#include "plan/cost.hpp"
#include "plan/estimate.hpp"
#include "plan/gpu/device_info.hpp"
#include "plan/gpu/sectors.hpp"

namespace cornerturn::plan::gpu {

/// What all families share. `planning_check --fit` fits these numbers, and those of the families,
/// to measurements. Instructions are counted a lane; seconds are those of a block that is alone.
struct SharedCosts {
  Cost src_run{"src_run", 9.39, "bytes read in vain at each end of a run, wherever it begins"};
  Cost dst_run{"dst_run", 9.99, "bytes written in vain at each end of a run"};
  Cost dst_sector{"dst_sector", 67.87,
                  "bytes more where a run begins within a sector: written twice"};
  Cost row_gap{"row_gap", 120,
               "bytes more for each row of the destination that leaves sectors in part, of arrays "
               "larger than the L2 keeps"};
  Cost kept{"kept", 1.043, "share of the L2 between two uses of a burst that loses half of them"};
  Cost l2{"l2", 1.232, "bandwidth of the L2, in that of a large copy"};
  Cost rounds{"rounds", 0.2616, "share of a block's time alone that other blocks do not hide"};
  Cost barriers{"barriers", 0.24,
                "more work with one resident block: nothing else runs at barriers"};
  Cost uneven_issue{"uneven_issue", 0.7949,
                    "share of what SMs do by themselves, for which some have one block more", 1};
  Cost table_block{"table_block", 6.034e-07, "seconds for a table of rows in shared memory"};
  Cost rows_block{"rows_block", 2.386e-06, "seconds of a block that moves rows"};
  Cost change_vectors{"change_vectors", 5, "instructions for a scale or a bias of an element"};
  Cost change_narrow{"change_narrow", 6, "instructions that make an element smaller"};
  Cost change_wide{"change_wide", 3, "instructions that make an element larger, or keep its size"};
  Cost any_value{"any_value", 400, "instructions for a value of types known at run time alone"};
};

/// Those, and the numbers of all families (families.hpp).
struct Costs;

/// As fitted.
const Costs& standard_costs();

/// All that the demands of one problem depend on.
struct Model {
  const DeviceInfo& device;
  const SharedCosts& costs;
  Traffic least;  ///< what no kernel can avoid

  /// Bytes that memory reads of the source where blocks follow the destination's order.
  double src_read() const;

  /// How often: what the destination holds several times is read again if the L2 has lost it
  /// meanwhile.
  double times_read() const;

  /// Bytes that memory moves more where nobody asks for the sectors that rows leave in part.
  double cut_bytes() const;
};

/// Runs of one side as a kernel moves them.
struct MovedRuns {
  double bytes = 0;          ///< of one, on the average
  std::int64_t granule = 1;  ///< bytes: a divisor of the places where they begin
  double between = bytes;    ///< bytes from one place that may lie within a sector to the next
};

/// What a configuration asks of a device.
struct Demand {
  double src_bytes = 0;
  double dst_bytes = 0;
  double l2_bytes = 0;  ///< that SMs get from the L2, where they are many more
  double instructions = 0;
  double wavefronts = 0;
  double blocks = 1;
  double resident = 1;       ///< blocks at a time on an SM
  double block_seconds = 0;  ///< of a block that is alone
  double barriers = 0;       ///< see SharedCosts; 0: the shared one
  int launches = 1;          ///< one after the other; 0: there is nothing to do
  double parts_seconds = 0;  ///< of plans of other families, where these do all of it
};

/// Bytes that memory moves for one side, where runs begin and end as given.
double src_moved(const Model& model, const MovedRuns& runs);
double dst_moved(const Model& model, const MovedRuns& runs);

/// Blocks that an SM holds at a time, of so many threads and bytes of shared memory. `promised`
/// is how many the registers are sure to suffice for.
double resident_blocks(const DeviceInfo& device, int threads, unsigned shared_bytes, int promised);

/// The time of a demand.
Estimate roofline(const Demand& demand, const DeviceInfo& device, const SharedCosts& costs);
inline Estimate roofline(const Demand& demand, const Model& model) {
  return roofline(demand, model.device, model.costs);
}

}  // namespace cornerturn::plan::gpu
