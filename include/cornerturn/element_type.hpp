// What an element is: a named type, or a fixed number of bytes that are moved unread.
#pragma once

#include <complex>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

#include "cornerturn/export.hpp"

namespace cornerturn {

/// Named element types. `bytes` stands for any fixed size from 1 to 256 bytes.
enum class Kind : std::uint8_t {
  bytes,
  boolean,
  i8,
  i16,
  i32,
  i64,
  u8,
  u16,
  u32,
  u64,
  f16,
  bf16,
  f32,
  f64,
  f8_e4m3,
  f8_e5m2,
  c64,
  c128,
};

/// The type of an element: its kind, its size, and the order of its bytes, which is the machine's
/// own unless the type is swapped. Elements of one size are moved alike; between two types that
/// differ in nothing but their order, bytes are swapped on the way.
class CT_API ElementType {
 public:
  static constexpr int max_size = 256;

  /// A named type. Throws for Kind::bytes, which needs a size.
  explicit ElementType(Kind kind);

  /// Elements of `size` bytes that are moved unread. Throws unless 1 <= size <= 256.
  static ElementType bytes(std::int64_t size);

  /// The type called `name`: "f32", "bf16", "u8", "c64", "bool", "f8_e4m3" ... or "b12" for 12
  /// bytes. It may also be spelled "float32", "int8", "uint16", "complex64" ... After "<" or ">",
  /// which say that the first byte is the lowest or the highest, comes NumPy's code: ">f4", "<i8",
  /// ">c16"; ">bf16" is for what NumPy has no code.
  static ElementType parse(std::string_view name);

  /// The type of a C++ arithmetic or complex type; `bytes(sizeof(T))` for any other trivially
  /// copyable type.
  template <class T>
  static ElementType of();

  Kind kind() const noexcept { return kind_; }
  int size() const noexcept { return size_; }

  /// Do the bytes of a value stand in the other order than the machine's?
  bool is_swapped() const noexcept { return swapped_; }
  /// This type with its bytes in the other order, those of a complex value in each of its
  /// parts. Elements of one byte, and plain bytes, have no order: they stay what they are.
  ElementType swapped() const noexcept;

  /// "f32", "bf16", ... or "b12"; of a swapped type ">f4", or "<f4" where the machine's order is
  /// ">".
  std::string name() const;

  friend bool operator==(const ElementType&, const ElementType&) = default;

 private:
  constexpr ElementType(Kind kind, int size) noexcept
      : kind_(kind), size_(static_cast<std::uint16_t>(size)) {}

  Kind kind_;
  bool swapped_ = false;
  std::uint16_t size_;
};

template <class T>
ElementType ElementType::of() {
  static_assert(std::is_trivially_copyable_v<T>, "elements are moved as bytes");
  static_assert(sizeof(T) <= max_size, "an element has at most 256 bytes");
  if constexpr (std::is_same_v<T, bool>) {
    return ElementType(Kind::boolean);
  } else if constexpr (std::is_same_v<T, float>) {
    return ElementType(Kind::f32);
  } else if constexpr (std::is_same_v<T, double>) {
    return ElementType(Kind::f64);
  } else if constexpr (std::is_same_v<T, std::complex<float>>) {
    return ElementType(Kind::c64);
  } else if constexpr (std::is_same_v<T, std::complex<double>>) {
    return ElementType(Kind::c128);
  } else if constexpr (std::is_integral_v<T> && sizeof(T) <= 8) {
    constexpr Kind kinds[2][4] = {{Kind::u8, Kind::u16, Kind::u32, Kind::u64},
                                  {Kind::i8, Kind::i16, Kind::i32, Kind::i64}};
    return ElementType(kinds[std::is_signed_v<T>][sizeof(T) == 1   ? 0
                                                  : sizeof(T) == 2 ? 1
                                                  : sizeof(T) == 4 ? 2
                                                                   : 3]);
  } else {
    return ElementType::bytes(sizeof(T));
  }
}

}  // namespace cornerturn
