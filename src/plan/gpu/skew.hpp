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
    Cost lane{"lane", 16, "instructions for each 16 bytes"};
    Cost element{"element", 11.9, "instructions for each element"};
    Cost thread{"thread", 151, "instructions of a thread"};
    Cost mode{"mode", 5.31, "instructions of a thread for each mode beyond two"};
    Cost block{"block", 1.75e-06, "seconds of a block that is alone"};
    Cost block_byte{"block_byte", 2.62e-11, "seconds of such a block for each byte of its tile"};
    // The form that transposes in registers takes elements of up to 4 bytes.
    Cost register_lane{"register_lane", 31.1, "the same six where registers transpose"};
    Cost register_element{"register_element", 8.5, "instructions for each element"};
    Cost register_thread{"register_thread", 64, "instructions of a thread"};
    Cost register_mode{"register_mode", 87.4, "instructions of a thread for each mode beyond two"};
    Cost register_block{"register_block", 1.72e-06, "seconds of a block that is alone"};
    Cost register_block_byte{"register_block_byte", 1.6e-10, "seconds for each byte of its tile"};
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
