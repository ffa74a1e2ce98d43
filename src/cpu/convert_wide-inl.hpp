// Elements of which f32 does not hold all values, by way of f64: in every lane what the function of
// the same name in values/ does. Included once for each vector target.
#if defined(CORNERTURN_CPU_CONVERT_WIDE_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef CORNERTURN_CPU_CONVERT_WIDE_INL
#undef CORNERTURN_CPU_CONVERT_WIDE_INL
#else
#define CORNERTURN_CPU_CONVERT_WIDE_INL
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "cpu/convert_lanes-inl.hpp"
#include "cpu/convert_run.hpp"

HWY_BEFORE_NAMESPACE();
namespace cornerturn::cpu {
namespace HWY_NAMESPACE {
namespace {

#if HWY_TARGET != HWY_SCALAR

struct WideBuffers {
  alignas(64) double y[chunk + most_lanes];
  alignas(64) float x[chunk + most_lanes];
};

// False where some value has no place in f64.
bool load_wide(Kind kind, const std::byte* from, std::int64_t count, WideBuffers& buffers) {
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(dd));
  const std::int64_t whole = count / lanes * lanes;
  double* const y = buffers.y;
  const auto rest = [&](auto zero) {
    for (std::int64_t i = whole; i < count; ++i) {
      auto value = zero;
      std::memcpy(&value, from + i * static_cast<std::int64_t>(sizeof value), sizeof value);
      y[i] = static_cast<double>(value);
    }
  };
  switch (kind) {
    case Kind::f64:
      std::memcpy(y, from, static_cast<std::size_t>(count) * sizeof(double));
      return true;
    case Kind::i32: {
      const auto* values = reinterpret_cast<const std::int32_t*>(from);
      for (std::int64_t i = 0; i < whole; i += lanes) {
        hn::Store(hn::PromoteTo(dd, hn::LoadU(half_int, values + i)), dd, y + i);
      }
      rest(std::int32_t{});
      return true;
    }
    case Kind::i64: {
      const auto* values = reinterpret_cast<const std::int64_t*>(from);
      auto high = hn::Zero(dl);
      for (std::int64_t i = 0; i < whole; i += lanes) {
        const auto v = hn::LoadU(dl, values + i);
        high = hn::Or(high, hn::Xor(v, hn::ShiftRight<63>(v)));
        hn::Store(hn::ConvertTo(dd, v), dd, y + i);
      }
      rest(std::int64_t{});
      bool fits = hn::AllTrue(dl, hn::Eq(hn::ShiftRight<53>(high), hn::Zero(dl)));
      for (std::int64_t i = whole; i < count; ++i) fits = fits && std::abs(y[i]) < 0x1p53;
      return fits;
    }
    default:
      break;
  }
  load_small(kind, from, count, buffers.x);
  for (std::int64_t i = 0; i < count; i += lanes) {
    hn::Store(hn::PromoteTo(dd, hn::Load(half, buffers.x + i)), dd, y + i);
  }
  return true;
}

bool any_nan(const double* y, std::int64_t count) {
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(dd));
  const std::int64_t whole = count / lanes * lanes;
  auto nans = hn::MaskFromVec(hn::Zero(dd));
  for (std::int64_t i = 0; i < whole; i += lanes)
    nans = hn::Or(nans, hn::IsNaN(hn::Load(dd, y + i)));
  bool found = !hn::AllFalse(dd, nans);
  for (std::int64_t i = whole; i < count; ++i) found = found || values::is_nan(y[i]);
  return found;
}

// f64 as what f32 rounds to odd: it then rounds to a smaller type as the f64 does. `seen` collects
// what f32 cannot stand in for: NaNs, and values that are denormal there.
HWY_INLINE hn::Vec<DHalf> odd_half(const double* from, hn::Mask<DD>& seen) {
  const auto v = hn::LoadU(dd, from);
  const auto bits = hn::BitCast(dl, v);
  const auto exact = hn::Eq(hn::And(bits, hn::Set(dl, 0x1fffffff)), hn::Zero(dl));
  const auto last = hn::IfThenZeroElse(exact, hn::Set(dl, 0x20000000));
  const auto odd = hn::AndNot(hn::Set(dl, 0x1fffffff), hn::Or(bits, last));
  const auto size = hn::Abs(v);
  const auto tiny = hn::And(hn::Lt(size, hn::Set(dd, 0x1p-126)), hn::Gt(size, hn::Zero(dd)));
  seen = hn::Or(seen, hn::Or(tiny, hn::IsNaN(v)));
  return hn::DemoteTo(half, hn::BitCast(dd, odd));
}

// False where the values need a closer look.
bool narrow_to_odd(WideBuffers& buffers, std::int64_t count) {
  auto seen = hn::MaskFromVec(hn::Zero(dd));
  for (std::int64_t i = 0; i < count; i += static_cast<std::int64_t>(hn::Lanes(dd))) {
    hn::Store(odd_half(buffers.y + i, seen), half, buffers.x + i);
  }
  return hn::AllFalse(dd, seen);
}

// Narrows f64 straight from memory to memory; false where the values need a closer look.
template <class T>
bool narrow_all(std::byte* dst, const std::byte* src, std::int64_t count, bool saturate) {
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(df));
  if (count < lanes) return false;
  const auto* const from = reinterpret_cast<const double*>(src);
  auto* const to = reinterpret_cast<T*>(dst);
  auto seen = hn::MaskFromVec(hn::Zero(dd));
  const auto one_vector = [&](std::int64_t i) HWY_ATTR {
    const auto lower = odd_half(from + i, seen);
    const auto upper = odd_half(from + i + lanes / 2, seen);
    store(hn::Combine(df, upper, lower), saturate, to + i);
  };
  for (std::int64_t i = 0; i + lanes <= count; i += lanes) one_vector(i);
  one_vector(count - lanes);  // the last ones may be converted twice
  return hn::AllFalse(dd, seen);
}

