#include "workshop/analyse/access.hpp"

#include <fmt/format.h>

namespace cornerturn {
namespace {

std::string counted(int count, const char* noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

}  // namespace

std::string describe(const Collision& c) {
  return fmt::format("lanes {} and {} want words {} and {}, both in bank {}", c.lane_a, c.lane_b,
                     c.word_a, c.word_b, c.bank);
}

std::string describe(const SharedCost& cost) {
  const std::string total = counted(cost.wavefronts, "wavefront");
  if (cost.clean()) return total + ", no bank conflict";
  return fmt::format("{}, {} of them for bank conflicts: {}", total, cost.conflicts,
                     describe(cost.collision));
}

std::string describe(const GlobalCost& cost) {
  if (cost.sectors == 0) return "no lane is active";
  return fmt::format("{} in {}, {} % of their bytes asked for", counted(cost.sectors, "sector"),
                     counted(cost.lines, "line"), 100 * cost.bytes / (cost.sectors * sector_bytes));
}

}  // namespace cornerturn
