// 64-bit arithmetic that refuses to wrap.
#pragma once

#include <cstdint>
#include <string>

#include "cornerturn/error.hpp"

namespace cornerturn {

[[noreturn]] inline void throw_overflow(const std::string& what) {
  throw Error(Status::overflow, what + " does not fit in 64 bits");
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

}  // namespace cornerturn
