// Random views of memory: a window of a permuted array with steps, mirrored and repeated axes.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "core/problem.hpp"
#include "cornerturn/view.hpp"
#include "support/byte_order.hpp"
#include "values/convert.hpp"

namespace cornerturn::test {

/// A real value as f64.
inline double number_at(Kind kind, const std::byte* from) {
  return values::with_kind(kind, [&]<class T>(values::Type<T>) {
    if constexpr (values::is_complex<T>) {
      return 0.0;
    } else {
      T value;
      std::memcpy(&value, from, sizeof value);
      return values::convert<double>(value, Overflow::standard);
    }
  });
}

struct StridedView {
  std::vector<std::byte> memory;  ///< elements of `size` bytes lie at multiples of `size`
  std::int64_t first = 0;         ///< where the view begins, in bytes
  std::int64_t size;
  Extents shape;
  Extents strides;

  /// The first element begins `bytes` past a multiple of `size`, if those are given.
  StridedView(std::mt19937& random, std::int64_t element, std::int64_t bytes = 0) : size(element) {
    const auto draw = [&](std::int64_t from, std::int64_t to) {
      return std::uniform_int_distribution<std::int64_t>(from, to)(random);
    };
    const std::int64_t rank = draw(0, 4);
    std::int64_t stride = size;
    std::int64_t low = 0;
    for (std::int64_t i = 0; i < rank; ++i) {
      const std::int64_t extent = draw(0, 40) == 0 ? 0 : draw(1, i == 0 ? 200 : 9);
      const std::int64_t step = draw(0, 3) == 0 ? draw(0, 3) : 1;
      const bool mirrored = draw(0, 3) == 0;
      shape.push_back(extent);
      strides.push_back(mirrored ? -stride * step : stride * step);
      if (mirrored) low += stride * step * std::max<std::int64_t>(extent - 1, 0);
      stride *= std::max<std::int64_t>(1, extent * step + draw(0, 1));
    }
    std::vector<std::size_t> order(shape.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::shuffle(order.begin(), order.end(), random);
    const Extents old_shape = shape, old_strides = strides;
    for (std::size_t i = 0; i < order.size(); ++i) {
      shape[i] = old_shape[order[i]];
      strides[i] = old_strides[order[i]];
    }
    first = low + size * draw(0, 3) + bytes;
    memory.resize(static_cast<std::size_t>(first + stride + size));
  }

  const std::byte* data() const { return memory.data() + first; }
  bool is_empty() const { return std::find(shape.begin(), shape.end(), 0) != shape.end(); }

  /// Any bits, but for NaNs, unless they are wanted.
  void fill(ElementType type, std::mt19937& random, bool with_nans) {
    const auto end = static_cast<std::int64_t>(memory.size());
    for (std::int64_t at = first % size; at + size <= end; at += size) {
      do {
        for (std::int64_t b = 0; b < size; ++b) {
          memory[static_cast<std::size_t>(at + b)] = static_cast<std::byte>(random());
        }
      } while (!with_nans && std::isnan(number_at(type.kind(), memory.data() + at)));
      turn_bytes(type, memory.data() + at);
    }
  }

  std::string text() const {
    std::string result = "byte " + std::to_string(first) + ", extents and strides";
    for (std::size_t i = 0; i < shape.size(); ++i) {
      result += " " + std::to_string(shape[i]) + ":" + std::to_string(strides[i]);
    }
    return result;
  }
};

}  // namespace cornerturn::test
