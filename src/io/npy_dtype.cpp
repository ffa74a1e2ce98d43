#include "io/npy_dtype.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <optional>
#include <string>

#include "cornerturn/error.hpp"

namespace cornerturn::io {
namespace {

constexpr std::size_t shown_length = 60;

[[noreturn]] void refuse(std::string_view descr, const std::string& rule,
                         Status status = Status::invalid_argument) {
  std::string shown(descr.substr(0, shown_length));
  if (descr.size() > shown_length) shown += "...";
  for (char& c : shown) {
    if (static_cast<unsigned char>(c) < ' ') c = ' ';
  }
  throw Error(status, "dtype " + shown + " " + rule);
}

std::int64_t checked_product(std::int64_t a, std::int64_t b, std::string_view descr) {
  std::int64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) {
    refuse(descr, "has a size that does not fit in 64 bits", Status::overflow);
  }
  return product;
}

// Reads the digits at the start of `text`; nothing when there are none.
std::optional<std::int64_t> take_number(std::string_view& text, std::string_view descr) {
  std::optional<std::int64_t> number;
  while (!text.empty() && text.front() >= '0' && text.front() <= '9') {
    number = checked_product(number.value_or(0), 10, descr);
    if (__builtin_add_overflow(*number, text.front() - '0', &*number)) {
      refuse(descr, "has a size that does not fit in 64 bits", Status::overflow);
    }
    text.remove_prefix(1);
  }
  return number;
}

bool one_of(std::int64_t size, std::initializer_list<std::int64_t> sizes) {
  for (const std::int64_t candidate : sizes) {
    if (size == candidate) return true;
  }
  return false;
}

// "ns", "25s", "D" ... as in <M8[25s].
bool is_time_unit(std::string_view unit, std::string_view descr) {
  if (take_number(unit, descr) == 0) return false;
  if (const std::size_t slash = unit.find('/'); slash != std::string_view::npos) {
    std::string_view divisor = unit.substr(slash + 1);
    if (take_number(divisor, descr).value_or(0) == 0 || !divisor.empty()) return false;
    unit = unit.substr(0, slash);
  }
  for (const std::string_view known :
       {"Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns", "ps", "fs", "as", "generic"}) {
    if (unit == known) return true;
  }
  return false;
}

// "[25s]" behind <M8.
bool is_unit_in_brackets(std::string_view text, std::string_view descr) {
  return text.size() > 2 && text.front() == '[' && text.back() == ']' &&
         is_time_unit(text.substr(1, text.size() - 2), descr);
}

// Is there a type of this letter with this number behind it? -1: no number.
bool is_known(char kind, std::int64_t number) {
  switch (kind) {
    case 'b':
      return number == 1;
    case 'i':
    case 'u':
      return one_of(number, {1, 2, 4, 8, 16});
    case 'f':
      return one_of(number, {1, 2, 4, 8, 10, 12, 16});
    case 'c':
      return one_of(number, {4, 8, 16, 20, 24, 32});
    case 'm':
    case 'M':
      return number == 8;
    case 'S':
    case 'a':
    case 'V':
    case 'U':
      return number >= 0;
    default:
      return false;
  }
}

// What NumPy reads in the place of a code. Its own files have codes, those of other writers have
// any of these.
struct Alias {
  std::string_view name;
  std::string_view code;
};
constexpr std::string_view long_double = sizeof(long double) == 16   ? "f16"
                                         : sizeof(long double) == 12 ? "f12"
                                                                     : "f8";
constexpr std::string_view complex_long_double = sizeof(long double) == 16   ? "c32"
                                                 : sizeof(long double) == 12 ? "c24"
                                                                             : "c16";
constexpr std::string_view long_int = sizeof(long) == 8 ? "i8" : "i4";
constexpr std::string_view long_unsigned = sizeof(long) == 8 ? "u8" : "u4";
// With a byte order before them or without.
constexpr Alias letters[] = {{"?", "b1"}, {"b", "i1"},     {"B", "u1"},
                             {"h", "i2"}, {"H", "u2"},     {"i", "i4"},
                             {"I", "u4"}, {"l", long_int}, {"L", long_unsigned},
                             {"q", "i8"}, {"Q", "u8"},     {"e", "f2"},
                             {"f", "f4"}, {"d", "f8"},     {"g", long_double},
                             {"F", "c8"}, {"D", "c16"},    {"G", complex_long_double},
                             {"c", "S1"}, {"p", "i8"},     {"P", "u8"}};
constexpr Alias words[] = {{"bool", "b1"},
                           {"int8", "i1"},
                           {"byte", "i1"},
                           {"uint8", "u1"},
                           {"ubyte", "u1"},
                           {"int16", "i2"},
                           {"short", "i2"},
                           {"uint16", "u2"},
                           {"ushort", "u2"},
                           {"int32", "i4"},
                           {"intc", "i4"},
                           {"uint32", "u4"},
                           {"uintc", "u4"},
                           {"int64", "i8"},
                           {"int", "i8"},
                           {"intp", "i8"},
                           {"longlong", "i8"},
                           {"long", long_int},
                           {"uint64", "u8"},
                           {"uint", "u8"},
                           {"uintp", "u8"},
                           {"ulonglong", "u8"},
                           {"ulong", long_unsigned},
                           {"float16", "f2"},
                           {"half", "f2"},
                           {"float32", "f4"},
                           {"single", "f4"},
                           {"float64", "f8"},
                           {"double", "f8"},
                           {"float", "f8"},
                           {"longdouble", long_double},
                           {"complex64", "c8"},
                           {"csingle", "c8"},
                           {"complex128", "c16"},
                           {"cdouble", "c16"},
                           {"complex", "c16"},
                           {"clongdouble", complex_long_double}};

bool has_order(std::string_view code) {
  return !code.empty() && std::string_view("<>|=").find(code.front()) != std::string_view::npos;
}

// The code that a name stands for, with the byte order before it; a code stands for itself.
std::string code_of(std::string_view name) {
  const std::string_view order = name.substr(0, has_order(name) ? 1 : 0);
  for (const Alias& letter : letters) {
    if (name.substr(order.size()) == letter.name) {
      return std::string(order) + std::string(letter.code);
    }
  }
  for (const Alias& word : words) {
    if (name == word.name) return std::string(word.code);
  }
  for (const Alias& time : {Alias{"datetime64", "M8"}, Alias{"timedelta64", "m8"}}) {
    const std::string_view bare = name.substr(order.size());
    const std::string_view unit = bare.substr(std::min(bare.size(), time.name.size()));
    if (bare.substr(0, time.name.size()) == time.name && (unit.empty() || unit.front() == '[')) {
      return std::string(order) + std::string(time.code) + std::string(unit);
    }
  }
  return std::string(name);
}

std::int64_t simple_size(std::string_view name, std::string_view descr) {
  const std::string code = code_of(name);
  std::string_view rest = code;
  if (has_order(rest)) rest.remove_prefix(1);
  if (rest.empty()) refuse(descr, "is empty: a type such as '<f4' has to stand here");
  const char kind = rest.front();
  rest.remove_prefix(1);
  if (kind == 'O') {
    refuse(descr, "holds Python objects: only dtypes of a fixed size can be moved",
           Status::unsupported);
  }

  const std::int64_t number = take_number(rest, descr).value_or(-1);
  const bool time = kind == 'm' || kind == 'M';
  if (!is_known(kind, number) || !(rest.empty() || (time && is_unit_in_brackets(rest, descr)))) {
    refuse(descr, "is not a dtype of a fixed size");
  }
  return kind == 'U' ? checked_product(number, 4, descr) : number;
}

// A sub-array shape: one number or a tuple of numbers.
std::int64_t shape_product(const Literal& shape, std::string_view descr) {
  if (shape.type == Literal::Type::integer) {
    if (shape.integer < 0) refuse(descr, "has a negative extent in a sub-array shape");
    return shape.integer;
  }
  if (shape.type != Literal::Type::tuple) refuse(descr, "has a sub-array shape that is no tuple");
  std::int64_t product = 1;
  for (const Literal& extent : shape.items) {
    if (extent.type != Literal::Type::integer || extent.integer < 0) {
      refuse(descr, "has a sub-array shape whose extents are not all numbers from 0");
    }
    product = checked_product(product, extent.integer, descr);
  }
  return product;
}

struct Name {
  std::string_view code;
  Kind kind;
};
constexpr Name names[] = {{"b1", Kind::boolean}, {"i1", Kind::i8},  {"i2", Kind::i16},
                          {"i4", Kind::i32},     {"i8", Kind::i64}, {"u1", Kind::u8},
                          {"u2", Kind::u16},     {"u4", Kind::u32}, {"u8", Kind::u64},
                          {"f2", Kind::f16},     {"f4", Kind::f32}, {"f8", Kind::f64},
                          {"f1", Kind::f8_e5m2}, {"c8", Kind::c64}, {"c16", Kind::c128}};

// NumPy without ml_dtypes does not read "f1": it is not written.
char letter_of(Kind kind) {
  for (const Name& name : names) {
    if (name.kind == kind && kind != Kind::f8_e5m2) return name.code.front();
  }
  return 'V';
}

bool is_field_name(const Literal& name) {
  if (name.type == Literal::Type::string) return true;
  return name.type == Literal::Type::tuple && name.items.size() == 2 &&  // (title, name)
         name.items[1].type == Literal::Type::string;
}

}  // namespace

