// units: a problem that a core's caches hold is moved unit by unit from where it lies to where it
// goes: some elements of the source's fastest mode by some of the destination's, in registers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/problem.hpp"
#include "plan/cost.hpp"
#include "plan/family.hpp"

namespace cornerturn::plan {

struct CpuInfo;

struct UnitsConfig {
  int columns = 0;  ///< the mode along which the source's elements lie side by side
  /// Where lines of the source or the destination lie so far apart that they share few sets of the
  /// caches: so many indices of a third mode are moved at a time, by way of a stage on both sides.
  int group = 1;
  int group_mode = -1;

  friend bool operator==(const UnitsConfig&, const UnitsConfig&) = default;
};

namespace units {

/// Bytes of a row that are loaded at once. Columns shorter than that are not taken.
inline constexpr std::int64_t row_bytes = 16;

/// Bytes of a column that are stored at once: a vector, or less where the column is shorter.
constexpr int column_bytes(std::int64_t run_bytes, int vector_bytes) {
  while (vector_bytes > run_bytes && vector_bytes > row_bytes) vector_bytes /= 2;
  return vector_bytes;
}

/// The largest box that passes through the stages: its bytes, and its rows and columns.
inline constexpr std::int64_t staged_bytes = 16 << 10;
inline constexpr std::int64_t staged_runs = 128;

/// What things cost one thread: fitted to small random problems on a Zen 5 processor.
struct Costs {
  Cost matrix_ns{"matrix_ns", 4.255, "a matrix of the two modes"};
  Cost load_ns{"load_ns", 0.1205, "a part of a row that is loaded"};
  Cost store_ns{"store_ns", 0.1695, "a part of a column that is stored"};
  Cost l2_line_ns{"l2_line_ns", 0.1211, "a line of either side, where they pass the first level"};
  Cost crowded_line_ns{"crowded_line_ns", 0.593,
                       "more for one of them, where all share one set or pass through the stages"};

  friend bool operator==(const Costs&, const Costs&) = default;
};

struct Family {
  static constexpr std::string_view name = "units";
  static constexpr std::string_view idea = "in the caches, from register to register";
  static constexpr Operations operations{Operation::move};
  using Costs = units::Costs;
  using Config = UnitsConfig;

  static const char* why_not(const Problem& normal, const CpuInfo& cpu);
  static void configure(const Problem& normal, const CpuInfo& cpu, const Add<Config>& add);
  static double cost_ns(const Config& config, const Problem& normal, const CpuInfo& cpu,
                        const Costs& costs);
  static std::string describe(const Config& config, const Problem& normal);
};

}  // namespace units
}  // namespace cornerturn::plan
