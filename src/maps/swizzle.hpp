// CuTe's Swizzle<B, M, S>: B bits of an offset (Y) are xor-ed into B others (Z), |S| places away.
//
//   S > 0:  0b...YYY......ZZZ....     S < 0:  0b...ZZZ......YYY....
//                 |--S----|  ^--^ M                |--|S|---|  ^--^ M
//
// Offsets are in elements and not negative. Y and Z have no bit in common, so a swizzle is its own
// inverse.
#pragma once

#include <cstdint>
#include <numeric>
#include <string>

#include "cornerturn/error.hpp"
#include "maps/host_device.hpp"

namespace cornerturn {

/// A swizzle whose numbers are known at run time. The default changes nothing.
struct AnySwizzle {
  int bits = 0;   ///< B
  int base = 0;   ///< M
  int shift = 0;  ///< S

  CT_HOST_DEVICE constexpr std::int64_t operator()(std::int64_t offset) const {
    const std::int64_t y = offset & y_mask();
    return offset ^ (shift >= 0 ? y >> shift : y << -shift);
  }
  CT_HOST_DEVICE constexpr AnySwizzle inverse() const { return *this; }

  CT_HOST_DEVICE constexpr std::int64_t y_mask() const {
    return low_bits() << (base + (shift > 0 ? shift : 0));
  }
  CT_HOST_DEVICE constexpr std::int64_t z_mask() const {
    return low_bits() << (base - (shift < 0 ? shift : 0));
  }

  /// The smallest P with f(x + P) = f(x) + P for every x.
  CT_HOST_DEVICE constexpr std::int64_t period() const {
    return bits == 0 ? 1 : std::int64_t{1} << (bits + base + (shift < 0 ? -shift : shift));
  }
  /// After how many rows of `row_elements` the pattern repeats.
  constexpr std::int64_t period_rows(std::int64_t row_elements) const {
    return period() / std::gcd(period(), row_elements);
  }
  /// Offsets below `cosize` stay below this.
  CT_HOST_DEVICE constexpr std::int64_t span(std::int64_t cosize) const {
    const std::int64_t block = bits == 0 ? 1 : z_mask() + (z_mask() & -z_mask());
    return (cosize + block - 1) / block * block;
  }

  friend constexpr bool operator==(const AnySwizzle&, const AnySwizzle&) = default;

 private:
  CT_HOST_DEVICE constexpr std::int64_t low_bits() const { return (std::int64_t{1} << bits) - 1; }
};

/// Checks the numbers: the one way to make a swizzle from what a user wrote.
constexpr AnySwizzle make_swizzle(int bits, int base, int shift) {
  const auto name = [&] {
    return "Swizzle<" + std::to_string(bits) + "," + std::to_string(base) + "," +
           std::to_string(shift) + ">";
  };
  const int distance = shift < 0 ? -shift : shift;
  if (bits < 0) throw Error(Status::invalid_argument, name() + ": B is negative");
  if (base < 0) throw Error(Status::invalid_argument, name() + ": M is negative");
  if (distance < bits) {
    throw Error(Status::invalid_argument,
                name() + ": |S| = " + std::to_string(distance) +
                    " is less than B = " + std::to_string(bits) +
                    ", so the bits that change and the bits they are xor-ed with would overlap");
  }
  if (base > 60 || distance > 60 || bits + base + distance > 60) {
    throw Error(Status::invalid_argument, name() + ": B + M + |S| is more than 60 bits");
  }
  return {bits, base, shift};
}

/// A swizzle with the numbers in its type.
template <int B, int M, int S = B>
struct Swizzle {
  static_assert(B >= 0, "Swizzle<B, M, S>: B is negative");
  static_assert(M >= 0, "Swizzle<B, M, S>: M is negative");
  static_assert(
      (S < 0 ? -S : S) >= B,
      "Swizzle<B, M, S>: |S| is less than B, so the bits that change and the bits they are "
      "xor-ed with would overlap");
  static_assert(B + M + (S < 0 ? -S : S) <= 60, "Swizzle<B, M, S>: more than 60 bits");

  static constexpr AnySwizzle value = {B, M, S};

  CT_HOST_DEVICE constexpr std::int64_t operator()(std::int64_t offset) const {
    return AnySwizzle{B, M, S}(offset);
  }
  static constexpr Swizzle inverse() { return {}; }
  static constexpr std::int64_t period() { return value.period(); }
  static constexpr std::int64_t period_rows(std::int64_t row_elements) {
    return value.period_rows(row_elements);
  }
};

}  // namespace cornerturn
