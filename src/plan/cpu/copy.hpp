// copy: one run on both sides, forwards or backwards.
#pragma once

#include <string>
#include <string_view>

#include "core/problem.hpp"
#include "plan/cost.hpp"
#include "plan/cpu/stores.hpp"
#include "plan/family.hpp"

namespace cornerturn::plan {

struct CopyConfig {
  bool reversed = false;  ///< the source runs backwards
  Stores stores = Stores::regular;

  friend bool operator==(const CopyConfig&, const CopyConfig&) = default;
};

namespace copy {

/// What things cost one thread. Assumed, from the speed of large copies.
struct Costs {
  Cost bytes_a_ns{"bytes_a_ns", 25, "bytes of the destination"};

  friend bool operator==(const Costs&, const Costs&) = default;
};

struct Family {
  static constexpr std::string_view name = "copy";
  static constexpr std::string_view idea = "one run on both sides";
  static constexpr Operations operations{Operation::move};
  using Costs = copy::Costs;
  using Config = CopyConfig;

  static const char* why_not(const Problem& normal, const CpuInfo& cpu);
  static void configure(const Problem& normal, const CpuInfo& cpu, const Add<Config>& add);
  static double cost_ns(const Config& config, const Problem& normal, const CpuInfo& cpu,
                        const Costs& costs);
  static std::string describe(const Config& config, const Problem& normal);
};

}  // namespace copy
}  // namespace cornerturn::plan
