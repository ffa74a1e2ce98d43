// rows: runs of 16 bytes or more that source and destination share. Values may change their type.
#pragma once

#include <string>

#include "core/normalise.hpp"
#include "core/problem.hpp"
#include "kernels/rows.hpp"
#include "plan/gpu/device_info.hpp"
#include "plan/gpu/family.hpp"
#include "plan/gpu/roofline.hpp"

namespace cornerturn::plan::gpu {

/// Where values change there is one: aligned, four vectors a thread.
struct RowsConfig {
  kernels::RowForm form = kernels::RowForm::aligned;
  int in_flight = 4;    ///< vectors of 16 bytes a thread
  int dst_granule = 1;  ///< bytes: a divisor of every row's address in the destination

  friend bool operator==(const RowsConfig&, const RowsConfig&) = default;
};

namespace rows {

struct Family {
  static constexpr std::string_view name = "rows";
  static constexpr std::string_view idea = "rows that both sides share, in vectors";
  static constexpr Operations operations{Operation::move, Operation::convert};
  using Config = RowsConfig;
  using Args = kernels::RowsArgs;
  struct Costs {
    Cost lane{"lane", 7.773, "instructions for each vector of 16 bytes"};
    Cost axis{"axis", 16.69, "instructions for each mode of a short row's place"};
    Cost shifted{"shifted", 151.6, "instructions more for a vector put together from two"};
    Cost end_part{"end_part", 117.1,
                  "instructions more for those of a warp that has the end of a row, which may be "
                  "within a word"};
    Cost thread{"thread", 19.98, "instructions of a thread"};
    Cost loss_short{"loss_short", 0.1305,
                    "share of the memory's speed that is lost with aligned rows below 128 bytes"};
    Cost change_128{"change_128", 0.93,
                    "share of the memory's speed where values change in rows of 128 bytes or more",
                    1};
    Cost change_short{"change_short", 0.8,
                      "share of the memory's speed where they change in shorter rows", 1};
  };

  static const char* why_not(const Problem& normal, const DeviceInfo& device);
  static void configure(const Problem& normal, const Alignment& start, const DeviceInfo& device,
                        const Add<Config>& add);
  static Demand demand(const Config& config, const Problem& normal, const Model& model,
                       const Costs& costs);
  static std::string describe(const Config& config, const Problem& normal);
  static Launchable<Args> prepare(const Config& config, const Problem& normal);
};

}  // namespace rows
}  // namespace cornerturn::plan::gpu
