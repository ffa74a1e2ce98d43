// What a problem does to the values that it moves: plain data, without pointers.
#pragma once

#include <cstdint>

#include "cornerturn/element_type.hpp"
#include "cornerturn/epilogue.hpp"

namespace cornerturn {

/// Are values of this kind numbers without an imaginary part?
constexpr bool is_real(Kind kind) {
  return kind != Kind::bytes && kind != Kind::c64 && kind != Kind::c128;
}

/// A type of values as kernels see it. What is compiled for a kind takes it unswapped.
struct ValueType {
  Kind kind = Kind::f32;
  bool swapped = false;  ///< the bytes of each part stand in the other order
};
inline ValueType value_type(ElementType type) {
  return {type.kind(), type.is_swapped()};
}

/// The plain part of an Epilogue.
struct Values {
  double alpha = 1;
  double beta = 0;
  bool conjugate = false;
  Rounding rounding = Rounding::nearest_even;
  Overflow overflow = Overflow::standard;
  std::uint64_t seed = 0;
  /// Where the problem is a piece of a larger one: the place of its first destination element in
  /// that, counted in elements. Stochastic rounding counts from there.
  std::int64_t place = 0;

  /// To the bit: a factor of -0 gives other zeros than one of 0.
  friend bool operator==(const Values& a, const Values& b) {
    const auto bits = [](double x) { return __builtin_bit_cast(std::uint64_t, x); };
    return bits(a.alpha) == bits(b.alpha) && bits(a.beta) == bits(b.beta) &&
           a.conjugate == b.conjugate && a.rounding == b.rounding && a.overflow == b.overflow &&
           a.seed == b.seed && a.place == b.place;
  }
};

/// Where the values of a scale or a bias lie: element (i0, i1, ...) of the problem uses
/// vector[first + step * i_mode]; vector[first] where there is no such mode any more.
struct ModeVector {
  bool present = false;
  int mode = -1;
  std::int64_t step = 1;
  std::int64_t first = 0;

  friend bool operator==(const ModeVector&, const ModeVector&) = default;
};

/// The vectors themselves, at run time.
struct Vectors {
  const float* scale = nullptr;
  const float* bias = nullptr;
};

}  // namespace cornerturn
