// convert: values change in contiguous runs, a box of the problem at a time: before or after the
// box is transposed, on the side where its elements are wider, so that the narrower ones are moved.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "core/problem.hpp"
#include "plan/cost.hpp"
#include "plan/cpu/stores.hpp"
#include "plan/family.hpp"

namespace cornerturn::plan {

struct BoxMoves;

struct ConvertConfig {
  enum class Order : std::uint8_t {
    direct,         ///< both sides share their fastest mode: runs are converted where they lie
    convert_first,  ///< source runs are converted into a stage, from where they are moved
    move_first,     ///< the source is moved into a stage, from where destination runs are converted
  };
  Order order = Order::direct;
  std::int64_t src_run = 256;  ///< elements of a box along the source's fastest modes, at least
  std::int64_t dst_run = 256;  ///< along the destination's
  Stores stores = Stores::regular;
  /// How other kernels move boxes between their side and the stage. None where the order is direct.
  std::shared_ptr<const BoxMoves> moves;

  friend bool operator==(const ConvertConfig& a, const ConvertConfig& b);
};

namespace convert {

/// What things cost one thread. Assumed, except that most conversions are far faster here than one
/// element after the other in gather.
struct Costs {
  Cost element_ns{"element_ns", 0.25, "an element"};
  Cost byte_ns{"byte_ns", 0.12, "a byte of either side"};
  Cost stage_start_ns{"stage_start_ns", 4000, "a call where boxes pass through a stage"};

  friend bool operator==(const Costs&, const Costs&) = default;
};

/// Does nothing change but the type, from f32 or to it, or by way of it? Whole vectors then go
/// straight from one type to the other. The order of bytes is not looked at.
bool is_straight(const Problem& problem);

/// The mode that is contiguous in the source, forwards or backwards; -1: none.
int source_mode(const Problem& normal);

struct Family {
  static constexpr std::string_view name = "convert";
  static constexpr std::string_view idea = "contiguous runs converted in vectors, box by box";
  static constexpr Operations operations{Operation::convert};
  using Costs = convert::Costs;
  using Config = ConvertConfig;

  static const char* why_not(const Problem& normal, const CpuInfo& cpu);
  static void configure(const Problem& normal, const CpuInfo& cpu, const Add<Config>& add);
  static double cost_ns(const Config& config, const Problem& normal, const CpuInfo& cpu,
                        const Costs& costs);
  static std::string describe(const Config& config, const Problem& normal);
  static std::string details(const Config& config);
};

}  // namespace convert
}  // namespace cornerturn::plan
