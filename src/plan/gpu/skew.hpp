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
  using Facts = GroupRuns;
  struct Costs {
    Cost lane{"lane", 0.9212, "instructions for each 16 bytes"};
    Cost element{"element", 8.763, "instructions for each element"};
    Cost thread{"thread", 226.5, "instructions of a thread"};
    Cost mode{"mode", 1.434, "instructions of a thread for each mode beyond two"};
    Cost block{"block", 1.958e-06, "seconds of a block that is alone"};
    Cost block_turn{"block_turn", 4.705e-07,
                    "seconds of such a block for every four vectors of a thread"};
    Cost barriers{"barriers", 0.1895, "as the shared `barriers`"};
    // The form that transposes in registers takes elements of up to 4 bytes.
    Cost register_lane{"register_lane", 65.19, "the same seven where registers transpose"};
    Cost register_element{"register_element", 3.293, "instructions for each element"};
    Cost register_thread{"register_thread", 2.31, "instructions of a thread"};
    Cost register_mode{"register_mode", 2.374, "instructions of a thread for each mode beyond two"};
    Cost register_block{"register_block", 2.701e-06, "seconds of a block that is alone"};
    Cost register_block_turn{"register_block_turn", 8.888e-07,
                             "seconds for every four vectors of a thread"};
    Cost register_barriers{"register_barriers", 0.003287, "as the shared `barriers`"};
    Cost register_table{"register_table", 21.94,
                        "instructions more for each 16 bytes where a table has the rows' places"};
    Cost edge_lane{"edge_lane", 21.65, "instructions for each element of a sector at a row's ends"};
    Cost edge_bytes{"edge_bytes", 19.72,
                    "of the memory, for each such sector, beside what it holds"};
    Cost joint{"joint", 200, "instructions where two rows that follow each other meet: assumed"};
  };

  static const char* why_not(const Problem& normal, const DeviceInfo& device);
  static void configure(const Problem& normal, const Alignment& start, const DeviceInfo& device,
                        Facts& runs, const Add<Config>& add);
  static Estimate estimate(const Config& config, const Problem& normal, const Model& model,
                           const Costs& costs, Facts& runs);
  static std::string describe(const Config& config, const Problem& normal);
  static Launchable<Args> prepare(const Config& config, const Problem& normal);
};

}  // namespace cornerturn::plan::gpu::skew
