// copy: source and destination are one run of bytes each.
#pragma once

#include <string>

#include "core/normalise.hpp"
#include "core/problem.hpp"
#include "kernels/copy.hpp"
#include "plan/gpu/device_info.hpp"
#include "plan/gpu/family.hpp"
#include "plan/gpu/roofline.hpp"

namespace cornerturn::plan::gpu {

struct CopyConfig {
  int in_flight = 1;  ///< vectors of 16 bytes a thread

  friend bool operator==(const CopyConfig&, const CopyConfig&) = default;
};

namespace copy {

struct Family {
  static constexpr std::string_view name = "copy";
  static constexpr std::string_view idea = "one run of bytes";
  static constexpr Operations operations{Operation::move, Operation::convert};
  using Config = CopyConfig;
  using Args = kernels::CopyArgs;
  struct Costs {
    Cost lane{"lane", 8.44, "instructions for each vector of 16 bytes"};
    Cost block{"block", 9.58e-07, "seconds of a block that is alone, for each vector of a thread"};
  };

  static const char* why_not(const Problem& normal, const DeviceInfo& device);
  static void configure(const Problem& normal, const Alignment& start, const DeviceInfo& device,
                        const Add<Config>& add);
  static Demand demand(const Config& config, const Problem& normal, const Model& model,
                       const Costs& costs);
  static std::string describe(const Config& config, const Problem& normal);
  static Launchable<Args> prepare(const Config& config, const Problem& normal);
};

}  // namespace copy
}  // namespace cornerturn::plan::gpu
