// convert: values change in contiguous runs, a box of the problem at a time: before or after the
// box is transposed, on the side where its elements are wider, so that the narrower ones are moved.
#pragma once

#include <cstdint>
#include <string>

#include "core/problem.hpp"
#include "plan/cpu_info.hpp"

namespace cornerturn::plan {

struct ConvertConfig {
  enum class Order : std::uint8_t {
    direct,         ///< both sides share their fastest mode: runs are converted where they lie
    convert_first,  ///< source runs are converted into a stage, from where they are moved
    move_first,     ///< the source is moved into a stage, from where destination runs are converted
  };
  Order order = Order::direct;
  std::int64_t src_run = 256;  ///< elements of a box along the source's fastest modes, at least
  std::int64_t dst_run = 256;  ///< along the destination's
  bool non_temporal = false;

  friend bool operator==(const ConvertConfig&, const ConvertConfig&) = default;
};

namespace convert {

/// Does nothing change but the type, from f32 or to it, or by way of it? Whole vectors then go
/// straight from one type to the other.
bool is_straight(const Problem& problem);

/// The mode that is contiguous in the source, forwards or backwards; -1: none.
int source_mode(const Problem& normal);

const char* why_not(const Problem& normal, const CpuInfo& cpu);
ConvertConfig configure(const Problem& normal, const CpuInfo& cpu);
double cost_ns(const ConvertConfig& config, const Problem& normal, const CpuInfo& cpu);
std::string describe(const ConvertConfig& config, const Problem& normal);

}  // namespace convert
}  // namespace cornerturn::plan
