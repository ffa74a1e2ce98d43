// Elements of any type that f32 holds, as vectors of f32, and back: in every lane what the function
// of the same name in values/ does. Included once for each vector target.
#if defined(CORNERTURN_CPU_CONVERT_LANES_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef CORNERTURN_CPU_CONVERT_LANES_INL
#undef CORNERTURN_CPU_CONVERT_LANES_INL
#else
#define CORNERTURN_CPU_CONVERT_LANES_INL
#endif

#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "values/epilogue.hpp"

HWY_BEFORE_NAMESPACE();
namespace cornerturn::cpu {
namespace HWY_NAMESPACE {
namespace {

#if HWY_TARGET != HWY_SCALAR

namespace hn = hwy::HWY_NAMESPACE;
using values::BF16;
using values::Boolean;
using values::E4M3;
using values::E5M2;
using values::F16;
using values::FormatOf;

using DF = hn::ScalableTag<float>;
using DU = hn::RebindToUnsigned<DF>;
using DI = hn::RebindToSigned<DF>;
using DD = hn::ScalableTag<double>;
using DL = hn::RebindToSigned<DD>;
using DHalf = hn::Rebind<float, DD>;
using DHalfInt = hn::Rebind<std::int32_t, DD>;
using VF = hn::Vec<DF>;
using VU = hn::Vec<DU>;
using VI = hn::Vec<DI>;

constexpr std::int64_t chunk = 1024;
constexpr std::int64_t most_lanes = 64;
constexpr DF df;
constexpr DU du;
constexpr DI di;
constexpr DD dd;
constexpr DL dl;
constexpr DHalf half;
constexpr DHalfInt half_int;

HWY_INLINE VU u32(std::uint32_t value) {
  return hn::Set(du, value);
}
HWY_INLINE VF f32(std::uint32_t bits) {
  return hn::BitCast(df, u32(bits));
}

// Lanes of the unsigned type of T's size, as 32 bits each.
template <class T>
HWY_INLINE VU load_bits(const T* from) {
  using Bits = hwy::UnsignedFromSize<sizeof(T)>;
  const hn::Rebind<Bits, DF> d;
  return hn::BitCast(du, hn::PromoteTo(di, hn::LoadU(d, reinterpret_cast<const Bits*>(from))));
}

template <class T>
HWY_INLINE VF widen(VU bits) {
  using F = FormatOf<T>;
  constexpr int shift = 23 - F::mantissa_bits;
  if constexpr (F::exponent_bits == 8) {
    return hn::BitCast(df, hn::ShiftLeft<16>(bits));
  } else {
    constexpr std::uint32_t rebias = static_cast<std::uint32_t>(127 - F::bias) << 23;
    constexpr std::uint32_t smallest = rebias + (1U << 23);
    const VU magnitude = hn::And(bits, u32(F::sign - 1));
    const VU sign =
        hn::ShiftLeft<31 - F::exponent_bits - F::mantissa_bits>(hn::And(bits, u32(F::sign)));
    const VU shifted = hn::ShiftLeft<shift>(magnitude);
    const VU denormal =
        hn::BitCast(du, hn::Sub(hn::BitCast(df, hn::Add(shifted, u32(smallest))), f32(smallest)));
    VU beyond = u32(values::f32_nan);
    if constexpr (std::is_same_v<T, F16>) {
      beyond = hn::Or(hn::And(shifted, u32(0x007fffffU)), u32(values::f32_infinity));
    } else if constexpr (F::infinity) {
      beyond =
          hn::IfThenElse(hn::Eq(magnitude, u32(F::overflow)), u32(values::f32_infinity), beyond);
    }
    VU result = hn::Add(shifted, u32(rebias));
    result = hn::IfThenElse(hn::Gt(u32(1U << F::mantissa_bits), magnitude), denormal, result);
    result = hn::IfThenElse(hn::Gt(magnitude, u32(F::largest)), beyond, result);
    return hn::BitCast(df, hn::Or(result, sign));
  }
}

/// Elements as f32, of those that f32 does not hold (f64, i32) what they round to.
template <class T>
HWY_INLINE VF load(const T* from) {
  if constexpr (std::is_same_v<T, float>) {
    return hn::LoadU(df, from);
  } else if constexpr (std::is_same_v<T, double>) {
    const auto lower = hn::DemoteTo(half, hn::LoadU(dd, from));
    return hn::Combine(df, hn::DemoteTo(half, hn::LoadU(dd, from + hn::Lanes(dd))), lower);
  } else if constexpr (std::is_same_v<T, std::int32_t>) {
    return hn::ConvertTo(df, hn::LoadU(di, from));
  } else if constexpr (values::is_small_float<T>) {
    return widen<T>(load_bits(from));
  } else if constexpr (std::is_same_v<T, Boolean>) {
    const VU bits = load_bits(from);
    return hn::BitCast(df, hn::IfThenZeroElse(hn::Eq(bits, hn::Zero(du)), u32(0x3f800000U)));
  } else {
    const hn::Rebind<T, DF> d;
    return hn::ConvertTo(df, hn::PromoteTo(di, hn::LoadU(d, from)));
  }
}

/// `count` elements at any address as f32; beyond them up to a vector of anything is written.
template <class T>
void load_all(const std::byte* from, std::int64_t count, float* out) {
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(df));
  std::int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    hn::StoreU(load(reinterpret_cast<const T*>(from) + i), df, out + i);
  }
  if (i == count) return;
  T tail[most_lanes] = {};
  std::memcpy(tail, from + i * static_cast<std::int64_t>(sizeof(T)),
              static_cast<std::size_t>(count - i) * sizeof(T));
  hn::StoreU(load(tail), df, out + i);
}

// The lanes of 32 bits as elements of T.
template <class T>
HWY_INLINE void store_bits(VU bits, T* to) {
  using Bits = hwy::UnsignedFromSize<sizeof(T)>;
  const hn::Rebind<Bits, DF> d;
  hn::StoreU(hn::DemoteTo(d, hn::BitCast(di, bits)), d, reinterpret_cast<Bits*>(to));
}

template <class T>
HWY_INLINE void store_codes(VU code, VU f32_bits, bool saturate, T* to) {
  using F = FormatOf<T>;
  const VU magnitude = hn::And(f32_bits, u32(0x7fffffffU));
  code = hn::Min(code, u32(saturate ? F::largest : F::overflow));
  VU nan = u32(F::overflow | (1U << (F::mantissa_bits - 1)));
  if constexpr (std::is_same_v<T, F16>) {
    nan = hn::And(hn::ShiftRight<13>(magnitude), u32(0x3ffU));
    nan = hn::Or(hn::Max(nan, u32(1)), u32(0x7c00U));
  } else if constexpr (std::is_same_v<T, E4M3>) {
    nan = u32(0x7fU);
  }
  code = hn::IfThenElse(hn::Gt(magnitude, u32(values::f32_infinity)), nan, code);
  const VU sign = hn::ShiftLeft<F::exponent_bits + F::mantissa_bits>(hn::ShiftRight<31>(f32_bits));
  store_bits(hn::Or(code, sign), to);
}

// One lane at a time; neither address need be aligned.
template <class T, class Call>
void store_singly(const float* from, T* to, const Call& call) {
  for (std::size_t k = 0; k < hn::Lanes(df); ++k) {
    float value;
    std::memcpy(&value, reinterpret_cast<const std::byte*>(from) + k * sizeof value, sizeof value);
    const T result = call(value, k);
    std::memcpy(reinterpret_cast<std::byte*>(to) + k * sizeof result, &result, sizeof result);
  }
}

// Integers of any values.
template <class T>
HWY_NOINLINE void store_integers(VF value, Overflow overflow, T* to) {
  float lanes[most_lanes];
  hn::StoreU(value, df, lanes);
  store_singly(lanes, to,
               [&](float lane, std::size_t) { return values::convert<T>(lane, overflow); });
}

// Floats of 8 or 16 bits, rounded in integers.
template <class T>
HWY_INLINE void store_small_float(VF value, bool saturate, T* to) {
  using F = FormatOf<T>;
  constexpr int shift = 23 - F::mantissa_bits;
  constexpr std::uint32_t rebias = static_cast<std::uint32_t>(127 - F::bias) << 23;
#if HWY_TARGET <= HWY_AVX2
  if constexpr (std::is_same_v<T, F16>) {
    // The processor's own conversion differs in NaNs, and does not saturate.
    if (!saturate && hn::AllFalse(df, hn::IsNaN(value))) {
      const hn::Rebind<hwy::float16_t, DF> d;
      const hn::Rebind<std::uint16_t, DF> d16;
      hn::StoreU(hn::BitCast(d16, hn::DemoteTo(d, value)), d16,
                 reinterpret_cast<std::uint16_t*>(to));
      return;
    }
  }
#endif
  const VU bits = hn::BitCast(du, value);
  const VU magnitude = hn::And(bits, u32(0x7fffffffU));
  const VU odd = hn::And(hn::ShiftRight<shift>(magnitude), u32(1));
  VU code = hn::ShiftRight<shift>(
      hn::Add(hn::Add(magnitude, u32((1U << (shift - 1)) - 1 - rebias)), odd));
  if constexpr (F::exponent_bits != 8) {
    constexpr std::uint32_t ruler = static_cast<std::uint32_t>(128 - F::bias + shift) << 23;
    const VU denormal =
        hn::Sub(hn::BitCast(du, hn::Add(hn::BitCast(df, magnitude), f32(ruler))), u32(ruler));
    code = hn::IfThenElse(hn::Gt(u32(rebias + (1U << 23)), magnitude), denormal, code);
  }
  store_codes(code, bits, saturate, to);
}

template <class T>
HWY_INLINE void store_integer(VF value, bool saturate, T* to) {
  if constexpr (sizeof(T) < 4) {
    if (saturate) {
      value = hn::IfThenZeroElse(hn::IsNaN(value), value);
      value = hn::Max(value, hn::Set(df, static_cast<float>(values::least<T>)));
      value = hn::Min(value, hn::Set(df, static_cast<float>(values::most<T>)));
      const hn::Rebind<T, DF> d;
      return hn::StoreU(hn::DemoteTo(d, hn::ConvertTo(di, value)), d, to);
    }
  }
  const auto inside = hn::Lt(hn::Abs(value), hn::Set(df, 2147483648.0F));
  if (!hn::AllTrue(df, inside)) {
    store_integers(value, saturate ? Overflow::saturate : Overflow::standard, to);
  } else if constexpr (sizeof(T) == 4) {
    hn::StoreU(hn::ConvertTo(di, value), di, to);
  } else {
    const VU bits = hn::BitCast(du, hn::ConvertTo(di, value));
    store_bits(hn::And(bits, u32((1U << (8 * sizeof(T))) - 1)), to);
  }
}

/// Stores what f32 values become as elements of T.
template <class T>
HWY_INLINE void store(VF value, bool saturate, T* to) {
  if constexpr (std::is_same_v<T, float>) {
    if (saturate) {
      const VF most = hn::Set(df, values::most<float>);
      const VF inside = hn::Min(hn::Max(value, hn::Neg(most)), most);
      value = hn::IfThenElse(hn::IsNaN(value), value, inside);
    }
    hn::StoreU(value, df, to);
  } else if constexpr (std::is_same_v<T, double>) {
    hn::StoreU(hn::PromoteTo(dd, hn::LowerHalf(half, value)), dd, to);
    hn::StoreU(hn::PromoteTo(dd, hn::UpperHalf(half, value)), dd, to + hn::Lanes(dd));
  } else if constexpr (values::is_small_float<T>) {
    store_small_float(value, saturate, to);
  } else if constexpr (std::is_same_v<T, Boolean>) {
    const auto zero = hn::Eq(value, hn::Zero(df));
    store_bits(hn::BitCast(du, hn::IfThenZeroElse(zero, hn::BitCast(df, u32(1)))), to);
  } else {
    store_integer(value, saturate, to);
  }
}

// Integers of 8 bits, four vectors at a time: a whole number added to 1.5 * 2^23 stands in the
// lower bits of the sum, modulo any power of two. False, and nothing stored, where one is too
// large.
template <class T>
HWY_INLINE bool store_bytes(const float* from, T* to) {
  const std::size_t lanes = hn::Lanes(df);
  const hn::Repartition<std::uint16_t, DF> d16;
  const hn::Repartition<std::uint8_t, DF> d8;
  const VF a = hn::LoadU(df, from);
  const VF b = hn::LoadU(df, from + lanes);
  const VF c = hn::LoadU(df, from + 2 * lanes);
  const VF d = hn::LoadU(df, from + 3 * lanes);
  const auto magnitude = [](VF v) HWY_ATTR { return hn::BitCast(di, hn::Abs(v)); };
  const VI most = hn::Max(hn::Max(magnitude(a), magnitude(b)), hn::Max(magnitude(c), magnitude(d)));
  if (!hn::AllTrue(di, hn::Lt(most, hn::Set(di, 0x4a800000)))) return false;  // 2^22
  const auto whole = [](VF v) HWY_ATTR {
    return hn::BitCast(hn::Repartition<std::uint16_t, DF>(),
                       hn::Add(hn::Trunc(v), hn::Set(df, 12582912.0F)));
  };
  const auto lower = hn::ConcatEven(d16, whole(b), whole(a));
  const auto upper = hn::ConcatEven(d16, whole(d), whole(c));
  hn::StoreU(hn::ConcatEven(d8, hn::BitCast(d8, upper), hn::BitCast(d8, lower)), d8,
             reinterpret_cast<std::uint8_t*>(to));
  return true;
}

HWY_INLINE VF without_payload(VF v) {
  const VU sign = hn::And(hn::BitCast(du, v), u32(0x80000000U));
  const VF nan = hn::BitCast(df, hn::Or(sign, u32(values::f32_nan)));
  return hn::IfThenElse(hn::IsNaN(v), nan, v);
}

/// Elements as f32, on their way to elements of D.
template <class D, class S>
HWY_INLINE VF load_for(const S* from) {
  const VF v = load(from);
  // NaNs of bf16 become f16's plain one.
  if constexpr (std::is_same_v<S, BF16> && std::is_same_v<D, F16>) return without_payload(v);
  return v;
}

/// `count` elements at any address, from type to type, by way of f32.
template <class S, class D>
void convert_all(std::byte* dst, const std::byte* src, std::int64_t count, bool saturate) {
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(df));
  const auto* from = reinterpret_cast<const S*>(src);
  auto* to = reinterpret_cast<D*>(dst);
  if (count < lanes) {
    S in[most_lanes] = {};
    D out[most_lanes];
    std::memcpy(in, src, static_cast<std::size_t>(count) * sizeof(S));
    store(load_for<D>(in), saturate, out);
    std::memcpy(dst, out, static_cast<std::size_t>(count) * sizeof(D));
    return;
  }
  std::int64_t i = 0;
  if constexpr (std::is_integral_v<D> && sizeof(D) == 1) {
    for (; !saturate && i + 4 * lanes <= count; i += 4 * lanes) {
      if (store_bytes(from + i, to + i)) continue;
      for (std::int64_t k = i; k < i + 4 * lanes; k += lanes) {
        store(load_for<D>(from + k), saturate, to + k);
      }
    }
  }
  for (; i + lanes <= count; i += lanes) store(load_for<D>(from + i), saturate, to + i);
  // The last ones may be converted twice.
  if (i < count) store(load_for<D>(from + count - lanes), saturate, to + count - lanes);
}

