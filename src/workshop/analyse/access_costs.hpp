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
  double transposed = 0.0731;       ///< more time of the memory than a copy through registers takes
  double sector_load = 0.302;       ///< of a sector's time: one read beyond the fewest
  double sector_store = 1.81;       ///< one written beyond the fewest, most of them in parts
  double wavefront = 1.27;          ///< clocks of an SM
  double request = 5.25;            ///< instructions that a request stands for
  double thread = 134;              ///< instructions of a thread besides
  double block = 6.04e-10;          ///< seconds to begin a block, on the whole GPU
  double norm = 4.88;               ///< the parts' norm of this order is the time

  double sector_seconds() const { return 32 / copy_bandwidth; }
  double wavefront_seconds() const { return wavefront / sm_clocks; }
};

inline constexpr AccessCosts access_costs;

/// Those that are fitted, by name.
inline std::array<std::pair<const char*, double*>, 8> fitted_numbers(AccessCosts& costs) {
  return {{{"transposed", &costs.transposed},
           {"sector_load", &costs.sector_load},
           {"sector_store", &costs.sector_store},
           {"wavefront", &costs.wavefront},
           {"request", &costs.request},
           {"thread", &costs.thread},
           {"block", &costs.block},
           {"norm", &costs.norm}}};
}

}  // namespace cornerturn
