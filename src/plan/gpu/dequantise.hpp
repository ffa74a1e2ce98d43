// dequantise: blocks of values that share a scale become matrices of f32, f16 or bf16, as they
// lie or transposed.
#pragma once

#include <string>

#include "core/buffers.hpp"
#include "core/normalise.hpp"
#include "core/problem.hpp"
#include "kernels/dequantise.hpp"
#include "plan/gpu/device_info.hpp"
#include "plan/gpu/family.hpp"
#include "plan/gpu/roofline.hpp"

namespace cornerturn::plan::gpu {

struct DequantiseConfig {  // the problem decides everything
  friend bool operator==(const DequantiseConfig&, const DequantiseConfig&) = default;
};

namespace dequantise {

struct Family {
  static constexpr std::string_view name = "dequantise";
  static constexpr std::string_view idea = "matrices of whole vectors, made of blocks in tiles";
  static constexpr Operations operations{Operation::dequantise};
  using Config = DequantiseConfig;
  using Args = kernels::DequantiseArgs;
  struct Costs {
    Cost value{"value", 8.888, "instructions for each value"};
    Cost transposed{"transposed", 2.817, "instructions more where lines become columns"};
    Cost block{"block", 2.96e-06, "seconds of a block that is alone"};
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

}  // namespace dequantise
}  // namespace cornerturn::plan::gpu
