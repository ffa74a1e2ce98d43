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
    Cost lane{"lane", 14.7, "instructions for each 16 bytes"};
    Cost element{"element", 15.3, "instructions for each element"};
    Cost thread{"thread", 194, "instructions of a thread"};
    Cost mode{"mode", 5.26, "instructions of a thread for each mode beyond two"};
    Cost block{"block", 2.58e-06, "seconds of a block that is alone"};
    Cost block_byte{"block_byte", 3.64e-11, "seconds of such a block for each byte of its tile"};
    // The form that transposes in registers takes elements of up to 4 bytes.
    Cost register_lane{"register_lane", 38.4, "the same six where registers transpose"};
    Cost register_element{"register_element", 4.79, "instructions for each element"};
    Cost register_thread{"register_thread", 68.7, "instructions of a thread"};
    Cost register_mode{"register_mode", 96.2, "instructions of a thread for each mode beyond two"};
    Cost register_block{"register_block", 3.91e-06, "seconds of a block that is alone"};
    Cost register_block_byte{"register_block_byte", 5.86e-11, "seconds for each byte of its tile"};
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
