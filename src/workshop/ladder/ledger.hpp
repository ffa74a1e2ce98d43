// Where the time of a rung goes, without a GPU: by the planner's formula (plan/gpu/roofline.hpp),
// with numbers that were fitted to the rungs' times on an H200 (workshop/analyse/access_costs.hpp).
// Work is what the emulator counted:
//
//   memory   the bytes, and the sectors beyond the fewest
//   shared   wavefronts of shared memory
//   issue    instructions: those of the compiled code where it is known (compiled.hpp), else so
//            many for each request; and so many for each warp
//   starts   blocks: a GPU begins so many a second, whatever is in them; measured, not fitted
//   latency  the lives of blocks, as many at a time as are resident: each waits for its loads
//
// The parts overlap: their norm is the time, and the largest one bounds it.
#pragma once

#include <array>
#include <string>

#include "plan/gpu/device_info.hpp"
#include "workshop/analyse/access_costs.hpp"
#include "workshop/ladder/emulate.hpp"

namespace cornerturn::ladder {

struct LedgerPart {
  const char* name = "";
  double seconds = 0;
};

struct Ledger {
  std::string device;
  Matrix matrix;
  std::array<LedgerPart, 5> parts;
  int resident = 0;          ///< blocks on an SM of that GPU at a time
  double start_seconds = 0;  ///< of the launch
  double seconds = 0;
  double copy_seconds = 0;  ///< what a plain copy of the same bytes should take

  /// Why no speed is predicted; empty if one is. The parts say what the time goes to all the same.
  std::string why_not() const;
  double share_of_copy() const { return seconds > 0 ? copy_seconds / seconds : 0; }
  const LedgerPart& largest() const;
  /// "83 % of a copy's speed at 16384 x 16384 on NVIDIA H200; of that time issue 99 %, memory 72 %,
  /// latency 20 %"; or why_not().
  std::string text() const;
};

/// The numbers were fitted to matrices of so many elements and more, and are not held against
/// measurements of smaller ones.
inline constexpr std::int64_t least_predicted = std::int64_t{4096} * 4096;

/// What is predicted where nobody says of which matrix: the numbers were fitted to such.
inline Matrix predicted_matrix(int bytes) {
  return {16384, 16384, bytes};
}

/// Sectors of a global leg that take time beyond those of its bytes, each as long as one of those.
double excess_sectors(const Leg& leg, const AccessCosts& costs = access_costs);

/// What a kernel might do otherwise.
struct Change {
  bool no_conflicts = false;  ///< shared memory is asked for as if no two lanes met in a bank
  bool wide = false;          ///< each access takes 16 bytes a lane: fewer threads do as much each
  int threads = 0;            ///< of a block that does so much more, or less; 0: as it is
};

/// Of the whole `matrix`, which `run` stands for (representative()). The costs are those of an
/// H200; another `device` has its own memory, SMs and clock, and nothing of it was measured.
Ledger ledger_of(const Prediction& run, const Matrix& matrix, const plan::gpu::DeviceInfo& device,
                 const AccessCosts& costs = access_costs, const Change& change = {});

}  // namespace cornerturn::ladder
