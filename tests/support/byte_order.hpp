// Values whose bytes stand in the other order: the obvious way to turn them round.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "cornerturn/element_type.hpp"

namespace cornerturn::test {

/// Reverses the bytes of the element at `at`, those of a complex value part by part, if the type is
/// swapped.
inline void turn_bytes(ElementType type, std::byte* at) {
  if (!type.is_swapped()) return;
  const bool complex = type.kind() == Kind::c64 || type.kind() == Kind::c128;
  const int part = complex ? type.size() / 2 : type.size();
  for (int i = 0; i < type.size(); i += part) std::reverse(at + i, at + i + part);
}

/// The element at `from` in the machine's order.
template <class T>
T loaded_in_order(ElementType type, const std::byte* from) {
  std::byte bytes[sizeof(T)];
  std::memcpy(bytes, from, sizeof bytes);
  turn_bytes(type, bytes);
  T value;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

template <class T>
void store_in_order(ElementType type, const T& value, std::byte* to) {
  std::byte bytes[sizeof(T)];
  std::memcpy(bytes, &value, sizeof bytes);
  turn_bytes(type, bytes);
  std::memcpy(to, bytes, sizeof bytes);
}

}  // namespace cornerturn::test
