// All that happens to one element on its way, in one order on every device:
//
//   y = x                              in f32 where it holds all values of both types, else f64
//   y = (alpha * scale) * y            with an alpha other than 1, or a scale
//   y = y + bias                       with a bias
//   y = y + beta * d                   with a beta other than 0; d is the destination as it was
//   any NaN becomes the one NaN
//   d = y, rounded
//
// Each product and each sum is rounded by itself; none are fused, on no device. Without arithmetic
// x becomes d at once.
#pragma once

#include <cstdint>

#include "core/values.hpp"
#include "maps/host_device.hpp"
#include "values/convert.hpp"
#include "values/stochastic.hpp"
#include "values/types.hpp"

namespace cornerturn::values {

// Host code is compiled with -ffp-contract=off.
CT_HOST_DEVICE inline float product(float a, float b) {
#if defined(__CUDA_ARCH__)
  return __fmul_rn(a, b);
#else
  return a * b;
#endif
}
CT_HOST_DEVICE inline double product(double a, double b) {
#if defined(__CUDA_ARCH__)
  return __dmul_rn(a, b);
#else
  return a * b;
#endif
}
CT_HOST_DEVICE inline float sum(float a, float b) {
#if defined(__CUDA_ARCH__)
  return __fadd_rn(a, b);
#else
  return a + b;
#endif
}
CT_HOST_DEVICE inline double sum(double a, double b) {
#if defined(__CUDA_ARCH__)
  return __dadd_rn(a, b);
#else
  return a + b;
#endif
}

/// What every element of one problem goes through, from S to D. Plain data: made once, copied to
/// wherever it is used.
template <class D, class S>
struct Conversion {
  using Working = Intermediate<D, S>;

  Working alpha = 1;
  Working beta = 0;
  bool arithmetic = false;
  bool scaled = false;
  bool biased = false;
  bool reads_destination = false;
  bool conjugate = false;
  bool stochastic = false;
  Overflow overflow = Overflow::standard;
  RandomBits random;

  Conversion() = default;
  /// `has_scale` and `has_bias`: are there such vectors?
  CT_HOST_DEVICE Conversion(const Values& values, bool has_scale, bool has_bias)
      : alpha(convert<Working>(values.alpha, Overflow::standard)),
        beta(convert<Working>(values.beta, Overflow::standard)),
        arithmetic(!(values.alpha == 1) || values.beta != 0 || has_scale || has_bias),
        scaled(has_scale),
        biased(has_bias),
        reads_destination(values.beta != 0),
        conjugate(values.conjugate && is_complex<S>),
        stochastic(values.rounding == Rounding::stochastic),
        overflow(values.overflow),
        random(values.seed) {}

  /// The element `x` of the source, `old` of the destination (read only if reads_destination), with
  /// the scale and the bias of its index (used only if scaled or biased). `place` counts elements
  /// of the destination's type from its first one, in its memory: (address - first address) / size,
  /// plus Values::place.
  CT_HOST_DEVICE D operator()(S x, float scale, float bias, D old, std::uint64_t place) const {
    if constexpr (is_complex<S>) {
      if (conjugate) x.im = negated(x.im);
    }
    if (!arithmetic && !stochastic) return convert<D>(x, overflow);
    if constexpr (is_complex<D>) {
      using Part = Real<D>;
      Real<S> re;
      Real<S> im;
      if constexpr (is_complex<S>) {
        re = x.re;
        im = x.im;
      } else {
        re = x;
        im = Real<S>{};
      }
      const std::uint32_t bits = stochastic ? random.at(place) : 0;
      return D{part<Part>(re, scale, bias, old.re, bits, biased),
               part<Part>(im, scale, bias, old.im, mixed(bits), false)};
    } else {
      return part<D>(x, scale, bias, old, stochastic ? random.at(place) : 0, biased);
    }
  }

 private:
  template <class Part>
  CT_HOST_DEVICE static Part negated(Part x) {
    if constexpr (sizeof(Part) == 4) {
      return bits_as<Part>(bits_as<std::uint32_t>(x) ^ 0x80000000U);
    } else {
      return bits_as<Part>(bits_as<std::uint64_t>(x) ^ (std::uint64_t{1} << 63));
    }
  }

  template <class Part, class From>
  CT_HOST_DEVICE Part part(From x, float scale, float bias, Part old, std::uint32_t bits,
                           bool with_bias) const {
    if constexpr (is_integer<From> && is_integer<Part>) {
      if (!arithmetic) return convert<Part>(x, overflow);  // nothing to round
    }
    Working y = convert<Working>(x, Overflow::standard);
    if constexpr (std::is_same_v<From, BF16> && std::is_same_v<Part, F16>) y = without_payload(y);
    if (arithmetic) {
      y = product(scaled ? product(alpha, static_cast<Working>(scale)) : alpha, y);
      if (with_bias) y = sum(y, static_cast<Working>(bias));
      if (reads_destination) {
        y = sum(y, product(beta, convert<Working>(old, Overflow::standard)));
      }
      y = is_nan(y) ? the_nan() : y;
    }
    if (stochastic) return convert_stochastic<Part>(y, bits, overflow);
    return convert<Part>(y, overflow);
  }

  CT_HOST_DEVICE static constexpr Working the_nan() {
    if constexpr (sizeof(Working) == 4) {
      return bits_as<Working>(f32_nan);
    } else {
      return bits_as<Working>(f64_nan);
    }
  }
};

}  // namespace cornerturn::values
