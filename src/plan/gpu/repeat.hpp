// repeat: a source that the destination holds several times is moved once, by a plan of another
// family. What stands then is copied to the other places, where all runs are as long as the
// destination has them, whatever they were in the source.
#pragma once

#include <memory>
#include <string>

#include "plan/gpu/family.hpp"
#include "plan/gpu/parts.hpp"

namespace cornerturn::plan::gpu::repeat {

/// The move, then a copy along each mode that repeats, with what these should take.
struct Repeats {
  Parts parts;
  double seconds = 0;
};

struct Family : FamilyOfParts<Repeats> {
  static constexpr std::string_view name = "repeat";
  static constexpr std::string_view idea =
      "what the destination holds several times is moved once, then copied";
  static constexpr Operations operations{Operation::move};
  struct Costs {  // beside those of the families that do the work
    Cost part{"part", 3.943e-07, "seconds from one part's end to the next one's start"};
  };

  static const char* why_not(const Problem& normal, const DeviceInfo& device);
  static void configure(const Problem& normal, const Alignment& start, const Machine& machine,
                        const Add<Config>& add);
  static Demand demand(const Config& config, const Problem& normal, const Model& model,
                       const Costs& costs);
  static std::string describe(const Config& config, const Problem& normal);
  static std::string details(const Config& config);
};

}  // namespace cornerturn::plan::gpu::repeat
