// gather: one element after the other, destination in order. Takes every problem, and everything
// that can happen to values.
#pragma once

#include <cstdint>
#include <string>

#include "core/buffers.hpp"
#include "core/normalise.hpp"
#include "core/problem.hpp"
#include "kernels/gather.hpp"
#include "plan/gpu/device_info.hpp"
#include "plan/gpu/family.hpp"
#include "plan/gpu/roofline.hpp"

namespace cornerturn::plan::gpu {

/// What a thread takes. Where values change there are `several` alone.
enum class GatherForm : std::uint8_t {
  several,   ///< four elements
  single,    ///< one
  units,     ///< see kernels::UnitPlaces
  repeated,  ///< see kernels::RepeatedPlaces
};

struct GatherConfig {
  GatherForm form = GatherForm::several;
  std::int16_t granule = 0;  ///< of units: a divisor of the destination's places where rows begin
  std::int32_t chunk = 0;    ///< several, repeated: see gather/chunks.hpp; 0: destination order

  friend bool operator==(const GatherConfig&, const GatherConfig&) = default;
};

namespace gather {

struct Family {
  static constexpr std::string_view name = "gather";
  static constexpr std::string_view idea = "one element after the other, in destination order";
  static constexpr Operations operations{Operation::move, Operation::convert};
  static constexpr bool takes_empty = true;
  static constexpr bool sees_lists = true;
  using Config = GatherConfig;
  using Args = kernels::GatherArgs;
  struct Costs {
    Cost axis{"axis", 7.889, "instructions for each mode of an element's place"};
    Cost sector{"sector", 0.5892, "wavefronts for each sector that a warp touches"};
    Cost block{"block", 1.903e-06, "seconds of a block that is alone"};
    Cost single_block{"single_block", 1.697e-06,
                      "seconds of such a block with one element a thread"};
    Cost unit_block{"unit_block", 1.492e-06, "seconds of a block of units that is alone"};
    Cost unit_sector{"unit_sector", 3.196, "wavefronts for each unit"};
    Cost share_64{"share_64", 0.9139, "share of the memory's speed with runs of 64 to 127 bytes",
                  1};
    Cost share_32{"share_32", 0.8736, "share of the memory's speed with shorter runs", 1};
    Cost known_value{"known_value", 60, "instructions for a value of types compiled for: assumed"};
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

}  // namespace gather
}  // namespace cornerturn::plan::gpu
