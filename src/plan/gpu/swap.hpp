// swap: two modes of one extent change places within the array.
#pragma once

#include <string>

#include "core/buffers.hpp"
#include "kernels/swap.hpp"
#include "plan/gpu/family.hpp"

namespace cornerturn::plan::gpu::swap {

struct Family {
  static constexpr std::string_view name = "swap";
  static constexpr std::string_view idea = "pairs of tiles change places, read and written once";
  static constexpr Operations operations{Operation::in_place};
  struct Config {
    kernels::SwapWay way = kernels::SwapWay::words;

    friend bool operator==(const Config&, const Config&) = default;
  };
  using Args = kernels::SwapArgs;
  struct Costs {  // all assumed
    Cost vector{"vector", 60, "instructions for each vector of 16 bytes: assumed"};
    Cost unit{"unit", 30, "instructions for a unit of 4 bytes, or of one element: assumed"};
    Cost word{"word", 30, "instructions for a word that is moved alone: assumed"};
    Cost block{"block", 3e-06, "seconds of a block that is alone: assumed"};
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

}  // namespace cornerturn::plan::gpu::swap
