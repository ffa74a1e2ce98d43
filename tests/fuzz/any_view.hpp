// Views of the C interface with any numbers that a caller may give, and memory for those that fit.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "cornerturn/cornerturn.h"
#include "cornerturn/element_type.hpp"
#include "cornerturn/error.hpp"
#include "fuzz/input.hpp"

namespace cornerturn::fuzz {

using Wide = __int128;
inline constexpr std::int64_t memory_bytes = 1 << 13;
inline constexpr const char* types[] = {"f32", "u8",  "f16",     "bf16",    "i8",  "b34", "f64",
                                        "i64", "c64", "f8_e4m3", "f8_e5m2", "b3",  "b16", "bool",
                                        "u16", "i32", "c128",    "b256",    "f33", ""};

// Bytes that the sanitizer guards, filled from a seed.
struct Memory {
  std::vector<std::byte> bytes = std::vector<std::byte>(memory_bytes);
  explicit Memory(std::uint64_t state) {
    for (std::byte& byte : bytes) {
      state = state * 6364136223846793005ULL + 1442695040888963407ULL;
      byte = static_cast<std::byte>(state >> 56);
    }
  }
};

// A view with all that it points to. Where its elements do not fit the memory it has no address.
struct AnyView {
  std::array<std::int64_t, CT_MAX_RANK + 2> shape{};
  std::array<std::int64_t, CT_MAX_RANK + 2> strides{};
  const char* type = nullptr;
  int rank = 0;
  bool packed = false;
  std::byte* data = nullptr;

  template <class View>
  View as() const {
    View view{};
    view.data = data;
    view.type = type;
    view.rank = rank;
    view.shape = shape.data();
    view.strides = packed ? nullptr : strides.data();
    return view;
  }
  std::int64_t stride(int axis, std::int64_t size) const {
    if (!packed) return strides[static_cast<std::size_t>(axis)];
    std::int64_t step = size;
    for (int i = rank; --i > axis;) step *= shape[static_cast<std::size_t>(i)];
    return step;
  }
};

inline std::int64_t size_of(const char* type) {
  try {
    return ElementType::parse(type).size();
  } catch (const Error&) {
    return 0;
  }
}

// Bytes before and after the first element; nothing where there is no saying, or too much to do.
struct Span {
  std::int64_t low, high;
};
inline std::optional<Span> span_of(const AnyView& view) {
  const std::int64_t size = size_of(view.type);
  if (size == 0 || view.rank < 0 || view.rank > CT_MAX_RANK) return std::nullopt;
  Wide low = 0, high = size, count = 1;
  for (int i = 0; i < view.rank; ++i) {
    const std::int64_t extent = view.shape[static_cast<std::size_t>(i)];
    if (extent < 1 || extent > memory_bytes) return std::nullopt;
    count *= extent;
    if (count > 4 * memory_bytes) return std::nullopt;
  }
  for (int i = 0; i < view.rank; ++i) {
    const std::int64_t extent = view.shape[static_cast<std::size_t>(i)];
    const Wide far = Wide{view.stride(i, size)} * (extent - 1);
    (far < 0 ? low : high) += far;
  }
  if (high - low > memory_bytes) return std::nullopt;
  return Span{static_cast<std::int64_t>(low), static_cast<std::int64_t>(high)};
}

inline void place(Input& input, AnyView& view, Memory& memory) {
  const std::optional<Span> span = span_of(view);
  if (!span) return;
  const std::int64_t room = memory_bytes - (span->high - span->low);
  view.data = memory.bytes.data() + (input.one_in(2) ? 0 : input.uniform(0, room)) - span->low;
}

inline std::int64_t extent_of(Input& input) {
  constexpr std::int64_t some[] = {1, 2, 3, 5, 8, 31, 32, 33, 64, 96, 7, 17, 4, 0, -1};
  return input.one_in(16) ? input.word() : input.of(some);
}

inline void lay_out(Input& input, AnyView& view) {
  view.packed = input.one_in(3);
  const bool any = input.one_in(12);
  std::int64_t step = std::max<std::int64_t>(size_of(view.type), 1);
  const bool first_fastest = input.one_in(2);
  const int axes = std::clamp(view.rank, 0, CT_MAX_RANK);
  for (int i = 0; i < axes; ++i) {
    const auto axis = static_cast<std::size_t>(first_fastest ? i : axes - 1 - i);
    view.strides[axis] = any ? input.word() : step;
    const std::uint8_t how = input.byte();
    if (how % 16 == 1) view.strides[axis] = -step;
    if (how % 32 == 2) view.strides[axis] = 0;
    if (how % 8 == 3) step += how / 8;
    if (__builtin_mul_overflow(step, std::max<std::int64_t>(view.shape[axis], 1), &step)) step = 7;
  }
}

inline AnyView any_view(Input& input, Memory& memory) {
  AnyView view;
  view.type = input.one_in(40) ? nullptr : input.of(types);
  constexpr int odd_ranks[] = {-1, 64, 65, 100000000};
  view.rank = input.one_in(24) ? input.of(odd_ranks) : static_cast<int>(input.uniform(0, 4));
  for (int i = 0; i < std::clamp(view.rank, 0, CT_MAX_RANK); ++i) {
    view.shape[static_cast<std::size_t>(i)] = view.rank > 4 ? 1 : extent_of(input);
  }
  if (view.type == nullptr) return view;
  lay_out(input, view);
  place(input, view, memory);
  return view;
}

// A view of the same shape, mostly.
inline AnyView partner(Input& input, const AnyView& other, Memory& memory) {
  if (input.one_in(12)) return any_view(input, memory);
  AnyView view = other;
  view.data = nullptr;
  if (input.one_in(2)) view.type = input.of(types);
  if (view.type == nullptr) return view;
  lay_out(input, view);
  place(input, view, memory);
  return view;
}

}  // namespace cornerturn::fuzz
