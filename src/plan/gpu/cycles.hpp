// cycles: a matrix of runs, transposed within its memory along the cycles of the permutation.
#pragma once

#include <string>

#include "core/buffers.hpp"
#include "kernels/cycles.hpp"
#include "plan/gpu/family.hpp"

namespace cornerturn::plan::gpu::cycles {

struct Family {
  static constexpr std::string_view name = "cycles";
  static constexpr std::string_view idea = "runs follow their cycles, which are cut into segments";
  static constexpr Operations operations{Operation::in_place};
  struct Config {
    std::uint32_t cuts = 0;     ///< of each matrix: runs that are saved first
    std::uint32_t spacing = 0;  ///< runs from one cut to the next
    std::int64_t workspace = 0;

    friend bool operator==(const Config&, const Config&) = default;
  };
  using Args = kernels::CyclesArgs;
  struct Costs {  // the first two after what an H200 took, the last one assumed
    Cost word{"word", 16, "instructions for each word of a run"};
    Cost leader{"leader", 900, "instructions for each run: to find its leader and its place"};
    Cost step{"step", 4e-07, "seconds until a run has moved: assumed"};
  };

  static const char* why_not(const Problem& normal, const DeviceInfo& device);
  static void configure(const Problem& normal, const Alignment& start, const DeviceInfo& device,
                        const Add<Config>& add);
  static Demand demand(const Config& config, const Problem& normal, const Model& model,
                       const Costs& costs);
  static std::string describe(const Config& config, const Problem& normal);
  static std::string details(const Config& config);
  static std::int64_t workspace(const Config& config) { return config.workspace; }
  static Launchable<Args> prepare(const Config& config, const Problem& normal);
  static void bind(Args& args, const Problem& normal, const Buffers& buffers, int launch);
};

}  // namespace cornerturn::plan::gpu::cycles
