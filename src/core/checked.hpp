// 64-bit arithmetic that refuses to wrap.
#pragma once

#include <cstdint>
#include <string>

#include "cornerturn/error.hpp"

namespace cornerturn {

[[noreturn]] inline void throw_overflow(const std::string& what) {
  throw Error(Status::overflow, what + " does not fit in 64 bits");
}

/// Bytes that an array has and reaches over at most. No memory is that large, and sums and small
/// multiples of what stays below fit in 64 bits: what plans a problem needs no checks.
constexpr std::int64_t most_bytes = std::int64_t{1} << 60;

inline void check_bytes(std::int64_t bytes, const auto& what) {
  if (bytes > most_bytes) throw Error(Status::overflow, what() + " is larger than 2^60 bytes");
}

/// a + b, or an Error that says `what` overflowed. `what` is any callable that returns a string, so
/// that the text is made only when it is needed.
template <class What>
std::int64_t checked_add(std::int64_t a, std::int64_t b, const What& what) {
  std::int64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) throw_overflow(what());
  return sum;
}

template <class What>
std::int64_t checked_mul(std::int64_t a, std::int64_t b, const What& what) {
  std::int64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) throw_overflow(what());
  return product;
}

/// Is `product` that of a and b? One that does not fit in 64 bits is equal to none.
inline bool is_product(std::int64_t product, std::int64_t a, std::int64_t b) {
  std::int64_t exact = 0;
  return !__builtin_mul_overflow(a, b, &exact) && exact == product;
}

}  // namespace cornerturn