bool narrow_small(Kind kind, std::byte* dst, const std::byte* src, std::int64_t count,
                  bool saturate) {
  return values::with_kind(kind, [&](auto type) {
    using T = typename decltype(type)::type;
    if constexpr (values::is_small_float<T>) return narrow_all<T>(dst, src, count, saturate);
    return false;
  });
}

// False where the values need a closer look.
bool store_wide(Kind kind, std::int64_t count, bool saturate, std::byte* to, WideBuffers& buffers) {
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(dd));
  for (std::int64_t i = count; i < count + lanes; ++i) buffers.y[i] = 0;
  if (kind == Kind::f64) {
    std::memcpy(to, buffers.y, static_cast<std::size_t>(count) * sizeof(double));
    return !saturate;
  }
  if (kind == Kind::i32) {
    auto inside = hn::Eq(hn::Zero(dd), hn::Zero(dd));
    auto* const whole = reinterpret_cast<std::int32_t*>(buffers.x);
    for (std::int64_t i = 0; i < count; i += lanes) {
      const auto v = hn::Load(dd, buffers.y + i);
      inside = hn::And(inside, hn::Lt(hn::Abs(v), hn::Set(dd, 2147483648.0)));
      hn::Store(hn::DemoteTo(half_int, v), half_int, whole + i);
    }
    std::memcpy(to, whole, static_cast<std::size_t>(count) * sizeof(std::int32_t));
    return hn::AllTrue(dd, inside);
  }
  if (kind == Kind::f32) {
    for (std::int64_t i = 0; i < count; i += lanes) {
      hn::Store(hn::DemoteTo(half, hn::Load(dd, buffers.y + i)), half, buffers.x + i);
    }
  } else if (!narrow_to_odd(buffers, count)) {
    return false;
  }
  store_small(kind, buffers.x, count, to, {saturate, false, {}});
  return true;
}

bool needs_f64(const Problem& problem) {
  const auto wide = [](Kind kind) {
    return kind == Kind::f64 || kind == Kind::i32 || kind == Kind::i64;
  };
  return wide(problem.src_type.kind()) || wide(problem.dst_type.kind());
}

void convert_wide(const Problem& problem, const ConvertRun& run) {
  const ConvertFunction singly =
      native_convert_function(problem.dst_type.kind(), problem.src_type.kind());
  const Kind src_kind = problem.src_type.kind();
  const Kind dst_kind = problem.dst_type.kind();
  const bool saturate = problem.values.overflow == Overflow::saturate;
  WideBuffers buffers;
  for (std::int64_t i = 0; i < run.count; i += chunk) {
    ConvertRun part = run;
    part.count = std::min(chunk, run.count - i);
    part.src = run.src + i * problem.src_type.size();
    part.dst = run.dst + i * problem.dst_type.size();
    // NaNs of f16 stay signalling on their way to f64, alone among all.
    if (src_kind == Kind::f64 && narrow_small(dst_kind, part.dst, part.src, part.count, saturate)) {
      continue;
    }
    const bool done = load_wide(src_kind, part.src, part.count, buffers) &&
                      (src_kind != Kind::f16 || !any_nan(buffers.y, part.count)) &&
                      store_wide(dst_kind, part.count, saturate, part.dst, buffers);
    if (!done) singly(problem, part);
  }
}

#endif

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace cornerturn::cpu
HWY_AFTER_NAMESPACE();

#endif  // per target
