// strided: the destination's fastest mode is packed, the source takes even steps along it.
#pragma once

#include <string>
#include <string_view>

#include "core/problem.hpp"
#include "plan/cost.hpp"
#include "plan/cpu/stores.hpp"
#include "plan/family.hpp"

namespace cornerturn::plan {

struct StridedConfig {
  std::int64_t chunk = 1;  ///< elements of the fastest mode done at a time
  bool pairs = false;      ///< every second element: vectors are taken apart in registers
  Stores stores = Stores::regular;

  friend bool operator==(const StridedConfig&, const StridedConfig&) = default;
};

namespace strided {

/// What things cost one thread. Assumed.
struct Costs {
  Cost chunk_ns{"chunk_ns", 10, "a run of the destination, or a part of a long one"};
  Cost partial_lines_ns{"partial_lines_ns", 16, "more for a short one: its first and last lines"};
  Cost moved_bytes_a_ns{"moved_bytes_a_ns", 41.6,
                        "bytes of both sides, with those between elements"};
  Cost single_element_ns{"single_element_ns", 0.5, "more for an element that is picked by itself"};

  friend bool operator==(const Costs&, const Costs&) = default;
};

struct Family {
  static constexpr std::string_view name = "strided";
  static constexpr std::string_view idea = "source elements a step apart, joined into lines";
  static constexpr Operations operations{Operation::move};
  using Costs = strided::Costs;
  using Config = StridedConfig;

  static const char* why_not(const Problem& normal, const CpuInfo& cpu);
  static void configure(const Problem& normal, const CpuInfo& cpu, const Add<Config>& add);
  static double cost_ns(const Config& config, const Problem& normal, const CpuInfo& cpu,
                        const Costs& costs);
  static std::string describe(const Config& config, const Problem& normal);
};

}  // namespace strided
}  // namespace cornerturn::plan
