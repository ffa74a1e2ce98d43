// listed: each step of a list apart, by the kernel that is best for one step. It takes every
// problem with a list, and the one kernel that takes entries where there is nothing.
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
struct PlannedSteps;

struct ListedConfig {
  std::shared_ptr<const PlannedSteps> planned;

  friend bool operator==(const ListedConfig& a, const ListedConfig& b);
};

namespace listed {

/// What things cost one thread, by hand.
struct Costs {
  Cost step_ns{"step_ns", 20, "a step of a list: its entries, and the call of its kernel"};
  Cost line_ns{"line_ns", 6.5, "a line from memory to memory, where all steps pass the cache"};

  friend bool operator==(const Costs&, const Costs&) = default;
};

struct Family {
  static constexpr std::string_view name = "listed";
  static constexpr std::string_view idea = "the steps of a list one after the other";
  static constexpr Operations operations{Operation::move, Operation::convert};
  static constexpr bool takes_lists = true;
  using Costs = listed::Costs;
  using Config = ListedConfig;

  static const char* why_not(const Problem& normal, const CpuInfo& cpu);
  static void configure(const Problem& normal, const CpuInfo& cpu, const Add<Config>& add);
  static double cost_ns(const Config& config, const Problem& normal, const CpuInfo& cpu,
                        const Costs& costs);
  static std::string describe(const Config& config, const Problem& normal);
};

}  // namespace listed
}  // namespace cornerturn::plan
