// swap: two modes of one extent change places within the array. Tiles (i, j) and (j, i) are copied
// to the side and are transposed from there into each other's places; in the caches they change
// places block by block, through the registers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/problem.hpp"
#include "plan/cost.hpp"
#include "plan/family.hpp"

namespace cornerturn::plan {

struct CpuInfo;

struct SwapConfig {
  int tile = 16;        ///< elements of a tile along either mode
  int group = 16;       ///< tiles along either mode that are worked on together
  bool staged = false;  ///< tiles are copied to the side before they are transposed

  friend bool operator==(const SwapConfig&, const SwapConfig&) = default;
};

namespace swap {

/// The side of a square of elements whose rows are whole lines, and are eight at least.
constexpr std::int64_t line_square(std::int64_t element) {
  return element <= 8 ? 64 / element : 8;
}
/// The side of a tile of elements of `element` bytes. A row has two lines, of elements of one and
/// two bytes one: a first-level cache holds the copies of three tiles.
constexpr std::int64_t tile_side(std::int64_t element) {
  return (element <= 2 ? 64 : 128) / element;
}

/// What things cost one thread, by hand on a processor with AVX2.
struct Costs {
  Cost matrix_ns{"matrix_ns", 25, "each matrix of a batch"};
  Cost line_ns{"line_ns", 6, "a line of the array, read and written"};
  Cost element_ns{"element_ns", 4, "an element that is not transposed in registers"};

  friend bool operator==(const Costs&, const Costs&) = default;
};

struct Family {
  static constexpr std::string_view name = "swap";
  static constexpr std::string_view idea = "pairs of tiles change places, read and written once";
  static constexpr Operations operations{Operation::in_place};
  using Costs = swap::Costs;
  using Config = SwapConfig;

  static const char* why_not(const Problem& normal, const CpuInfo& cpu);
  static void configure(const Problem& normal, const CpuInfo& cpu, const Add<Config>& add);
  static double cost_ns(const Config& config, const Problem& normal, const CpuInfo& cpu,
                        const Costs& costs);
  static std::string describe(const Config& config, const Problem& normal);
  static std::string details(const Config& config);
};

}  // namespace swap
}  // namespace cornerturn::plan
