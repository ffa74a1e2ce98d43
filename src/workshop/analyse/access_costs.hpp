// What an access costs beyond the bytes that it is about: numbers of a model, fitted to the times
// of the ladder's rungs on an H200 at 4096 squared and above (bench/results/ladder/h200.json) by
// `ledger_check fit`; docs/ledger.md says how near they come.
#pragma once

#include <array>
#include <utility>

namespace cornerturn {

struct AccessCosts {
  double copy_bandwidth = 4.25e12;  ///< bytes a second of a plain copy
  double sm_clocks = 132 * 1.98e9;  ///< clocks a second of all SMs
  double transposed = 0.0376;       ///< more time of the memory than a copy through registers takes
  double sector_load = 0.564;       ///< of a sector's time: one read beyond the fewest
  double sector_store = 1.79;       ///< one written beyond the fewest, in parts
  double cut_load = 0.306;          ///< one more since neighbouring lanes begin within a sector
  double cut_store = 1.47;          ///< the same of a store
  double again = 0.296;             ///< one that the same warp touched just before
  double wavefront = 1.25;          ///< clocks of an SM
  double instruction = 1.2;         ///< issue slots of an instruction of the compiled code
  double request = 13.9;            ///< where that is not known: instructions a request
  double warp = 4.59;               ///< issue slots that a warp takes besides
  double staged = 4.11e-07;         ///< seconds of a tile in shared memory: its barrier, both ways
  double empty = 2.04e-09;          ///< seconds of a block that has nothing to do
  double norm = 4.1;                ///< the parts' norm of this order is the time
  // Measured by themselves, not fitted (bench/results/ladder/h200.blocks.json).
  double starts = 1.66e9;    ///< blocks a second that the GPU begins
  double alone = 4.3e-07;    ///< seconds of a block that is alone on its SM, beside its waits
  double latency = 3.7e-07;  ///< of a wait for global loads

  double sector_seconds() const { return 32 / copy_bandwidth; }
  double wavefront_seconds() const { return wavefront / sm_clocks; }
};

inline constexpr AccessCosts access_costs;

/// Those that are fitted, by name.
inline std::array<std::pair<const char*, double*>, 13> fitted_numbers(AccessCosts& costs) {
  return {{{"transposed", &costs.transposed},
           {"sector_load", &costs.sector_load},
           {"sector_store", &costs.sector_store},
           {"cut_load", &costs.cut_load},
           {"cut_store", &costs.cut_store},
           {"again", &costs.again},
           {"wavefront", &costs.wavefront},
           {"instruction", &costs.instruction},
           {"request", &costs.request},
           {"warp", &costs.warp},
           {"staged", &costs.staged},
           {"empty", &costs.empty},
           {"norm", &costs.norm}}};
}

}  // namespace cornerturn
