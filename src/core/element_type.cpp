#include "cornerturn/element_type.hpp"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <charconv>

#include "cornerturn/error.hpp"

namespace cornerturn {
namespace {

struct Named {
  Kind kind;
  int size;
  std::string_view name;
  std::string_view alias;  // NumPy's word
  std::string_view code;   // and its code behind "<" or ">"
};

constexpr std::array<Named, 17> named_types{{
    {Kind::boolean, 1, "bool", "bool", "b1"},
    {Kind::i8, 1, "i8", "int8", "i1"},
    {Kind::i16, 2, "i16", "int16", "i2"},
    {Kind::i32, 4, "i32", "int32", "i4"},
    {Kind::i64, 8, "i64", "int64", "i8"},
    {Kind::u8, 1, "u8", "uint8", "u1"},
    {Kind::u16, 2, "u16", "uint16", "u2"},
    {Kind::u32, 4, "u32", "uint32", "u4"},
    {Kind::u64, 8, "u64", "uint64", "u8"},
    {Kind::f16, 2, "f16", "float16", "f2"},
    {Kind::bf16, 2, "bf16", "bfloat16", "bf16"},
    {Kind::f32, 4, "f32", "float32", "f4"},
    {Kind::f64, 8, "f64", "float64", "f8"},
    {Kind::f8_e4m3, 1, "f8_e4m3", "float8_e4m3fn", ""},
    {Kind::f8_e5m2, 1, "f8_e5m2", "float8_e5m2", ""},
    {Kind::c64, 8, "c64", "complex64", "c8"},
    {Kind::c128, 16, "c128", "complex128", "c16"},
}};

const Named& find(Kind kind) {
  for (const Named& type : named_types) {
    if (type.kind == kind) return type;
  }
  throw Error(Status::invalid_argument,
              fmt::format("kind = {} has no size of its own: use ElementType::bytes(size)",
                          static_cast<int>(kind)));
}

constexpr char order_of(bool swapped) {
  return (std::endian::native == std::endian::little) == swapped ? '>' : '<';
}

}  // namespace

ElementType::ElementType(Kind kind) : ElementType(kind, find(kind).size) {}

ElementType ElementType::bytes(std::int64_t size) {
  if (size < 1 || size > max_size) {
    throw Error(Status::invalid_argument,
                fmt::format("element size = {} is out of range: 1 to {} bytes", size, max_size));
  }
  return ElementType(Kind::bytes, static_cast<int>(size));
}

ElementType ElementType::parse(std::string_view name) {
  for (const Named& type : named_types) {
    if (name == type.name || name == type.alias) return ElementType(type.kind, type.size);
  }
  if (name.size() > 1 && (name[0] == '<' || name[0] == '>')) {
    for (const Named& type : named_types) {
      if (name.substr(1) != type.code) continue;
      const ElementType native(type.kind, type.size);
      return name[0] == order_of(false) ? native : native.swapped();
    }
  }
  if (name.size() > 1 && name[0] == 'b') {
    int size = 0;
    const auto [end, error] = std::from_chars(name.data() + 1, name.data() + name.size(), size);
    if (error == std::errc() && end == name.data() + name.size()) return bytes(size);
  }
  std::string known;
  for (const Named& type : named_types) known += fmt::format("{}, ", type.name);
  throw Error(
      Status::invalid_argument,
      fmt::format("element type '{}' is unknown: use one of {}b1 to b{} for bytes, or NumPy's "
                  "codes in either order of bytes: '<f4', '>i8' ...",
                  name, known, max_size));
}

ElementType ElementType::swapped() const noexcept {
  ElementType other = *this;
  other.swapped_ = kind_ != Kind::bytes && size_ > 1 && !swapped_;
  return other;
}

std::string ElementType::name() const {
  if (kind_ == Kind::bytes) return fmt::format("b{}", size_);
  const Named& type = find(kind_);
  return swapped_ ? fmt::format("{}{}", order_of(true), type.code) : std::string(type.name);
}

}  // namespace cornerturn
