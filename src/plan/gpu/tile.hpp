// tile: both sides have long runs along different modes, turned through shared memory in vectors.
// skew: the same where rows begin at any address. tile_convert, skew_convert: for values that
// change their type.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "core/normalise.hpp"
#include "core/problem.hpp"
#include "plan/gpu/device_info.hpp"
#include "plan/gpu/estimate.hpp"

namespace cornerturn::plan::gpu {

struct Prepared;

struct TileConfig {
  std::uint8_t shape = 0;      ///< which of the kernel's shapes
  std::uint8_t row_modes = 1;  ///< of the destination's run, its fastest first
  std::uint8_t col_modes = 1;  ///< of the source's run, its fastest first

  friend bool operator==(const TileConfig&, const TileConfig&) = default;
};
struct TileConvertConfig : TileConfig {
  friend bool operator==(const TileConvertConfig&, const TileConvertConfig&) = default;
};
struct SkewConvertConfig : TileConfig {
  friend bool operator==(const SkewConvertConfig&, const SkewConvertConfig&) = default;
};
struct SkewConfig : TileConfig {
  friend bool operator==(const SkewConfig&, const SkewConfig&) = default;
};

namespace tile {

const char* why_not(const Problem& normal, const DeviceInfo& device);
void configure(const Problem& normal, const Alignment& start, const DeviceInfo& device,
               const std::function<void(const TileConfig&)>& add);
Estimate estimate(const TileConfig& config, const Problem& normal, const Model& model);
std::string describe(const TileConfig& config, const Problem& normal);
Prepared prepare(const TileConfig& config, const Problem& normal);

}  // namespace tile

namespace tile_convert {

const char* why_not(const Problem& normal, const DeviceInfo& device);
void configure(const Problem& normal, const Alignment& start, const DeviceInfo& device,
               const std::function<void(const TileConvertConfig&)>& add);
Estimate estimate(const TileConvertConfig& config, const Problem& normal, const Model& model);
std::string describe(const TileConvertConfig& config, const Problem& normal);
Prepared prepare(const TileConvertConfig& config, const Problem& normal);

}  // namespace tile_convert

namespace skew {

const char* why_not(const Problem& normal, const DeviceInfo& device);
void configure(const Problem& normal, const Alignment& start, const DeviceInfo& device,
               const std::function<void(const SkewConfig&)>& add);
Estimate estimate(const SkewConfig& config, const Problem& normal, const Model& model);
std::string describe(const SkewConfig& config, const Problem& normal);
Prepared prepare(const SkewConfig& config, const Problem& normal);

}  // namespace skew

namespace skew_convert {

const char* why_not(const Problem& normal, const DeviceInfo& device);
void configure(const Problem& normal, const Alignment& start, const DeviceInfo& device,
               const std::function<void(const SkewConvertConfig&)>& add);
Estimate estimate(const SkewConvertConfig& config, const Problem& normal, const Model& model);
std::string describe(const SkewConvertConfig& config, const Problem& normal);
Prepared prepare(const SkewConvertConfig& config, const Problem& normal);

}  // namespace skew_convert
}  // namespace cornerturn::plan::gpu