/// Random bits for places place, place + step, ...; none of them may carry into the upper 32 bits.
struct RandomLanes {
  values::RandomBits bits;
  std::int64_t place;
  std::int64_t step;

  static HWY_INLINE VU mixed(VU x) {
    x = hn::Mul(hn::Xor(x, hn::ShiftRight<16>(x)), u32(0x7feb352dU));
    x = hn::Mul(hn::Xor(x, hn::ShiftRight<15>(x)), u32(0x846ca68bU));
    return hn::Xor(x, hn::ShiftRight<16>(x));
  }

  HWY_INLINE VU at(std::int64_t i) const {
    const auto first = static_cast<std::uint64_t>(place + i * step);
    const VU low = hn::Add(hn::Mul(hn::Iota(du, 0), u32(static_cast<std::uint32_t>(step))),
                           u32(static_cast<std::uint32_t>(first)));
    const auto high = static_cast<std::uint32_t>(first >> 32);
    return mixed(hn::Add(mixed(hn::Add(low, u32(bits.key0))), u32(bits.key1 + high * 0x9e3779b9U)));
  }

  std::uint32_t one_at(std::int64_t i) const {
    return bits.at(static_cast<std::uint64_t>(place + i * step));
  }
};

/// Stores what f32 values become as elements of T by stochastic rounding; `i` is the index of the
/// first lane.
template <class T>
HWY_INLINE void store_stochastic(const float* from, std::int64_t i, const RandomLanes& random,
                                 bool saturate, T* to) {
  const Overflow overflow = saturate ? Overflow::saturate : Overflow::standard;
  if constexpr (values::is_small_float<T>) {
    using F = FormatOf<T>;
    constexpr int shift = 23 - F::mantissa_bits;
    constexpr std::uint32_t rebias = static_cast<std::uint32_t>(127 - F::bias) << 23;
    const VU bits = hn::BitCast(du, hn::LoadU(df, from));
    const VU magnitude = hn::And(bits, u32(0x7fffffffU));
    bool normal = true;
    if constexpr (F::exponent_bits != 8) {
      const auto small = hn::Gt(u32(rebias + (1U << 23)), magnitude);
      normal = hn::AllFalse(du, small);
    }
    if (normal) {
      const VU noise = hn::And(random.at(i), u32((1U << shift) - 1));
      const VU code = hn::ShiftRight<shift>(hn::Add(hn::Sub(magnitude, u32(rebias)), noise));
      return store_codes(code, bits, saturate, to);
    }
  }
  store_singly(from, to, [&](float lane, std::size_t k) {
    return values::convert_stochastic<T>(lane, random.one_at(i + static_cast<std::int64_t>(k)),
                                         overflow);
  });
}

