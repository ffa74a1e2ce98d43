// blocks: arrays of any layout and any real type become blocks of 32 values that share a scale, or
// are made of them. A result along another mode of the same array takes another launch.
#pragma once

#include <string>

#include "core/buffers.hpp"
#include "core/normalise.hpp"
#include "core/problem.hpp"
#include "kernels/blocks.hpp"
#include "plan/gpu/device_info.hpp"
#include "plan/gpu/family.hpp"
#include "plan/gpu/roofline.hpp"

namespace cornerturn::plan::gpu {

/// How one launch goes through the lines.
struct BlocksTile {
  int along_bits = 0;  ///< log2 of the blocks of a line that a tile has
  int unit = 1;        ///< bytes of codes that a lane moves at once, where lanes follow a line

  friend bool operator==(const BlocksTile&, const BlocksTile&) = default;
};

struct BlocksConfig {
  BlocksTile first;
  BlocksTile second;  ///< where the problem asks for a second result

  friend bool operator==(const BlocksConfig&, const BlocksConfig&) = default;
};

namespace blocks {

struct Family {
  static constexpr std::string_view name = "blocks";
  static constexpr std::string_view idea = "lines of any layout, a block a lane";
  static constexpr Operations operations{Operation::quantise, Operation::dequantise};
  using Config = BlocksConfig;
  using Args = kernels::BlocksArgs;
  struct Costs {
    Cost value{"value", 20, "instructions for each value that becomes part of a block"};
    Cost value_back{"value_back", 100, "instructions for each value that is made of a block"};
    Cost block{"block", 3.85e-06, "seconds of a block of threads that is alone"};
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

}  // namespace blocks
}  // namespace cornerturn::plan::gpu