std::int64_t dtype_size(const Literal& descr) {
  const std::string_view text = descr.text;
  if (descr.type == Literal::Type::string) return simple_size(descr.string(), text);
  if (descr.type == Literal::Type::tuple) {
    if (descr.items.size() != 2) refuse(text, "is a tuple but not (dtype, shape)");
    return checked_product(dtype_size(descr.items[0]), shape_product(descr.items[1], text), text);
  }
  if (descr.type != Literal::Type::list) refuse(text, "is neither a string, a tuple nor a list");

  std::int64_t size = 0;
  for (const Literal& field : descr.items) {
    const std::size_t parts = field.type == Literal::Type::tuple ? field.items.size() : 0;
    if ((parts != 2 && parts != 3) || !is_field_name(field.items[0])) {
      refuse(text, "has a field that is not (name, dtype) or (name, dtype, shape)");
    }
    std::int64_t field_size = dtype_size(field.items[1]);
    if (parts == 3) {
      field_size = checked_product(field_size, shape_product(field.items[2], text), text);
    }
    if (__builtin_add_overflow(size, field_size, &size)) {
      refuse(text, "has a size that does not fit in 64 bits", Status::overflow);
    }
  }
  return size;
}

std::int64_t dtype_size(std::string_view descr) {
  if (!descr.empty() && std::string_view("'\"[(").find(descr.front()) != std::string_view::npos) {
    return dtype_size(parse_python_literal(descr));
  }
  return simple_size(descr, descr);
}

