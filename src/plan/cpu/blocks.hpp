// blocks: values become quantisation blocks, or are computed from them, a box at a time. A box lies
// in a stage as f32, one stripe after the other; other kernels move and convert it between there
// and the array of plain values.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "core/problem.hpp"
#include "plan/cost.hpp"
#include "plan/family.hpp"

namespace cornerturn::plan {

struct CpuInfo;
struct BlockBoxes;

struct BlocksConfig {
  /// How the problem is cut into boxes, and how these are moved: see below. Never null.
  std::shared_ptr<const BlockBoxes> boxes;

  friend bool operator==(const BlocksConfig& a, const BlocksConfig& b);
};

namespace blocks {

/// What things cost one thread, beside the moves of boxes, whose costs are those of their kernels.
/// Measured with matrices of 4096 x 4096 random values of f32 on a Zen 3 processor with AVX2, but
/// for what is assumed.
struct Costs {
  Cost quantised_ns{"quantised_ns", 4, "a value that is quantised, for each result"};
  Cost dequantised_ns{"dequantised_ns", 2.3, "a value computed from a quantised one"};

  friend bool operator==(const Costs&, const Costs&) = default;
};

struct Family {
  static constexpr std::string_view name = "blocks";
  static constexpr std::string_view idea =
      "stripes in a stage quantised or dequantised, box by box";
  static constexpr Operations operations{Operation::quantise, Operation::dequantise};
  static constexpr bool sees_lists = true;
  using Costs = blocks::Costs;
  using Config = BlocksConfig;

  static const char* why_not(const Problem& normal, const CpuInfo& cpu);
  static void configure(const Problem& normal, const CpuInfo& cpu, const Add<Config>& add);
  static double cost_ns(const Config& config, const Problem& normal, const CpuInfo& cpu,
                        const Costs& costs);
  static std::string describe(const Config& config, const Problem& normal);
  static std::string details(const Config& config);
};

}  // namespace blocks
}  // namespace cornerturn::plan
