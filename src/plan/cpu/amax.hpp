// amax: the largest magnitude of an array, read in the order of the memory.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/problem.hpp"
#include "plan/cost.hpp"
#include "plan/family.hpp"

namespace cornerturn::plan {

struct CpuInfo;

/// An array is cut into pieces of some rows. The rows lie along the last mode, and follow one
/// another along the mode before it.
struct AmaxConfig {
  std::int64_t row = 1;   ///< elements of a row
  std::int64_t rows = 1;  ///< of a piece

  friend bool operator==(const AmaxConfig&, const AmaxConfig&) = default;
};

namespace amax {

/// What things cost one thread. Measured with arrays of 64 MB on a Zen 3 processor with AVX2.
struct Costs {
  Cost byte_ns{"byte_ns", 0.063, "a byte, with those between elements that share a line"};

  friend bool operator==(const Costs&, const Costs&) = default;
};

struct Family {
  static constexpr std::string_view name = "amax";
  static constexpr std::string_view idea = "the largest magnitude, read in the order of the memory";
  static constexpr Operations operations{Operation::reduce};
  using Costs = amax::Costs;
  using Config = AmaxConfig;

  static const char* why_not(const Problem& normal, const CpuInfo& cpu);
  static void configure(const Problem& normal, const CpuInfo& cpu, const Add<Config>& add);
  static double cost_ns(const Config& config, const Problem& normal, const CpuInfo& cpu,
                        const Costs& costs);
  static std::string describe(const Config& config, const Problem& normal);
};

}  // namespace amax
}  // namespace cornerturn::plan
