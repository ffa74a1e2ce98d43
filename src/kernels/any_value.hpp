// values::Conversion for types that are known when it runs: one function for all pairs. The two
// agree bit by bit; this one takes an element's bits, and switches over the types.
#pragma once

#include <cstdint>

#include "kernels/context.hpp"
#include "values/epilogue.hpp"
#include "values/types.hpp"

namespace cornerturn::kernels {

/// What becomes of an element, of types that are known when a kernel runs.
struct AnyValueArgs {
  ValueType src = {};
  ValueType dst = {};
  Values values = {};
  bool scaled = false;
  bool biased = false;
  bool arithmetic = false;  ///< also with an alpha of 1, and without a scale and a bias
  float addend = 0;         ///< the same for all elements, where it is not 0
};

/// What decides how values of a type are converted.
struct KindFacts {
  bool integer = false;  ///< or boolean
  bool fits_f32 = false;
  bool complex = false;
  Kind part = Kind::f32;  ///< of a complex value, else the type itself
};
CT_HOST_DEVICE inline KindFacts facts_of(Kind kind) {
  if (kind == Kind::c64) return {false, true, true, Kind::f32};
  if (kind == Kind::c128) return {false, false, true, Kind::f64};
  KindFacts facts{.part = kind};
  values::with_kind(kind, [&]<class T>(values::Type<T>) {
    facts.integer = values::is_integer<T> || values::is_boolean<T>;
    facts.fits_f32 = values::fits_f32<T>;
  });
  return facts;
}

template <class T>
CT_HOST_DEVICE T part_of_bits(std::uint64_t bits) {
  if constexpr (sizeof(T) == 8) {
    return values::bits_as<T>(bits);
  } else if constexpr (sizeof(T) == 4) {
    return values::bits_as<T>(static_cast<std::uint32_t>(bits));
  } else if constexpr (sizeof(T) == 2) {
    return values::bits_as<T>(static_cast<std::uint16_t>(bits));
  } else {
    return values::bits_as<T>(static_cast<std::uint8_t>(bits));
  }
}
template <class T>
CT_HOST_DEVICE std::uint64_t bits_of_part(T value) {
  if constexpr (sizeof(T) == 8) {
    return values::bits_as<std::uint64_t>(value);
  } else if constexpr (sizeof(T) == 4) {
    return values::bits_as<std::uint32_t>(value);
  } else if constexpr (sizeof(T) == 2) {
    return values::bits_as<std::uint16_t>(value);
  } else {
    return values::bits_as<std::uint8_t>(value);
  }
}

/// call(T) with the C++ type of a kind that is not complex.
template <class Call>
CT_HOST_DEVICE void with_part(Kind kind, Call&& call) {
  values::with_kind(kind, [&]<class T>(values::Type<T>) {
    if constexpr (!values::is_complex<T>) call.template operator()<T>();
  });
}

/// A value as f32 or f64. `odd`: 64-bit integers that f64 cannot hold are rounded to odd, because
/// they are rounded again.
template <class Working>
CT_NO_INLINE Working decoded(Kind kind, std::uint64_t bits, bool odd) {
  Working value{};
  with_part(kind, [&]<class S>() {
    if constexpr (sizeof(Working) == 8 || values::fits_f32<S>) {
      const S x = part_of_bits<S>(bits);
      value = values::convert<Working>(x, Overflow::standard);
      if constexpr (values::is_integer<S> && sizeof(S) == 8) {
        if (odd) value = values::f64_odd(x);
      }
    }
  });
  return value;
}

template <class Working>
CT_NO_INLINE std::uint64_t encoded(Kind kind, Working value, bool stochastic, std::uint32_t random,
                                   Overflow overflow) {
  std::uint64_t bits = 0;
  with_part(kind, [&]<class D>() {
    if constexpr (sizeof(Working) == 8 || values::fits_f32<D>) {
      bits = bits_of_part(stochastic ? values::convert_stochastic<D>(value, random, overflow)
                                     : values::convert<D>(value, overflow));
    }
  });
  return bits;
}

CT_NO_INLINE std::uint64_t integer_converted(Kind src, Kind dst, std::uint64_t bits,
                                             Overflow overflow) {
  bool is_unsigned = false;
  std::int64_t value = 0;
  with_part(src, [&]<class S>() {
    if constexpr (values::is_boolean<S>) {
      value = part_of_bits<S>(bits).bits != 0;
    } else if constexpr (values::is_integer<S>) {
      value = static_cast<std::int64_t>(part_of_bits<S>(bits));  // NOLINT: i8 is a number
      is_unsigned = std::is_same_v<S, std::uint64_t>;
    }
  });
  std::uint64_t result = 0;
  with_part(dst, [&]<class D>() {
    if constexpr (values::is_integer<D> || values::is_boolean<D>) {
      result =
          bits_of_part(is_unsigned ? values::convert<D>(static_cast<std::uint64_t>(value), overflow)
                                   : values::convert<D>(value, overflow));
    }
  });
  return result;
}

CT_HOST_DEVICE constexpr float the_nan(float) {
  return values::bits_as<float>(values::f32_nan);
}
CT_HOST_DEVICE constexpr double the_nan(double) {
  return values::bits_as<double>(values::f64_nan);
}

/// Everything that happens to a value that is not complex, or to a part of one.
template <class Working>
CT_HOST_DEVICE std::uint64_t worked(const AnyValueArgs& a, Kind src, Kind dst, bool arithmetic,
                                    std::uint64_t bits, float scale, float bias, bool with_bias,
                                    std::uint64_t old, std::uint32_t random) {
  const bool stochastic = a.values.rounding == Rounding::stochastic;
  const bool once = !arithmetic && !stochastic;
  Working y = decoded<Working>(src, bits, once && dst != Kind::f64);
  if (arithmetic) {
    const auto alpha = values::convert<Working>(a.values.alpha, Overflow::standard);
    y = values::product(a.scaled ? values::product(alpha, static_cast<Working>(scale)) : alpha, y);
    if (with_bias) y = values::sum(y, static_cast<Working>(bias));
    if (a.addend != 0) y = values::sum(y, static_cast<Working>(a.addend));
    if (a.values.beta != 0) {
      const auto beta = values::convert<Working>(a.values.beta, Overflow::standard);
      y = values::sum(y, values::product(beta, decoded<Working>(dst, old, false)));
    }
    if (values::is_nan(y)) y = the_nan(y);
  }
  return encoded(dst, y, stochastic, random, a.values.overflow);
}

/// One part; `random` counts only for stochastic rounding.
CT_NO_INLINE std::uint64_t any_part(const AnyValueArgs& a, const KindFacts& src,
                                    const KindFacts& dst, std::uint64_t bits, float scale,
                                    float bias, bool with_bias, std::uint64_t old,
                                    std::uint32_t random) {
  const bool arithmetic =
      a.arithmetic || !(a.values.alpha == 1) || a.values.beta != 0 || a.scaled || a.biased;
  if (src.integer && dst.integer && !arithmetic) {
    return integer_converted(src.part, dst.part, bits, a.values.overflow);
  }
  if (!arithmetic && a.values.rounding != Rounding::stochastic) {
    // The types are one, or both have at most 16 bits: f32 in between would lose something of a
    // NaN.
    bool done = false;
    std::uint64_t result = 0;
    with_part(src.part, [&]<class S>() {
      with_part(dst.part, [&]<class D>() {
        if constexpr (std::is_same_v<S, D> ||
                      (values::is_small_float<S> && values::is_small_float<D>)) {
          result = bits_of_part(values::convert<D>(part_of_bits<S>(bits), a.values.overflow));
          done = true;
        }
      });
    });
    if (done) return result;
  }
  if (src.fits_f32 && dst.fits_f32) {
    return worked<float>(a, src.part, dst.part, arithmetic, bits, scale, bias, with_bias, old,
                         random);
  }
  return worked<double>(a, src.part, dst.part, arithmetic, bits, scale, bias, with_bias, old,
                        random);
}

/// The parts of an element, or the two halves of one that has no parts.
struct PartBits {
  std::uint64_t re = 0;
  std::uint64_t im = 0;
};
template <class T>
CT_HOST_DEVICE PartBits parts_of(const T& element, bool complex) {
  if constexpr (sizeof(T) == 16) {
    return {std::uint64_t{element[1]} << 32 | element[0],
            std::uint64_t{element[3]} << 32 | element[2]};
  } else if constexpr (sizeof(T) == 8) {
    if (complex) return {element & 0xffffffffU, element >> 32};
    return {element, 0};
  } else {
    return {element, 0};
  }
}
template <class T>
CT_HOST_DEVICE T element_of_parts(const PartBits& parts, bool complex) {
  if constexpr (sizeof(T) == 16) {
    return {static_cast<std::uint32_t>(parts.re), static_cast<std::uint32_t>(parts.re >> 32),
            static_cast<std::uint32_t>(parts.im), static_cast<std::uint32_t>(parts.im >> 32)};
  } else if constexpr (sizeof(T) == 8) {
    return complex ? parts.re | parts.im << 32 : parts.re;
  } else {
    return static_cast<T>(parts.re);
  }
}

/// The parts of an element of `element_size` bytes with their bytes in the other order.
CT_HOST_DEVICE inline PartBits bytes_swapped(const PartBits& parts, int element_size,
                                             bool complex) {
  const int size = complex ? element_size / 2 : element_size;
  return {values::bytes_swapped(parts.re, size), values::bytes_swapped(parts.im, size)};
}

/// An element's type: what is known of it, and its size.
struct SizedFacts {
  KindFacts kind;
  int size;
};

/// The parts `from` of an element of the source, `before` of the destination.
CT_HOST_DEVICE inline PartBits any_parts(const AnyValueArgs& a, const SizedFacts& of_src,
                                         const SizedFacts& of_dst, PartBits from, PartBits before,
                                         float scale, float bias, std::uint64_t place) {
  const KindFacts& src = of_src.kind;
  const KindFacts& dst = of_dst.kind;
  if (a.src.swapped) from = bytes_swapped(from, of_src.size, src.complex);
  if (a.dst.swapped) before = bytes_swapped(before, of_dst.size, dst.complex);
  std::uint32_t random = 0;
  if (a.values.rounding == Rounding::stochastic) {
    random = values::RandomBits(a.values.seed).at(place);
  }
  if (a.values.conjugate && src.complex) {
    from.im ^= std::uint64_t{1} << (src.part == Kind::f64 ? 63 : 31);
  }
  PartBits to;
  to.re = any_part(a, src, dst, from.re, scale, bias, a.biased, before.re, random);
  if (dst.complex) {
    to.im = any_part(a, src, dst, from.im, scale, bias, false, before.im, values::mixed(random));
  }
  if (a.dst.swapped) to = bytes_swapped(to, of_dst.size, dst.complex);
  return to;
}

/// The element `x` of the source, `old` of the destination: as values::Conversion says.
template <class Dst, class Src>
CT_HOST_DEVICE Dst any_value(const AnyValueArgs& a, const Src& x, float scale, float bias,
                             const Dst& old, std::uint64_t place) {
  const SizedFacts src{facts_of(a.src.kind), sizeof(Src)};
  const SizedFacts dst{facts_of(a.dst.kind), sizeof(Dst)};
  const PartBits to = any_parts(a, src, dst, parts_of(x, src.kind.complex),
                                parts_of(old, dst.kind.complex), scale, bias, place);
  return element_of_parts<Dst>(to, dst.kind.complex);
}

}  // namespace cornerturn::kernels
