// What may happen to values on their way: another type, a factor, an addend, and how they round.
#pragma once

#include <cstdint>

namespace cornerturn {

/// How a value that the destination's type cannot hold exactly becomes one that it can.
enum class Rounding : std::uint8_t {
  nearest_even,  ///< to the nearest, ties to even; to integers towards zero, as C and NumPy do
  stochastic,    ///< up or down at random: by chance proportional to how near each one is
};

/// What becomes of a value beyond the destination's range.
enum class Overflow : std::uint8_t {
  standard,  ///< integers wrap modulo 2^n; floats become infinite, or NaN where there is no
             ///< infinity
  saturate,  ///< the largest or smallest finite value, for infinities as well
};

/// dst = alpha * scale[i_m] * convert(src) + bias[i_n] + beta * dst. The default changes nothing
/// but the type.
///
/// With any of alpha, scale, bias or beta the arithmetic is done in f32 where it holds every value
/// of both types, else in f64; each product and each sum is rounded by itself, and a NaN loses its
/// sign and payload. Without them a value is converted at once, rounded once, exact where possible.
struct Epilogue {
  double alpha = 1;
  double beta = 0;         ///< 0: the destination is not read
  bool conjugate = false;  ///< of complex values, before anything else
  Rounding rounding = Rounding::nearest_even;
  /// Of stochastic rounding. The random bits of an element depend on the seed and on its place in
  /// the destination alone: not on the kernel, nor on the device, nor on threads.
  std::uint64_t seed = 0;
  Overflow overflow = Overflow::standard;
  /// A factor for each index of axis `scale_mode` of the views, packed, on the destination's side
  /// (host or GPU). With scale_mode = -1: one factor for all; null: none.
  const float* scale = nullptr;
  int scale_mode = -1;
  /// An addend, alike; of complex values it goes to the real part.
  const float* bias = nullptr;
  int bias_mode = -1;

  friend bool operator==(const Epilogue&, const Epilogue&) = default;
};

}  // namespace cornerturn