ElementType element_type_of(std::string_view descr, std::int64_t size) {
  if (descr.size() > 2 && (descr.front() == '\'' || descr.front() == '"')) {
    descr = descr.substr(1, descr.size() - 2);
  }
  const std::string code = code_of(descr);
  descr = code;
  constexpr char own = std::endian::native == std::endian::little ? '<' : '>';
  bool swapped = false;
  if (has_order(descr)) {
    swapped = (descr.front() == '<' || descr.front() == '>') && descr.front() != own;
    descr.remove_prefix(1);
  }
  for (const Name& name : names) {
    if (descr != name.code) continue;
    const ElementType native(name.kind);
    return swapped ? native.swapped() : native;
  }
  return ElementType::bytes(size);
}

ElementType value_type_of(std::string_view descr, std::int64_t size, std::string_view what) {
  if (size >= 1 && size <= ElementType::max_size) {
    const ElementType type = element_type_of(descr, size);
    if (type.kind() != Kind::bytes) return type;
  }
  throw Error(Status::unsupported,
              fmt::format("{}, {}, have no values that could be converted: bool, i8, i16, i32, "
                          "i64, u8, u16, u32, u64, f16, bf16, f32, f64, f8_e4m3, f8_e5m2, c64 and "
                          "c128 have",
                          what, descr));
}

std::string descr_of(ElementType type) {
  const bool little = (std::endian::native == std::endian::little) != type.is_swapped();
  const char order = little ? '<' : '>';
  const char kind = letter_of(type.kind());
  const bool one_byte = type.size() == 1 && kind != 'V';
  return fmt::format("'{}{}{}'", one_byte ? '|' : order, kind, type.size());
}

}  // namespace cornerturn::io
