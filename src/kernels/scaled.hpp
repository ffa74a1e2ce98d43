// Vectors of scales and biases in kernels that take rows and columns: y = (alpha * scale) * x +
// bias in f32, each rounded by itself, as values::Conversion has it.
//
// A kernel converts lines of elements that follow each other along its rows or its columns. The
// numbers of a vector that goes the same way are loaded for the whole line, others once for it.
#pragma once

#include <cmath>
#include <cstdint>

#include "kernels/casts.hpp"
#include "maps/fast_divide.hpp"

namespace cornerturn::kernels {

/// Which index chooses a vector's number: that of the row, of the column, or what both share.
enum class Along : std::uint8_t { rest, rows, columns };

/// A number for each index of one mode of a group, `first` elements into a vector and `step` apart.
struct GroupVector {
  const float* data = nullptr;
  bool present = false;
  Along along = Along::rest;
  FastDivide below;   ///< elements of the group's modes below
  FastDivide extent;  ///< of the mode; 1: one number for all
  std::int64_t step = 1;
  std::int64_t first = 0;

  CT_DEVICE bool goes(Along other) const { return present && along == other; }

  /// The number of an element of the group. `alone`: the group has no other modes.
  template <bool alone>
  CT_DEVICE const float* at(std::uint32_t place) const {
    if constexpr (!alone) {
      place = below.quotient(place);
      place -= extent.quotient(place) * extent.divisor;
    }
    return data + first + static_cast<std::int64_t>(place) * step;
  }

  /// The numbers of elements that follow each other, the first at a multiple of `count`.
  template <bool alone, int count, class Ctx>
  CT_DEVICE void load(Ctx& ctx, bool inside, std::uint32_t place, float (&to)[count]) const {
    if constexpr (alone && count % 4 == 0) {
      if (step == 1 && phase_of(data + first) == 0) {
        CT_UNROLL
        for (int i = 0; i < count; i += 4) {
          const auto four = ctx.load_if(inside, as_vec<4>(at<true>(place) + i));
          CT_UNROLL
          for (int k = 0; k < 4; ++k) to[i + k] = four[k];
        }
        return;
      }
    }
    CT_UNROLL
    for (int i = 0; i < count; ++i) {
      to[i] = ctx.load_if(inside, at<alone>(place + static_cast<std::uint32_t>(i)));
    }
  }
};

/// A Cast with all of the arithmetic.
template <class From, class To>
struct ScaledCast : Cast<From, To> {};
template <class Change>
inline constexpr bool is_scaled = false;
template <class S, class D>
inline constexpr bool is_scaled<ScaledCast<S, D>> = true;

/// What the elements of a line are multiplied by, alpha among it, and what is added to them.
template <int count>
struct Line {
  float factor[count];
  float bias[count];
};

/// The numbers of a block; for a Cast without vectors there are none.
template <class Change>
struct Scaling {
  template <class Ctx, class Args>
  CT_DEVICE Scaling(Ctx&, const Args&, std::uint32_t) {}
  template <Along, bool, int, class Ctx, class Args>
  CT_DEVICE int line(Ctx&, const Args&, bool, std::uint32_t) const {
    return 0;
  }
  template <Along, class Args>
  CT_DEVICE int with(const Args&, int, int, int) const {
    return 0;
  }
};
template <class S, class D>
struct Scaling<ScaledCast<S, D>> {
  float factor;
  float bias;

  /// `number`: of what rows and columns share.
  template <class Ctx, class Args>
  CT_DEVICE Scaling(Ctx& ctx, const Args& a, std::uint32_t number) : factor(a.values.alpha) {
    // Adding -0 changes no value, 0 would change -0.
    bias = a.values.addend != 0 ? a.values.addend : -0.0F;
    if (a.scale.goes(Along::rest)) {
      factor = values::product(factor, ctx.load(a.scale.template at<false>(number)));
    }
    if (a.bias.goes(Along::rest)) bias = ctx.load(a.bias.template at<false>(number));
  }

  /// The numbers of elements that follow each other along rows or columns.
  template <Along along, bool alone, int count, class Ctx, class Args>
  CT_DEVICE Line<count> line(Ctx& ctx, const Args& a, bool inside, std::uint32_t place) const {
    Line<count> to;
    CT_UNROLL
    for (int i = 0; i < count; ++i) to.factor[i] = factor, to.bias[i] = bias;
    if (a.scale.goes(along)) {
      a.scale.template load<alone>(ctx, inside, place, to.factor);
      CT_UNROLL
      for (int i = 0; i < count; ++i) {
        to.factor[i] = values::product(a.values.alpha, to.factor[i]);
      }
    }
    if (a.bias.goes(along)) a.bias.template load<alone>(ctx, inside, place, to.bias);
    return to;
  }

