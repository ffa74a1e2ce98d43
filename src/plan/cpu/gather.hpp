// gather: one element after the other, destination in order. Takes every problem; the reference.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/problem.hpp"
#include "plan/cost.hpp"
#include "plan/family.hpp"

namespace cornerturn::plan {

struct CpuInfo;

struct GatherConfig {
  friend bool operator==(const GatherConfig&, const GatherConfig&) = default;
};

namespace gather {

inline constexpr std::int64_t shortest_filled = 64;  ///< bytes

/// Whether runs along the destination's fastest mode, of `width` bytes an element, are filled: all
/// of a run's elements are the same one.
inline bool is_filled(const Mode& run, std::int64_t width) {
  return run.src_stride == 0 && run.dst_stride == width && run.extent * width >= shortest_filled;
}

/// What things cost one thread: measured with elements of all sizes on a Zen 4 processor, but for
/// what is converted.
struct Costs {
  Cost loop_ns{"loop_ns", 0.4412, "an element"};
  Cost filled_ns_a_byte{"filled_ns_a_byte", 0.03,
                        "a byte of runs of 64 bytes and more whose elements are all the same"};
  Cost converting_ns{"converting_ns", 4, "an element whose value changes; assumed"};
  Cost far_run_ns{"far_run_ns", 25, "more for a run that begins in another page than the last"};
  Cost run_ns{"run_ns", 1.106, "a run along the destination's fastest mode"};
  Cost traffic_ns_a_byte{"traffic_ns_a_byte", 0.156,
                         "a byte, where memory takes longer than the loop"};
  Cost lost_line_ns{"lost_line_ns", 0.455,
                    "more for an element whose line the first level has lost"};

  friend bool operator==(const Costs&, const Costs&) = default;
};

struct Family {
  static constexpr std::string_view name = "gather";
  static constexpr std::string_view idea = "one element after the other, in destination order";
  static constexpr Operations operations{Operation::move, Operation::convert};
  using Costs = gather::Costs;
  using Config = GatherConfig;

  static const char* why_not(const Problem& normal, const CpuInfo& cpu);
  static void configure(const Problem& normal, const CpuInfo& cpu, const Add<Config>& add);
  static double cost_ns(const Config& config, const Problem& normal, const CpuInfo& cpu,
                        const Costs& costs);
  static std::string describe(const Config& config, const Problem& normal);
};

}  // namespace gather
}  // namespace cornerturn::plan
