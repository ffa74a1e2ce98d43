// tile: both sides have long runs along different modes, transposed through shared memory in
// vectors. Values may change their type.
#pragma once

#include <string>

#include "core/normalise.hpp"
#include "core/problem.hpp"
#include "kernels/tile.hpp"
#include "plan/gpu/device_info.hpp"
#include "plan/gpu/family.hpp"
#include "plan/gpu/roofline.hpp"
#include "plan/gpu/tiles.hpp"

namespace cornerturn::plan::gpu::tile {

struct Family {
  static constexpr std::string_view name = "tile";
  static constexpr std::string_view idea =
      "long runs on both sides, transposed through shared memory";
  static constexpr Operations operations{Operation::move, Operation::convert};
  using Config = TileConfig;
  using Args = kernels::TileArgs;
  using Common = GroupRuns;
  struct Costs {
    Cost thread{"thread", 217.6, "instructions of a thread"};
    Cost block{"block", 1.425e-06, "seconds of a block that is alone"};
    Cost block_turn{"block_turn", 4.93e-07,
                    "seconds of such a block for every four vectors of a thread"};
    Cost barriers{"barriers", 0.0005709, "as the shared `barriers`"};
  };

  static const char* why_not(const Problem& normal, const DeviceInfo& device);
  static void configure(const Problem& normal, const Alignment& start, const DeviceInfo& device,
                        Common& runs, const Add<Config>& add);
  static Demand demand(const Config& config, const Problem& normal, const Model& model,
                       const Costs& costs, Common& runs);
  static std::string describe(const Config& config, const Problem& normal);
  static Launchable<Args> prepare(const Config& config, const Problem& normal);
};

}  // namespace cornerturn::plan::gpu::tile
