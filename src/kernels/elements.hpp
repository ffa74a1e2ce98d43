// The types that stand for elements of 1, 2, 4, 8 and 16 bytes: bits, which nothing interprets.
#pragma once

#include <cstdint>

#include "kernels/context.hpp"

namespace cornerturn::kernels {

using Element16 = Vec<std::uint32_t, 4>;

/// Calls call(T{}) with the type of that size.
template <class Call>
auto with_element(int bytes, Call&& call) {
  switch (bytes) {
    case 1:
      return call(std::uint8_t{});
    case 2:
      return call(std::uint16_t{});
    case 4:
      return call(std::uint32_t{});
    case 8:
      return call(std::uint64_t{});
    default:
      return call(Element16{});
  }
}

}  // namespace cornerturn::kernels
