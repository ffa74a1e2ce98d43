// slide: rows move from one pitch to another within one array.
#pragma once

#include <string>

#include "core/buffers.hpp"
#include "kernels/slide.hpp"
#include "plan/gpu/family.hpp"

namespace cornerturn::plan::gpu::slide {

struct Family {
  static constexpr std::string_view name = "slide";
  static constexpr std::string_view idea = "rows move to another pitch, chunk after chunk";
  static constexpr Operations operations{Operation::in_place};
  struct Config {
    std::uint32_t chunks = 0;

    friend bool operator==(const Config&, const Config&) = default;
  };
  using Args = kernels::SlideArgs;
  struct Costs {  // all assumed
    Cost vector{"vector", 30, "instructions for each vector of 16 bytes: assumed"};
    Cost block{"block", 6e-06, "seconds of a block that is alone: assumed"};
  };

  static const char* why_not(const Problem& normal, const DeviceInfo& device);
  static void configure(const Problem& normal, const Alignment& start, const DeviceInfo& device,
                        const Add<Config>& add);
  static Demand demand(const Config& config, const Problem& normal, const Model& model,
                       const Costs& costs);
  static std::string describe(const Config& config, const Problem& normal);
  static std::string details(const Config& config);
  static std::int64_t workspace(const Config& config);
  static Launchable<Args> prepare(const Config& config, const Problem& normal);
  static void bind(Args& args, const Problem& normal, const Buffers& buffers, int launch);
};

}  // namespace cornerturn::plan::gpu::slide
