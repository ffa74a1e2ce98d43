// What happens to elements on their way through a kernel: a Change says what an element is on
// either side, as bits, and what becomes of it. Move: nothing, its bytes are not looked at.
#pragma once

#include <cstdint>

#include "kernels/any_value.hpp"
#include "kernels/elements.hpp"
#include "kernels/unaligned.hpp"
#include "values/epilogue.hpp"
#include "values/types.hpp"

namespace cornerturn::kernels {

template <int bytes>
struct BitsOf;
template <>
struct BitsOf<1> {
  using type = std::uint8_t;
};
template <>
struct BitsOf<2> {
  using type = std::uint16_t;
};
template <>
struct BitsOf<4> {
  using type = std::uint32_t;
};
template <>
struct BitsOf<8> {
  using type = std::uint64_t;
};
template <>
struct BitsOf<16> {
  using type = Element16;
};
template <class T>
using Bits = typename BitsOf<static_cast<int>(sizeof(T))>::type;

/// Elements that stay as they are.
template <class T>
struct Move {
  using Src = T;
  using Dst = T;
  static constexpr bool narrows_f32 = false;

  template <class Args>
  CT_DEVICE static T of(const Args&, T element) {
    return element;
  }
};
template <class Change>
inline constexpr bool changes_values = true;
template <class T>
inline constexpr bool changes_values<Move<T>> = false;

/// What becomes of an element whose value is all that counts: no vectors, no old value, no chance.
struct ValueArgs {
  bool converts = false;  ///< else elements are moved, and nothing else here counts
  ValueType src = {};
  ValueType dst = {};
  float alpha = 1;
  double wide_alpha = 1;  ///< for types that f32 does not hold
  bool arithmetic = false;
  bool conjugate = false;
  Overflow overflow = Overflow::standard;
  float addend = 0;  ///< of AnyCast and ScaledCast alone
  /// Up to here GPUs' instructions do what the conversion asks for; NaNs are beyond it.
  float limit = 0;

  CT_DEVICE AnyValueArgs any() const {
    AnyValueArgs args{src, dst};
    args.arithmetic = arithmetic;
    args.addend = addend;
    args.values.alpha = wide_alpha;
    args.values.conjugate = conjugate;
    args.values.overflow = overflow;
    return args;
  }
  template <class D, class S>
  CT_DEVICE D convert(S element) const {
    values::Conversion<D, S> conversion;
    if constexpr (sizeof(conversion.alpha) == 4) {
      conversion.alpha = alpha;
    } else {
      conversion.alpha = wide_alpha;
    }
    conversion.arithmetic = arithmetic;
    conversion.conjugate = conjugate;
    conversion.overflow = overflow;
    return conversion(element, 1, 0, D{}, 0);
  }
};

/// Values of type S become values of type D.
template <class From, class To>
struct Cast {
  using S = From;
  using D = To;
  using Src = Bits<S>;
  using Dst = Bits<D>;
  /// Through f32, which it all fits in, to a type that it does not fit in.
  static constexpr bool narrows_f32 =
      values::is_small_float<D> && (std::is_same_v<S, float> || std::is_same_v<S, values::BF16>);

  CT_DEVICE static float as_f32(Src element) {
    return values::convert<float>(values::bits_as<S>(element), Overflow::standard);
  }

  template <class Args>
  CT_DEVICE static Dst of(const Args& a, Src element) {
    return values::bits_as<Dst>(a.values.template convert<D>(values::bits_as<S>(element)));
  }
};

/// A cast between types that are known when the kernel runs: their sizes alone are compiled in.
template <int src_size, int dst_size>
struct AnyCast {
  using Src = typename BitsOf<src_size>::type;
  using Dst = typename BitsOf<dst_size>::type;
  static constexpr bool narrows_f32 = false;

