// What may happen to values on their way: they change their type, are multiplied, added to, and
// rounded.
#pragma once

#include <cstdint>

namespace cornerturn {

/// How a value that the destination's type cannot hold exactly becomes one that it can.
enum class Rounding : std::uint8_t {
  nearest_even,  ///< to the nearest, with ties to even; to integers towards zero, as in C
  stochastic,    ///< up or down at random; the nearer neighbour is the more likely one
};

/// What a value beyond the destination's range becomes.
enum class Overflow : std::uint8_t {
  standard,  ///< integers wrap modulo 2^n; floats become infinite, or NaN where there is no
             ///< infinity
  saturate,  ///< values, infinities among them, become the largest or smallest finite value
};

/// An epilogue sets dst = alpha * scale[i_m] * convert(src) + bias[i_n] + beta * dst. The default
/// changes nothing but the type.
///
/// With any of alpha, scale, bias or beta the arithmetic is done in f32 where f32 holds every value
/// of both types, and otherwise in f64. Each product and each sum is rounded by itself, and a NaN
/// loses its sign and payload. Without them a value is converted directly and rounded once; the
/// result is exact where it can be.
struct Epilogue {
  double alpha = 1;
  double beta = 0;         ///< with 0 the destination is not read
  bool conjugate = false;  ///< conjugates complex values, before anything else
  Rounding rounding = Rounding::nearest_even;
  /// The seed of stochastic rounding. The random bits of an element depend only on the seed and on
  /// the element's place in the destination, not on the kernel, the device or the threads.
  std::uint64_t seed = 0;
  Overflow overflow = Overflow::standard;
  /// One factor for each index of axis `scale_mode` of the views. The factors are packed and lie
  /// where the destination lies (host or GPU). With scale_mode = -1 there is one factor for all
  /// elements; null means that there is none.
  const float* scale = nullptr;
  int scale_mode = -1;
  /// The addends, in the same way. They are added to the real part of complex values.
  const float* bias = nullptr;
  int bias_mode = -1;

  friend bool operator==(const Epilogue&, const Epilogue&) = default;
};

}  // namespace cornerturn
