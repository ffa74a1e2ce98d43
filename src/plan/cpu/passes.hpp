// passes: any permutation of a packed array within its memory, as the steps and passes of
// core/in_place.hpp: panels are transposed in the second-level cache, runs follow their cycles.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "core/problem.hpp"
#include "plan/cost.hpp"
#include "plan/family.hpp"

namespace cornerturn::plan {

struct CpuInfo;
struct PlannedPasses;

struct PassesConfig {
  std::shared_ptr<const PlannedPasses> planned;

  friend bool operator==(const PassesConfig& a, const PassesConfig& b);
};

namespace passes {

/// What things cost one thread, by hand on a processor with AVX2.
struct Costs {
  Cost line_ns{"line_ns", 6.5, "a line of the array in each pass, read and written"};

  friend bool operator==(const Costs&, const Costs&) = default;
};

struct Family {
  static constexpr std::string_view name = "passes";
  static constexpr std::string_view idea =
      "panels transposed in the cache, runs that follow cycles";
  static constexpr Operations operations{Operation::in_place};
  using Costs = passes::Costs;
  using Config = PassesConfig;

  static const char* why_not(const Problem& normal, const CpuInfo& cpu);
  static void configure(const Problem& normal, const CpuInfo& cpu, const Add<Config>& add);
  static double cost_ns(const Config& config, const Problem& normal, const CpuInfo& cpu,
                        const Costs& costs);
  static std::string describe(const Config& config, const Problem& normal);
  static std::string details(const Config& config);
};

}  // namespace passes
}  // namespace cornerturn::plan