  template <class Args>
  CT_DEVICE static Dst of(const Args& a, Src element) {
    return any_value<Dst>(a.values.any(), element, 1, 0, Dst{}, 0);
  }
};

/// Calls call.operator()<src, dst>() with two sizes of at most `most` bytes.
template <int most, class Call>
void with_sizes(int src, int dst, Call&& call) {
  const auto with = [](int size, auto&& then) {
    switch (size) {
      case 1:
        return then.template operator()<1>();
      case 2:
        return then.template operator()<2>();
      case 4:
        return then.template operator()<4>();
      case 8:
        if constexpr (most >= 8) return then.template operator()<8>();
        break;
      default:
        if constexpr (most == 16) return then.template operator()<16>();
    }
  };
  with(src, [&]<int src_size>() {
    with(dst, [&]<int dst_size>() { call.template operator()<src_size, dst_size>(); });
  });
}

template <class T>
inline constexpr Kind kind_of = Kind::bytes;
template <>
inline constexpr Kind kind_of<float> = Kind::f32;
template <>
inline constexpr Kind kind_of<std::uint8_t> = Kind::u8;
template <>
inline constexpr Kind kind_of<std::int8_t> = Kind::i8;
template <>
inline constexpr Kind kind_of<double> = Kind::f64;
template <>
inline constexpr Kind kind_of<values::F16> = Kind::f16;
template <>
inline constexpr Kind kind_of<values::BF16> = Kind::bf16;
template <>
inline constexpr Kind kind_of<values::E4M3> = Kind::f8_e4m3;
template <>
inline constexpr Kind kind_of<values::E5M2> = Kind::f8_e5m2;

/// The conversions that have kernels of their own: both types are known when these are compiled,
/// and neither is swapped. Calls call.operator()<Cast<S, D>>(), or answers false.
template <class Call>
bool with_cast(ValueType from_type, ValueType to_type, Call&& call) {
  if (from_type.swapped || to_type.swapped) return false;
  const Kind src = from_type.kind, dst = to_type.kind;
  const auto from = [&]<class S, class... D>() {
    return ((kind_of<D> == dst && (call.template operator()<Cast<S, D>>(), true)) || ...);
  };
  using values::BF16, values::E4M3, values::E5M2, values::F16;
  switch (src) {
    case Kind::f32:
      return from.template operator()<float, F16, BF16, E4M3, E5M2, double>();
    case Kind::f16:
      return from.template operator()<F16, float, BF16, E4M3>();
    case Kind::bf16:
      return from.template operator()<BF16, float, F16, E4M3, E5M2>();
    case Kind::f8_e4m3:
      return from.template operator()<E4M3, float, BF16>();
    case Kind::f8_e5m2:
      return from.template operator()<E5M2, float, BF16>();
    case Kind::u8:
      return from.template operator()<std::uint8_t, float, F16>();
    case Kind::i8:
      return from.template operator()<std::int8_t, float, F16>();
    case Kind::f64:
      return from.template operator()<double, float>();
    default:
      return false;
  }
}

/// Calls it for common casts alone, where a kernel is compiled for few: AnyCast does the others.
template <class Call>
bool with_common_cast(ValueType from, ValueType to, Call&& call) {
  if (from.swapped || to.swapped) return false;
  const Kind src = from.kind, dst = to.kind;
  using values::BF16, values::E4M3, values::E5M2, values::F16;
  const auto is = [&]<class S, class D>() {
    const bool it_is = src == kind_of<S> && dst == kind_of<D>;
    if (it_is) call.template operator()<Cast<S, D>>();
    return it_is;
  };
  return is.template operator()<float, F16>() || is.template operator()<float, BF16>() ||
         is.template operator()<float, E4M3>() || is.template operator()<float, E5M2>() ||
         is.template operator()<BF16, E4M3>() || is.template operator()<BF16, E5M2>() ||
         is.template operator()<F16, float>() || is.template operator()<BF16, float>() ||
         is.template operator()<std::uint8_t, float>();
}

/// Those that have kernels with vectors of scales and biases. All are worked on in f32.
template <class Call>
bool with_scaled_cast(ValueType from_type, ValueType to_type, Call&& call) {
  if (from_type.swapped || to_type.swapped) return false;
  const Kind src = from_type.kind, dst = to_type.kind;
  const auto from = [&]<class S, class... D>() {
    return ((kind_of<D> == dst && (call.template operator()<Cast<S, D>>(), true)) || ...);
  };
  using values::BF16, values::E4M3, values::F16;
  switch (src) {
    case Kind::f32:
      return from.template operator()<float, std::int8_t, E4M3, BF16, F16>();
    case Kind::f16:
      return from.template operator()<F16, std::int8_t, E4M3, float>();
    case Kind::bf16:
      return from.template operator()<BF16, std::int8_t, E4M3, float>();
    case Kind::i8:
      return from.template operator()<std::int8_t, float, BF16, F16>();
    case Kind::f8_e4m3:
      return from.template operator()<E4M3, float, BF16, F16>();
    default:
      return false;
  }
}

/// Element number `i` of some words.
template <class T, int words>
CT_DEVICE T element_of(const Vec<std::uint32_t, words>& w, int i) {
  constexpr int size = static_cast<int>(sizeof(T));
  if constexpr (size == 16) {
    return {w[0], w[1], w[2], w[3]};
  } else if constexpr (size == 8) {
    return std::uint64_t{w[2 * i + 1]} << 32 | w[2 * i];
  } else {
    constexpr int of_word = 4 / size;
    return static_cast<T>(w[i / of_word] >> 8 * size * (i % of_word));
  }
}

/// Words of elements side by side.
template <class T, int count>
using PackedWords = Vec<std::uint32_t, count* static_cast<int>(sizeof(T)) / 4>;

/// The elements side by side.
template <class T, int count>
CT_DEVICE PackedWords<T, count> packed(const T (&elements)[count]) {
  constexpr int size = static_cast<int>(sizeof(T));
  if constexpr (count * size == 16) {
    return joined(elements);
  } else {
    PackedWords<T, count> to{};
    CT_UNROLL
    for (int i = 0; i < count; ++i) {
      const T value = elements[i];
      if constexpr (size == 8) {
        to[2 * i] = static_cast<std::uint32_t>(value);
        to[2 * i + 1] = static_cast<std::uint32_t>(value >> 32);
      } else {
        constexpr int of_word = 4 / size;
        to[i / of_word] |= std::uint32_t{value} << 8 * size * (i % of_word);
      }
    }
    return to;
  }
}

/// f32 to a small float, two at a time, by the GPU's instructions: whether they can do it, which
/// they can up to `limit`. Elsewhere they cannot.
template <class D, int count>
CT_DEVICE bool narrow_at_once(float limit, const float (&y)[count], PackedWords<D, count>& to) {
#if defined(__CUDA_ARCH__)
  if constexpr (values::has_instruction<D>) {
    bool inside = true;
    CT_UNROLL
    for (int i = 0; i < count; ++i) inside &= fabsf(y[i]) <= limit;
    constexpr int of_word = 4 / static_cast<int>(sizeof(D));
    CT_UNROLL
    for (int i = 0; i < count; i += of_word) {
      const std::uint32_t low = values::narrow_pair<D>(y[i], y[i + 1]);
      if constexpr (of_word == 2) {
        to[i / 2] = low;
      } else {
        const std::uint32_t high = values::narrow_pair<D>(y[i + 2], y[i + 3]);
        to[i / 4] = byte_permute(low, high, 0x5410);
      }
    }
    return inside;
  } else {
    return false;
  }
#else
  (void)limit, (void)y, (void)to;
  return false;
#endif
}

/// Elements, each changed, side by side.
template <class Change, int count, class Args>
CT_DEVICE auto change(const Args& a, const typename Change::Src (&from)[count]) {
  using Dst = typename Change::Dst;
  if constexpr (Change::narrows_f32) {
    float y[count];
    CT_UNROLL
    for (int i = 0; i < count; ++i) {
      y[i] = values::product(a.values.alpha, Change::as_f32(from[i]));  // by 1 if no arithmetic
    }
    PackedWords<Dst, count> to{};
    if (narrow_at_once<typename Change::D>(a.values.limit, y, to)) return to;
  }
  Dst results[count];
  CT_UNROLL
  for (int i = 0; i < count; ++i) results[i] = Change::of(a, from[i]);
  return packed(results);
}

/// As many elements as the words hold, each changed.
template <class Change, int words, class Args>
CT_DEVICE auto changed(const Args& a, const Vec<std::uint32_t, words>& from) {
  using Src = typename Change::Src;
  constexpr int count = 4 * words / static_cast<int>(sizeof(Src));
  Src elements[count];
  CT_UNROLL
  for (int i = 0; i < count; ++i) elements[i] = element_of<Src>(from, i);
  return change<Change>(a, elements);
}

}  // namespace cornerturn::kernels
