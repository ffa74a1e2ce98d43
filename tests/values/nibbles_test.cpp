// Values of four bits, several at once as GPU kernels make them, against one at a time.
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

#include "kernels/block_codes.hpp"

namespace cornerturn {
namespace {

using values::bits_as;

template <int count>
void expect_codes(const float (&x)[count], float inverse) {
  const std::uint32_t codes = kernels::e2m1_codes(x, inverse);
  for (int i = 0; i < count; ++i) {
    ASSERT_EQ(codes >> 4 * i & 0xfU, values::mx_value<values::E2M1>(x[i], inverse).bits)
        << x[i] << " * " << inverse << " as number " << i << " of " << count;
  }
}

// Each exponent, and around it each place where codes change, as well as what lies between.
TEST(Nibbles, AreThoseOfSingleValues) {
  for (std::uint32_t upper = 1; upper < 0x8000; ++upper) {
    float x[8];
    constexpr std::int32_t beside[] = {0, 1, -1, 0x5555};
    for (int i = 0; i < 8; ++i) {
      const std::uint32_t magnitude =
          ((upper << 16) + static_cast<std::uint32_t>(beside[i / 2])) & 0x7fffffffU;
      x[i] = bits_as<float>(magnitude | (i % 2 == 0 ? 0U : 0x80000000U));
    }
    const float four[] = {x[0], x[3], x[4], x[7]};
    // A NaN comes with a factor of 0 or NaN alone.
    const bool number = (upper << 16) + 0x5555 < values::f32_infinity;
    if (number) {
      expect_codes(x, 1.0F);
      expect_codes(four, 1.0F);
      expect_codes(x, 0.7F);
    }
    if (upper % 16 == 0) {
      expect_codes(x, 0.0F);
      expect_codes(x, std::numeric_limits<float>::quiet_NaN());
    }
    if (HasFatalFailure()) return;
  }
}

TEST(Nibbles, HaveScalesOfSixths) {
  constexpr float tensors[] = {1.0F, 0.37F, 1e-38F, 3e38F, std::numeric_limits<float>::quiet_NaN()};
  for (std::uint64_t bits = 0; bits < 0x80000000U; bits += bits < 0x2000000U ? 101 : 4099) {
    const auto x = bits_as<float>(static_cast<std::uint32_t>(bits));
    const float tensor = tensors[bits % 5];
    if (bits <= values::f32_infinity) {
      ASSERT_EQ(kernels::sixth_of(x), values::quotient(x, 6.0F)) << x;
    }
    const auto amax = static_cast<std::uint32_t>(bits);
    ASSERT_EQ(kernels::nvfp4_code(amax, tensor), values::nvfp4_stored(amax, tensor)) << x;
  }
}

TEST(Nibbles, OfInfinitiesAreTheLargest) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  expect_codes({infinity, -infinity, 1.0F, -0.0F}, 0x1p-126F);
  expect_codes({infinity, -infinity, 1.0F, -0.0F}, 0.0F);
}

}  // namespace
}  // namespace cornerturn
