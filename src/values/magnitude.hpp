// Magnitudes of real values as unsigned integers of their size: of a float the bits without the
// sign, where an infinity is more than any number and a NaN more than an infinity, so that one
// maximum over integers finds all.
#pragma once

#include <cstdint>
#include <limits>
#include <type_traits>

#include "maps/host_device.hpp"
#include "values/convert.hpp"
#include "values/types.hpp"

namespace cornerturn::values {

template <class T>
using MagnitudeBits = std::conditional_t<
    sizeof(T) == 1, std::uint8_t,
    std::conditional_t<sizeof(T) == 2, std::uint16_t,
                       std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>>>;

/// How the bits of a value become those of its magnitude.
enum class Magnitude : std::uint8_t {
  same,      ///< there is no sign
  signless,  ///< the uppermost bit is the sign
  absolute,  ///< two's complement
};

template <class T>
inline constexpr Magnitude magnitude_rule =
    is_float<T>                           ? Magnitude::signless
    : is_integer<T>&& std::is_signed_v<T> ? Magnitude::absolute
                                          : Magnitude::same;

/// A truth value is true if it is any but 0.
template <class T>
CT_HOST_DEVICE constexpr MagnitudeBits<T> magnitude_bits(T value) {
  using Bits = MagnitudeBits<T>;
  const auto bits = bits_as<Bits>(value);
  if constexpr (magnitude_rule<T> == Magnitude::signless) {
    return static_cast<Bits>(bits & static_cast<Bits>(std::numeric_limits<Bits>::max() >> 1));
  } else if constexpr (magnitude_rule<T> == Magnitude::absolute) {
    return static_cast<Bits>(value < 0 ? Bits{0} - bits : bits);
  } else {
    return bits;
  }
}

/// The number that a magnitude of that type stands for.
CT_HOST_DEVICE inline double magnitude_number(Kind kind, std::uint64_t magnitude) {
  return with_kind(kind, [&]<class T>(Type<T>) -> double {
    if constexpr (is_boolean<T>) {
      return magnitude != 0 ? 1 : 0;
    } else if constexpr (is_small_float<T>) {
      return static_cast<double>(widen(T{static_cast<MagnitudeBits<T>>(magnitude)}));
    } else if constexpr (std::is_same_v<T, float>) {
      return static_cast<double>(bits_as<float>(static_cast<std::uint32_t>(magnitude)));
    } else if constexpr (std::is_same_v<T, double>) {
      return bits_as<double>(magnitude);
    } else {
      return static_cast<double>(magnitude);
    }
  });
}

}  // namespace cornerturn::values
