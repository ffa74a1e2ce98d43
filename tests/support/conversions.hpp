// Problems whose values change, and the one obvious implementation of what becomes of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#include "core/problem.hpp"
#include "support/byte_order.hpp"
#include "support/shapes.hpp"
#include "values/epilogue.hpp"

namespace cornerturn::test {

inline const std::vector<Kind>& kinds() {
  static const std::vector<Kind> all = {
      Kind::boolean, Kind::i8,  Kind::i16,  Kind::i32,     Kind::i64,     Kind::u8,
      Kind::u16,     Kind::u32, Kind::u64,  Kind::f16,     Kind::bf16,    Kind::f32,
      Kind::f64,     Kind::c64, Kind::c128, Kind::f8_e4m3, Kind::f8_e5m2,
  };
  return all;
}

inline bool can_convert(Kind from, Kind to) {
  const auto is_complex = [](Kind kind) { return kind == Kind::c64 || kind == Kind::c128; };
  return is_complex(to) || !is_complex(from);
}

/// The problem of `shape`, from elements of one type to those of another.
inline Problem converting(const Shape& shape, Kind from, Kind to) {
  Problem problem;
  problem.src_type = ElementType(from);
  problem.dst_type = ElementType(to);
  const Problem src = problem_of(shape, problem.src_type.size());
  const Problem dst = problem_of(shape, problem.dst_type.size());
  for (int i = 0; i < src.rank(); ++i) {
    problem.modes.push_back(
        {src.modes[i].extent, src.modes[i].src_stride, dst.modes[i].dst_stride});
  }
  return problem;
}

namespace detail {

template <class D, class S>
void convert_modes(const Problem& problem, const Vectors& vectors,
                   const values::Conversion<D, S>& conversion, int mode, std::int64_t from,
                   std::int64_t to, std::int64_t scale, std::int64_t bias, const std::byte* src,
                   std::byte* dst) {
  if (mode < problem.rank()) {
    const Mode& m = problem.modes[mode];
    for (std::int64_t i = 0; i < m.extent; ++i) {
      convert_modes(problem, vectors, conversion, mode + 1, from + i * m.src_stride,
                    to + i * m.dst_stride,
                    scale + (problem.scale.mode == mode ? i * problem.scale.step : 0),
                    bias + (problem.bias.mode == mode ? i * problem.bias.step : 0), src, dst);
    }
    return;
  }
  const S value = loaded_in_order<S>(problem.src_type, src + from);
  const D old = loaded_in_order<D>(problem.dst_type, dst + to);
  const auto place =
      static_cast<std::uint64_t>((to - problem.dst_offset) / static_cast<std::int64_t>(sizeof(D)));
  const D result = conversion(value, problem.scale.present ? vectors.scale[scale] : 1.0F,
                              problem.bias.present ? vectors.bias[bias] : 0.0F, old, place);
  store_in_order(problem.dst_type, result, dst + to);
}

}  // namespace detail

/// One element at a time; the problem must be normalised where places count.
inline void reference_convert(const Problem& problem, const Vectors& vectors, const std::byte* src,
                              std::byte* dst) {
  values::with_kind(problem.src_type.kind(), [&]<class S>(values::Type<S>) {
    values::with_kind(problem.dst_type.kind(), [&]<class D>(values::Type<D>) {
      if constexpr (values::converts<D, S>) {
        const values::Conversion<D, S> conversion(problem.values, problem.scale.present,
                                                  problem.bias.present);
        detail::convert_modes(problem, vectors, conversion, 0, problem.src_offset,
                              problem.dst_offset, problem.scale.first, problem.bias.first, src,
                              dst);
      }
    });
  });
}

/// The problem with the bytes of one side, or of both, in the other order: `turn` chooses.
inline Problem swapped_in_turn(Problem problem, int turn) {
  if (turn % 3 != 0) problem.src_type = problem.src_type.swapped();
  if (turn % 3 != 1) problem.dst_type = problem.dst_type.swapped();
  return problem;
}

/// Pairs of types that have kernels with vectors of scales and biases.
inline const std::vector<std::pair<Kind, Kind>>& scaled_pairs() {
  static const std::vector<std::pair<Kind, Kind>> all = {
      {Kind::f32, Kind::i8},      {Kind::f32, Kind::f8_e4m3}, {Kind::f32, Kind::bf16},
      {Kind::f32, Kind::f16},     {Kind::f16, Kind::i8},      {Kind::f16, Kind::f8_e4m3},
      {Kind::f16, Kind::f32},     {Kind::bf16, Kind::i8},     {Kind::bf16, Kind::f8_e4m3},
      {Kind::bf16, Kind::f32},    {Kind::i8, Kind::f32},      {Kind::i8, Kind::bf16},
      {Kind::i8, Kind::f16},      {Kind::f8_e4m3, Kind::f32}, {Kind::f8_e4m3, Kind::bf16},
      {Kind::f8_e4m3, Kind::f16},
  };
  return all;
}

/// Scales and biases of every size, among them some that are infinite and NaN.
inline std::vector<float> scale_values(std::size_t count, float first) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) {
    values[i] = (i % 3 == 0 ? -first : first) * static_cast<float>(i % 37) / 32;
    if (i % 29 == 3) values[i] = std::numeric_limits<float>::infinity();
    if (i % 31 == 5) values[i] = std::numeric_limits<float>::quiet_NaN();
    if (i % 23 == 7) values[i] = 1e-40F;
  }
  return values;
}

/// The problem with a scale, a bias or both: `turn` chooses modes, alpha, and what overflows. The
/// last number that is used is the last of vectors of so many.
inline Problem with_vectors(Problem problem, int turn, std::int64_t numbers) {
  const auto along = [&](int mode, std::int64_t step) {
    const std::int64_t extent = problem.modes[mode].extent;
    return ModeVector{true, mode, step, step < 0 ? extent - 1 : numbers - extent};
  };
  const int rank = problem.rank();
  const int mode = turn % rank;
  if (turn % 4 != 1) problem.scale = along(mode, turn % 5 == 4 ? -1 : 1);
  if (turn % 4 != 2) problem.bias = along((mode + turn / rank) % rank, 1);
  if (turn % 7 == 6) problem.bias = {true, -1, 1, 9};
  if (turn % 3 != 0) problem.values.alpha = 0.37;
  if (turn % 2 == 0) problem.values.overflow = Overflow::saturate;
  return problem;
}

/// Bits of every kind, and every fourth element a value of moderate size.
inline void fill_values(Kind kind, std::byte* at, std::int64_t bytes, std::uint64_t state = 7) {
  for (std::int64_t i = 0; i < bytes; ++i) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    at[i] = static_cast<std::byte>(state >> 56);
  }
  values::with_kind(kind, [&]<class T>(values::Type<T>) {
    if constexpr (std::is_floating_point_v<T>) {
      for (std::int64_t i = 0; i + 4 * static_cast<std::int64_t>(sizeof(T)) <= bytes;
           i += 4 * static_cast<std::int64_t>(sizeof(T))) {
        const auto some = static_cast<T>(static_cast<double>(state >> 40) / 65536.0 - 100);
        state = state * 6364136223846793005ULL + 1442695040888963407ULL;
        std::memcpy(at + i, &some, sizeof(T));
      }
    }
  });
}

}  // namespace cornerturn::test
