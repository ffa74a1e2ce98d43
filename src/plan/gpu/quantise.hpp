// quantise: matrices of f32, f16 and bf16 become blocks of values that share a scale, along their
// rows, along their columns, or both from one reading.
#pragma once

#include <string>

#include "core/buffers.hpp"
#include "core/normalise.hpp"
#include "core/problem.hpp"
#include "kernels/quantise.hpp"
#include "plan/gpu/device_info.hpp"
#include "plan/gpu/family.hpp"
#include "plan/gpu/roofline.hpp"

namespace cornerturn::plan::gpu {

struct QuantiseConfig {  // the problem decides everything
  friend bool operator==(const QuantiseConfig&, const QuantiseConfig&) = default;
};

namespace quantise {

struct Family {
  static constexpr std::string_view name = "quantise";
  static constexpr std::string_view idea = "matrices whose lanes share what they know of scales";
  static constexpr Operations operations{Operation::quantise};
  static constexpr bool sees_lists = true;
  using Config = QuantiseConfig;
  using Args = kernels::QuantiseArgs;
  struct Costs {
    Cost value{"value", 15, "instructions for each value of each result"};
    Cost block{"block", 4.28e-06, "seconds of a block that is alone"};
  };

  static const char* why_not(const Problem& normal, const DeviceInfo& device);
  static void configure(const Problem& normal, const Alignment& start, const DeviceInfo& device,
                        const Add<Config>& add);
  static Demand demand(const Config& config, const Problem& normal, const Model& model,
                       const Costs& costs);
  static std::string describe(const Config& config, const Problem& normal);
  static Launchable<Args> prepare(const Config& config, const Problem& normal);
  static void bind(Args& args, const Problem& normal, const Buffers& buffers, int launch);
};

}  // namespace quantise
}  // namespace cornerturn::plan::gpu
