// list_rows: the steps of a list consist of rows that both sides share, or of single elements. It
// takes every move with one list, and common conversions.
#pragma once

#include <string>

#include "core/buffers.hpp"
#include "core/normalise.hpp"
#include "core/problem.hpp"
#include "kernels/list_rows.hpp"
#include "plan/gpu/device_info.hpp"
#include "plan/gpu/family.hpp"

namespace cornerturn::plan::gpu {

struct ListRowsConfig {
  bool single = false;   ///< one element a thread
  bool vectors = false;  ///< of values that change: several at a time

  friend bool operator==(const ListRowsConfig&, const ListRowsConfig&) = default;
};

namespace list_rows {

struct Family {
  static constexpr std::string_view name = "list_rows";
  static constexpr std::string_view idea = "rows of a list, looked up by each thread";
  static constexpr Operations operations{Operation::move, Operation::convert};
  static constexpr bool takes_lists = true;
  using Config = ListRowsConfig;
  using Args = kernels::ListRowsArgs;
  struct Costs {
    Cost lane{"lane", 40, "instructions for each element, with the entries of its step"};
    Cost axis{"axis", 17, "instructions for each mode of a row's place"};
    Cost thread{"thread", 20, "instructions of a thread"};
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

}  // namespace list_rows
}  // namespace cornerturn::plan::gpu