  /// The line, where number `i` of `across` is that of all of its elements.
  template <Along along, int count, int others, class Args>
  CT_DEVICE Line<count> with(const Args& a, Line<count> line, const Line<others>& across,
                             int i) const {
    CT_UNROLL
    for (int k = 0; k < count; ++k) {
      line.factor[k] = a.scale.goes(along) ? across.factor[i] : line.factor[k];
      line.bias[k] = a.bias.goes(along) ? across.bias[i] : line.bias[k];
    }
    return line;
  }
};

/// The elements of some words as f32, two at a time by the GPU's instructions: whether they can do
/// it. NaNs may lose their sign.
template <class S, int words, int count>
CT_DEVICE bool widen_at_once(const Vec<std::uint32_t, words>& from, float (&to)[count]) {
#if defined(__CUDA_ARCH__)
  if constexpr (values::has_widening<S>) {
    constexpr int size = static_cast<int>(sizeof(S));
    constexpr int of_word = 4 / size;
    CT_UNROLL
    for (int i = 0; i < count; i += 2) {
      values::widen_pair<S>(from[i / of_word] >> 8 * size * (i % of_word), to[i], to[i + 1]);
    }
    return true;
  } else {
    return false;
  }
#else
  (void)from, (void)to;
  return false;
#endif
}

/// values::integer_of<std::int8_t>, by one conversion to 32 bits. From 2^31 on the lower bits of
/// an f32 are 0.
CT_DEVICE std::uint8_t i8_of(float y, bool saturates) {
  float inside = y == y ? fminf(fmaxf(y, -128.0F), 127.0F) : 0.0F;
  if (!saturates) inside = fabsf(y) < 2147483648.0F ? y : 0.0F;
  return static_cast<std::uint8_t>(static_cast<std::int32_t>(inside));
}

/// A line of f32, rounded to type D.
template <class D, int count, class Args>
CT_DEVICE PackedWords<D, count> rounded(const Args& a, const float (&y)[count]) {
  if constexpr (values::is_small_float<D>) {
    PackedWords<D, count> to{};
    if (narrow_at_once<D>(a.values.limit, y, to)) return to;
  }
  Bits<D> results[count];
  CT_UNROLL
  for (int i = 0; i < count; ++i) {
    if constexpr (std::is_same_v<D, std::int8_t>) {
      results[i] = i8_of(y[i], a.values.overflow == Overflow::saturate);
    } else {
      const float number = values::is_nan(y[i]) ? the_nan(y[i]) : y[i];
      results[i] = values::bits_as<Bits<D>>(values::convert<D>(number, a.values.overflow));
    }
  }
  return packed(results);
}

/// A line of elements, each changed: without vectors, and with those of a Line.
template <class Change, int words, class Args>
CT_DEVICE auto changed(const Args& a, const Vec<std::uint32_t, words>& from, int) {
  return changed<Change>(a, from);
}
template <class Change, int words, int count, class Args>
CT_DEVICE auto changed(const Args& a, const Vec<std::uint32_t, words>& from,
                       const Line<count>& line) {
  float y[count];
  if (!widen_at_once<typename Change::S>(from, y)) {
    CT_UNROLL
    for (int i = 0; i < count; ++i) {
      y[i] = Change::as_f32(element_of<typename Change::Src>(from, i));
    }
  }
  CT_UNROLL
  for (int i = 0; i < count; ++i) {
    y[i] = values::sum(values::product(line.factor[i], y[i]), line.bias[i]);
  }
  return rounded<typename Change::D>(a, y);
}

/// Calls call.operator()<Change>() with what becomes of values, or answers false.
template <class Args, class Call>
bool with_change(const Args& a, Call&& call) {
  const ValueType src = a.values.src, dst = a.values.dst;
  if (!a.scale.present && !a.bias.present && with_cast(src, dst, call)) return true;
  return with_scaled_cast(src, dst, [&]<class Pair>() {
    call.template operator()<ScaledCast<typename Pair::S, typename Pair::D>>();
  });
}

}  // namespace cornerturn::kernels