struct Storing {
  bool saturate;
  bool stochastic;
  RandomLanes random;
};

/// `count` f32 values as elements at any address; `from` has room for a vector beyond them.
template <class T>
void store_all(const float* from, std::int64_t count, std::byte* to, const Storing& how) {
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(df));
  const auto one_vector = [&](std::int64_t i, T* place) HWY_ATTR {
    if (how.stochastic) {
      store_stochastic(from + i, i, how.random, how.saturate, place);
    } else {
      store(hn::LoadU(df, from + i), how.saturate, place);
    }
  };
  std::int64_t i = 0;
  for (; i + lanes <= count; i += lanes) one_vector(i, reinterpret_cast<T*>(to) + i);
  if (i == count) return;
  T tail[most_lanes];
  one_vector(i, tail);
  std::memcpy(to + i * static_cast<std::int64_t>(sizeof(T)), tail,
              static_cast<std::size_t>(count - i) * sizeof(T));
}

template <class Call>
void with_small_kind(Kind kind, const Call& call) {
  values::with_kind(kind, [&](auto type) {
    using T = typename decltype(type)::type;
    if constexpr (values::fits_f32<T>) call(type);
  });
}

void load_small(Kind kind, const std::byte* from, std::int64_t count, float* out) {
  with_small_kind(kind,
                  [&](auto type) { load_all<typename decltype(type)::type>(from, count, out); });
}

void store_small(Kind kind, const float* from, std::int64_t count, std::byte* to,
                 const Storing& how) {
  with_small_kind(
      kind, [&](auto type) { store_all<typename decltype(type)::type>(from, count, to, how); });
}

#endif

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace cornerturn::cpu
HWY_AFTER_NAMESPACE();

#endif  // per target
