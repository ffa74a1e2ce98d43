// structures: arrays of structures of a few elements to one array a member, and back; also what
// lies in every second, third, ... element. On their way to planes values may change their type.
#pragma once

#include <string>

#include "core/normalise.hpp"
#include "core/problem.hpp"
#include "kernels/structures.hpp"
#include "plan/gpu/device_info.hpp"
#include "plan/gpu/family.hpp"
#include "plan/gpu/roofline.hpp"

namespace cornerturn::plan::gpu {

struct StructuresConfig {
  bool to_planes = true;
  bool shifted = false;  ///< the destination's runs do not all begin at multiples of 16 bytes
  bool whole = false;    ///< from planes, and both sides are made of whole vectors
  int length = 2;        ///< of a structure, in elements
  int elements = 0;      ///< the mode that runs over the structures
  int members = -1;      ///< the mode that runs over their members; -1: only one is moved

  friend bool operator==(const StructuresConfig&, const StructuresConfig&) = default;
};

namespace structures {

struct Family {
  static constexpr std::string_view name = "structures";
  static constexpr std::string_view idea = "structures to planes or back, in registers";
  static constexpr Operations operations{Operation::move, Operation::convert};
  using Config = StructuresConfig;
  using Args = kernels::StructuresArgs;
  struct Costs {
    Cost shifted{"shifted", 137.2, "instructions more for a vector put together from two"};
    Cost block{"block", 2.528e-06, "seconds of a block that is alone"};
  };

  static const char* why_not(const Problem& normal, const DeviceInfo& device);
  static void configure(const Problem& normal, const Alignment& start, const DeviceInfo& device,
                        const Add<Config>& add);
  static Demand demand(const Config& config, const Problem& normal, const Model& model,
                       const Costs& costs);
  static std::string describe(const Config& config, const Problem& normal);
  static Launchable<Args> prepare(const Config& config, const Problem& normal);
};

}  // namespace structures
}  // namespace cornerturn::plan::gpu
