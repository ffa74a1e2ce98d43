// pages: each step of a list is transposed by the kernel tile.
#pragma once

#include <memory>
#include <string>

#include "core/buffers.hpp"
#include "core/normalise.hpp"
#include "core/problem.hpp"
#include "kernels/pages.hpp"
#include "plan/gpu/device_info.hpp"
#include "plan/gpu/family.hpp"
#include "plan/gpu/tiles.hpp"

namespace cornerturn::plan::gpu {

struct PagesConfig {
  TileConfig tile;  ///< of a step

  friend bool operator==(const PagesConfig&, const PagesConfig&) = default;
};

namespace pages {

struct Family {
  static constexpr std::string_view name = "pages";
  static constexpr std::string_view idea = "each step of a list transposed through shared memory";
  static constexpr Operations operations{Operation::move, Operation::convert};
  static constexpr bool takes_lists = true;
  using Config = PagesConfig;
  using Args = kernels::PagesArgs;
  struct Costs {
    Cost look_up{"look_up", 1e-6, "seconds more of a block that is alone: its step is looked up"};
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

}  // namespace pages
}  // namespace cornerturn::plan::gpu
