// amax: the largest magnitude of an array. The destination of such a plan takes a number of 64 bits
// for each block of its launch, of which the largest is the result.
#pragma once

#include <string>

#include "core/buffers.hpp"
#include "core/normalise.hpp"
#include "core/problem.hpp"
#include "kernels/amax.hpp"
#include "plan/gpu/device_info.hpp"
#include "plan/gpu/family.hpp"
#include "plan/gpu/roofline.hpp"

namespace cornerturn::plan::gpu {

/// Blocks of a launch at most, and so numbers that it leaves. They fill the largest GPUs.
inline constexpr int most_amax_blocks = 1024;

struct AmaxConfig {
  bool vectors = false;  ///< of 16 bytes, of rows that lie without gaps; else single elements
  int phase = 0;         ///< the most bytes that a row begins past a multiple of 16

  friend bool operator==(const AmaxConfig&, const AmaxConfig&) = default;
};

namespace amax {

struct Family {
  static constexpr std::string_view name = "amax";
  static constexpr std::string_view idea = "the order of the memory, magnitudes as whole numbers";
  static constexpr Operations operations{Operation::reduce};
  using Config = AmaxConfig;
  using Args = kernels::AmaxArgs;
  struct Costs {
    Cost vector{"vector", 116.8, "instructions for each vector of 16 bytes"};
    Cost element{"element", 47.74, "instructions for an element that is read alone"};
    Cost axis{"axis", 45.61, "instructions for each mode of its place"};
    Cost block{"block", 2.223e-06, "seconds of a block that is alone"};
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

}  // namespace amax
}  // namespace cornerturn::plan::gpu
