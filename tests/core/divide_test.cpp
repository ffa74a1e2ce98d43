#include "core/divide.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <numeric>

namespace cornerturn {
namespace {

TEST(Divide, GcdOfPower) {
  for (const std::int64_t power : {1, 2, 16, 32, 64}) {
    for (std::int64_t n = -200; n <= 200; ++n) {
      EXPECT_EQ(gcd_of_power(power, n), std::gcd(power, n)) << power << " and " << n;
    }
  }
}

}  // namespace
}  // namespace cornerturn
