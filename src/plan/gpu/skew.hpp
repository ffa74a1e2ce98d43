// skew: as tile, where rows begin at any address. Values may change their type.
#pragma once

#include <string>

#include "core/normalise.hpp"
#include "core/problem.hpp"
#include "kernels/skew.hpp"
#include "plan/gpu/device_info.hpp"
#include "plan/gpu/family.hpp"
#include "plan/gpu/roofline.hpp"
#include "plan/gpu/tiles.hpp"

namespace cornerturn::plan::gpu::skew {

struct Family {
  static constexpr std::string_view name = "skew";
  static constexpr std::string_view idea =
      "long runs on both sides that begin anywhere, gathered from rows";
  static constexpr Operations operations{Operation::move, Operation::convert};
  using Config = TileConfig;
  using Args = kernels::SkewArgs;
  using Common = GroupRuns;
  struct Costs {
    Cost thread{"thread", 416.2, "instructions of a thread"};
    Cost block{"block", 1.759e-06, "seconds of a block that is alone"};
    Cost block_turn{"block_turn", 7.014e-07,
                    "seconds of such a block for every four vectors of a thread"};
    Cost barriers{"barriers", 0.07704, "as the shared `barriers`"};
    // The form that transposes in registers takes elements of up to 4 bytes.
    Cost register_block{"register_block", 3.197e-06, "seconds of a block that is alone"};
    Cost register_block_turn{"register_block_turn", 7.03e-07,
                             "seconds for every four vectors of a thread"};
  };

  static const char* why_not(const Problem& normal, const DeviceInfo& device);
  static void configure(const Problem& normal, const Alignment& start, const DeviceInfo& device,
                        Common& runs, const Add<Config>& add);
  static Demand demand(const Config& config, const Problem& normal, const Model& model,
                       const Costs& costs, Common& runs);
  static std::string describe(const Config& config, const Problem& normal);
  static Launchable<Args> prepare(const Config& config, const Problem& normal);
};

}  // namespace cornerturn::plan::gpu::skew
