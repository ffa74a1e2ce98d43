// passes: any permutation of a packed array within its memory, as the steps and passes of
// core/in_place.hpp, each done by plans of other families.
#pragma once

#include <memory>
#include <string>

#include "core/buffers.hpp"
#include "core/in_place.hpp"
#include "plan/gpu/family.hpp"
#include "plan/gpu/parts.hpp"

namespace cornerturn::plan::gpu::passes {

/// The launches of all passes, and what they are in words.
struct Passes {
  Parts parts;
  double seconds = 0;
  std::string text;
};

struct Family : FamilyOfParts<Passes> {
  static constexpr std::string_view name = "passes";
  static constexpr std::string_view idea = "panels transposed on the chip, runs that follow cycles";
  static constexpr Operations operations{Operation::in_place};
  struct Costs {  // beside those of the families that do the work
    Cost part{"part", 1e-06, "seconds from one part's end to the next one's start: assumed"};
  };

  static const char* why_not(const Problem& normal, const DeviceInfo& device);
  static void configure(const Problem& normal, const Alignment& start, const Machine& machine,
                        const Add<Config>& add);
  static Demand demand(const Config& config, const Problem& normal, const Model& model,
                       const Costs& costs);
  static std::string describe(const Config& config, const Problem& normal);
  static std::string details(const Config& config);
  static std::int64_t workspace(const Config& config) { return config.all->parts.workspace; }
};

}  // namespace cornerturn::plan::gpu::passes
