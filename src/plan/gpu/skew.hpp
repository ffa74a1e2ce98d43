// skew: as tile, where rows begin at any address. Values may change their type.
#pragma once

#include <string>

#include "core/normalise.hpp"
#include "core/problem.hpp"
#include "kernels/skew.hpp"
#include "plan/gpu/device_info.hpp"
#include "plan/gpu/estimate.hpp"
#include "plan/gpu/family.hpp"
#include "plan/gpu/tiles.hpp"

namespace cornerturn::plan::gpu::skew {

struct Family {
  static constexpr std::string_view name = "skew";
  static constexpr std::string_view idea =
      "long runs on both sides that begin anywhere, gathered from rows";
  static constexpr Operations operations{Operation::move, Operation::convert};
  using Config = TileConfig;
  using Args = kernels::SkewArgs;
  struct Costs {
    Cost lane{"lane", 6.299, "instructions for each 16 bytes"};
    Cost element{"element", 16, "instructions for each element"};
    Cost thread{"thread", 255.9, "instructions of a thread"};
    Cost mode{"mode", 5.28, "instructions of a thread for each mode beyond two"};
    Cost block{"block", 3.038e-06, "seconds of a block that is alone"};
    Cost block_turn{"block_turn", 7.645e-07,
                    "seconds of such a block for every four vectors of a thread"};
    Cost barriers{"barriers", 0.07437, "as the shared `barriers`"};
    // The form that transposes in registers takes elements of up to 4 bytes.
    Cost register_lane{"register_lane", 50.96, "the same seven where registers transpose"};
    Cost register_element{"register_element", 4.84, "instructions for each element"};
    Cost register_thread{"register_thread", 45.49, "instructions of a thread"};
    Cost register_mode{"register_mode", 47.37, "instructions of a thread for each mode beyond two"};
    Cost register_block{"register_block", 3.761e-06, "seconds of a block that is alone"};
    Cost register_block_turn{"register_block_turn", 1.063e-06,
                             "seconds for every four vectors of a thread"};
    Cost register_barriers{"register_barriers", 0.1333, "as the shared `barriers`"};
    Cost register_table{"register_table", 44.56,
                        "instructions more for each 16 bytes where a table has the rows' places"};
  };

  static const char* why_not(const Problem& normal, const DeviceInfo& device);
  static void configure(const Problem& normal, const Alignment& start, const DeviceInfo& device,
                        const Add<Config>& add);
  static Estimate estimate(const Config& config, const Problem& normal, const Model& model,
                           const Costs& costs);
  static std::string describe(const Config& config, const Problem& normal);
  static Launchable<Args> prepare(const Config& config, const Problem& normal);
};

}  // namespace cornerturn::plan::gpu::skew
