// panels: matrices that fit into a block's shared memory, transposed within their own memory.
#pragma once

#include <string>

#include "core/buffers.hpp"
#include "kernels/panels.hpp"
#include "plan/gpu/family.hpp"

namespace cornerturn::plan::gpu::panels {

struct Family {
  static constexpr std::string_view name = "panels";
  static constexpr std::string_view idea = "whole matrices in shared memory, read and written once";
  static constexpr Operations operations{Operation::in_place};
  struct Config {
    kernels::PanelWay way = kernels::PanelWay::words;
    bool wide = false;         ///< units come in vectors of 16 bytes
    std::uint32_t pad = 0;     ///< words behind every row in shared memory
    std::uint32_t panels = 1;  ///< of a block

    friend bool operator==(const Config&, const Config&) = default;
  };
  using Args = kernels::PanelsArgs;
  struct Costs {  // the first two after what an H200 took
    Cost vector{"vector", 48, "instructions for each vector of 16 bytes"};
    Cost unit{"unit", 31, "instructions for each unit of 4 bytes, or of one element"};
    Cost word{"word", 50, "instructions for each word: assumed"};
    Cost block{"block", 4e-06, "seconds of a block that is alone: assumed"};
  };

  static const char* why_not(const Problem& normal, const DeviceInfo& device);
  static void configure(const Problem& normal, const Alignment& start, const DeviceInfo& device,
                        const Add<Config>& add);
  static Demand demand(const Config& config, const Problem& normal, const Model& model,
                       const Costs& costs);
  static std::string describe(const Config& config, const Problem& normal);
  static std::string details(const Config& config);
  static Launchable<Args> prepare(const Config& config, const Problem& normal);
  static void bind(Args& args, const Problem& normal, const Buffers& buffers, int launch);
};

/// Bytes of the largest panel of which an SM is sure to hold two.
std::int64_t largest_panel(const DeviceInfo& device);

}  // namespace cornerturn::plan::gpu::panels
