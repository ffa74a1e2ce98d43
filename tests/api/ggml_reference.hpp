// ggml's copy operator as its own source has it, element by element, with tensors of the types that
// are converted.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "cornerturn/cornerturn.hpp"

namespace cornerturn::ggml_reference {

// f16 and bf16 from any number, rounded once, by the book.
template <int mantissa_bits, int least_exponent>
std::uint16_t small_float(long double x) {
  constexpr int bias = 1 - least_exponent;
  constexpr unsigned sign = 0x8000U, infinity = (2U * bias + 1) << mantissa_bits;
  const unsigned negative = std::signbit(x) ? sign : 0;
  const long double magnitude = std::fabs(x);
  if (magnitude == 0) return static_cast<std::uint16_t>(negative);
  const int exponent = std::max(std::ilogb(magnitude), least_exponent);
  // In units of the last place: 2^mantissa_bits stands for 1.0.
  const auto units = static_cast<unsigned>(
      std::nearbyint(std::ldexp(magnitude, mantissa_bits - std::min(exponent, bias + 1))));
  const unsigned code = (static_cast<unsigned>(exponent - least_exponent) << mantissa_bits) + units;
  return static_cast<std::uint16_t>(negative | std::min(code, infinity));
}
template <int mantissa_bits, int least_exponent>
long double from_small_float(std::uint16_t bits) {
  constexpr int hidden = 1 << mantissa_bits;
  const int exponent = (bits & 0x7fff) >> mantissa_bits;
  const int fraction = bits & (hidden - 1);
  const int units = exponent == 0 ? fraction : fraction + hidden;
  const long double magnitude = std::ldexp(
      static_cast<long double>(units), least_exponent - mantissa_bits + std::max(exponent - 1, 0));
  return (bits & 0x8000) != 0 ? -magnitude : magnitude;
}

template <class T>
T loaded(const std::uint8_t* at) {
  T value;
  std::memcpy(&value, at, sizeof(T));
  return value;
}
template <class T>
void stored(std::uint8_t* at, T value) {
  std::memcpy(at, &value, sizeof(T));
}

inline int bytes_of(GgmlType type) {
  switch (type) {
    case GgmlType::i8:
      return 1;
    case GgmlType::f16:
    case GgmlType::bf16:
    case GgmlType::i16:
      return 2;
    case GgmlType::f32:
    case GgmlType::i32:
      return 4;
    case GgmlType::i64:
    case GgmlType::f64:
      return 8;
    case GgmlType::mxfp4:
      return 17;
    case GgmlType::q4_0:
    case GgmlType::iq4_nl:
      return 18;
    case GgmlType::q4_1:
      return 20;
    case GgmlType::q5_0:
      return 22;
    case GgmlType::q5_1:
      return 24;
    case GgmlType::q8_0:
      return 34;
    case GgmlType::nvfp4:
      return 36;
  }
  return 0;
}

// A long double holds every value of every type.
inline long double load(GgmlType type, const std::uint8_t* at) {
  switch (type) {
    case GgmlType::f32:
      return loaded<float>(at);
    case GgmlType::f64:
      return loaded<double>(at);
    case GgmlType::f16:
      return from_small_float<10, -14>(loaded<std::uint16_t>(at));
    case GgmlType::bf16:
      return from_small_float<7, -126>(loaded<std::uint16_t>(at));
    case GgmlType::i8:
      return loaded<std::int8_t>(at);
    case GgmlType::i16:
      return loaded<std::int16_t>(at);
    case GgmlType::i32:
      return loaded<std::int32_t>(at);
    default:
      return static_cast<long double>(loaded<std::int64_t>(at));
  }
}

inline void store(GgmlType type, std::uint8_t* at, long double x) {
  const auto whole = [&] { return static_cast<std::int64_t>(x); };
  switch (type) {
    case GgmlType::f32:
      return stored(at, static_cast<float>(x));
    case GgmlType::f64:
      return stored(at, static_cast<double>(x));
    case GgmlType::f16:
      return stored(at, small_float<10, -14>(x));
    case GgmlType::bf16:
      return stored(at, small_float<7, -126>(x));
    case GgmlType::i8:
      return stored(at, static_cast<std::int8_t>(whole()));
    case GgmlType::i16:
      return stored(at, static_cast<std::int16_t>(whole()));
    case GgmlType::i32:
      return stored(at, static_cast<std::int32_t>(whole()));
    default:
      return stored(at, whole());
  }
}

// The place of element i, or of its block, counted with i0 the fastest.
inline std::int64_t place(const GgmlTensor& t, std::int64_t i) {
  std::int64_t index[4];
  for (int d = 0; d < 4; ++d) {
    index[d] = i % t.ne[d];
    i /= t.ne[d];
  }
  if (t.type == GgmlType::q8_0) index[0] /= 32;
  std::int64_t offset = 0;
  for (int d = 0; d < 4; ++d) offset += index[d] * static_cast<std::int64_t>(t.nb[d]);
  return offset;
}
inline std::uint8_t* address(const GgmlTensor& t, std::int64_t i) {
  return static_cast<std::uint8_t*>(t.data) + place(t, i);
}
inline std::int64_t count(const GgmlTensor& t) {
  return t.ne[0] * t.ne[1] * t.ne[2] * t.ne[3];
}

// What ggml computes: element i of the source is element i of the destination; 32 of them a block.
inline void reference(const GgmlTensor& dst, const GgmlTensor& src) {
  const bool to_blocks = dst.type == GgmlType::q8_0, from_blocks = src.type == GgmlType::q8_0;
  for (std::int64_t i = 0; i < count(src); i += to_blocks || from_blocks ? 32 : 1) {
    if (to_blocks && from_blocks) {
      std::memcpy(address(dst, i), address(src, i), 34);
    } else if (to_blocks) {
      float x[32], amax = 0;
      for (int j = 0; j < 32; ++j) {
        x[j] = static_cast<float>(load(src.type, address(src, i + j)));
        amax = std::max(amax, std::fabs(x[j]));
      }
      const float d = amax / 127, inverse = d == 0 ? 0 : 1 / d;
      store(GgmlType::f16, address(dst, i), d);
      for (int j = 0; j < 32; ++j) {
        stored(address(dst, i) + 2 + j, static_cast<std::int8_t>(std::round(x[j] * inverse)));
      }
    } else if (from_blocks) {
      const std::uint8_t* block = address(src, i);
      const auto d = static_cast<float>(load(GgmlType::f16, block));
      for (int j = 0; j < 32; ++j) {
        const float x = d * static_cast<float>(load(GgmlType::i8, block + 2 + j));
        store(dst.type, address(dst, i + j), x);
      }
    } else {
      store(dst.type, address(dst, i), load(src.type, address(src, i)));
    }
  }
}

}  // namespace cornerturn::ggml_reference
