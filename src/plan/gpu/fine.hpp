// fine: small arrays with long runs on both sides, in tiles of 32 x 32 elements with four elements
// a thread.
#pragma once

#include <string>

#include "core/normalise.hpp"
#include "core/problem.hpp"
#include "kernels/fine.hpp"
#include "plan/gpu/device_info.hpp"
#include "plan/gpu/family.hpp"
#include "plan/gpu/groups.hpp"
#include "plan/gpu/roofline.hpp"

namespace cornerturn::plan::gpu::fine {

/// There is one.
struct FineConfig {
  friend bool operator==(const FineConfig&, const FineConfig&) = default;
};

struct Family {
  static constexpr std::string_view name = "fine";
  static constexpr std::string_view idea = "small arrays, a vector of each side a thread";
  static constexpr Operations operations{Operation::move};
  using Config = FineConfig;
  using Args = kernels::FineArgs;
  struct Costs {
    Cost block{"block", 1.7e-06, "seconds of a block that is alone"};
  };

  static const char* why_not(const Problem& normal, const DeviceInfo& device);
  static void configure(const Problem& normal, const Alignment& start, const DeviceInfo& device,
                        const Add<Config>& add);
  static Demand demand(const Config& config, const Problem& normal, const Model& model,
                       const Costs& costs);
  static std::string describe(const Config& config, const Problem& normal);
  static Launchable<Args> prepare(const Config& config, const Problem& normal);
};

}  // namespace cornerturn::plan::gpu::fine
