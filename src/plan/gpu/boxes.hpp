// boxes: runs of 16 bytes or more that source and destination share, neighbours of both sides
// together.
#pragma once

#include <string>

#include "core/normalise.hpp"
#include "core/problem.hpp"
#include "kernels/boxes.hpp"
#include "plan/gpu/device_info.hpp"
#include "plan/gpu/estimate.hpp"
#include "plan/gpu/family.hpp"

namespace cornerturn::plan::gpu {

struct BoxesConfig {
  int in_flight = 4;       ///< vectors of 16 bytes a thread
  int threads = 256;       ///< a block
  int dst_granule = 1;     ///< bytes: a divisor of every row's address in the destination
  int dst_mode = -1;       ///< rows along it are neighbours in the destination
  int src_mode = -1;       ///< and in the source; -1: the same ones, or none
  std::int64_t width = 1;  ///< vectors of a row in a box
  int dst_rows = 1;        ///< rows of a box along either
  int src_rows = 1;

  friend bool operator==(const BoxesConfig&, const BoxesConfig&) = default;
};

namespace boxes {

struct Family {
  static constexpr std::string_view name = "boxes";
  static constexpr std::string_view idea =
      "rows that both sides share, neighbours of either together";
  static constexpr Operations operations{Operation::move, Operation::convert};
  using Config = BoxesConfig;
  using Args = kernels::BoxesArgs;
  struct Costs {
    Cost lane{"lane", 16.94, "instructions for each vector of 16 bytes"};
    Cost shifted{"shifted", 169.1, "instructions more for a vector put together from two"};
    Cost end{"end", 14.78, "more for those of a warp that has the end of a row"};
    Cost end_part{"end_part", 12.5, "the same where a row may end within a word"};
    Cost thread{"thread", 22.69, "instructions of a thread"};
    Cost axis{"axis", 16.39, "instructions of a thread for each mode"};
    Cost shifted_share{"shifted_share", 1, "share of the memory's speed where rows are shifted", 1};
    Cost shifted_single{"shifted_single", 0.9982, "the same with one vector a thread"};
    Cost share_256{"share_256", 0.9971, "share with aligned rows of 256 bytes or more", 1};
    Cost share_128{"share_128", 0.9476, "share with aligned rows of 128 to 255 bytes", 1};
    Cost share_64{"share_64", 0.9368, "share with aligned rows of 64 to 127 bytes", 1};
    Cost share_32{"share_32", 0.8964, "share with aligned rows of 32 to 63 bytes", 1};
    Cost share_16{"share_16", 0.902, "share with aligned rows of 16 to 31 bytes", 1};
    Cost loss_two{"loss_two", 0.001476, "of that share: lost with two vectors a thread"};
    Cost loss_one{"loss_one", 0.00135, "lost with one vector a thread"};
  };

  static const char* why_not(const Problem& normal, const DeviceInfo& device);
  static void configure(const Problem& normal, const Alignment& start, const DeviceInfo& device,
                        const Add<Config>& add);
  static Estimate estimate(const Config& config, const Problem& normal, const Model& model,
                           const Costs& costs);
  static std::string describe(const Config& config, const Problem& normal);
  static Launchable<Args> prepare(const Config& config, const Problem& normal);
};

}  // namespace boxes
}  // namespace cornerturn::plan::gpu
