#include "io/npy.hpp"

#include <algorithm>
#include <array>

#include "core/problem.hpp"
#include "cornerturn/error.hpp"
#include "io/npy_dtype.hpp"
#include "io/python_literal.hpp"

namespace cornerturn::io {
namespace {

constexpr std::string_view magic = "\x93NUMPY";
constexpr std::size_t alignment = 64;
// NumPy leaves room for the longest 64-bit extent, so that an array can grow in place.
constexpr std::size_t growth_digits = 21;

std::size_t length_bytes(int version) {
  return version == 1 ? 2 : 4;
}

[[noreturn]] void refuse(const std::string& message, Status status = Status::invalid_argument) {
  throw Error(status, message);
}

bool is_utf8(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const auto lead = static_cast<unsigned char>(text[i++]);
    const int more = lead < 0x80                   ? 0
                     : lead >= 0xc2 && lead < 0xe0 ? 1
                     : lead >= 0xe0 && lead < 0xf0 ? 2
                     : lead >= 0xf0 && lead < 0xf5 ? 3
                                                   : -1;
    if (more < 0) return false;
    for (int k = 0; k < more; ++k, ++i) {
      if (i >= text.size() || (static_cast<unsigned char>(text[i]) & 0xc0) != 0x80) return false;
    }
  }
  return true;
}

std::vector<std::int64_t> parse_shape(const Literal& literal) {
  if (literal.type != Literal::Type::tuple) {
    refuse("header key 'shape' = " + std::string(literal.text.substr(0, 60)) + " is not a tuple");
  }
  std::vector<std::int64_t> shape;
  for (const Literal& extent : literal.items) {
    const std::string name = "shape[" + std::to_string(shape.size()) + "]";
    if (extent.type != Literal::Type::integer) {
      refuse(name + " = " + std::string(extent.text.substr(0, 60)) + " is not a number");
    }
    if (extent.integer < 0) {
      refuse(name + " = " + std::to_string(extent.integer) + " is negative");
    }
    shape.push_back(extent.integer);
  }
  if (shape.size() > static_cast<std::size_t>(max_rank)) {
    refuse("shape has rank " + std::to_string(shape.size()) + ", the most is " +
           std::to_string(max_rank));
  }
  return shape;
}

// The dictionary's text, and the version of the format.
std::string_view header_text(std::string_view bytes, int& version) {
  const auto data_offset = static_cast<std::size_t>(npy_data_offset(bytes));
  if (bytes.size() < data_offset) refuse("is truncated in its header");
  version = static_cast<unsigned char>(bytes[npy_version_offset]);
  const std::size_t begin = magic.size() + 2 + length_bytes(version);
  std::string_view text = bytes.substr(begin, data_offset - begin);
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.remove_suffix(1);
  if (text.find('\0') != std::string_view::npos) refuse("header holds a zero byte");
  if (version == 3 && !is_utf8(text)) refuse("header of version 3.0 is not UTF-8");
  return text;
}

struct Entries {
  Literal descr;
  Literal order;
  Literal shape;
};

Entries entries_of(std::string_view text) {
  const Literal dict = parse_python_literal(text);
  if (dict.type != Literal::Type::dict) refuse("header is not a dictionary");
  constexpr std::array<std::string_view, 3> keys = {"descr", "fortran_order", "shape"};
  std::array<const Literal*, 3> found = {};
  for (std::size_t i = 0; i + 1 < dict.items.size(); i += 2) {
    const std::string_view key = dict.items[i].string();
    const auto slot =
        static_cast<std::size_t>(std::find(keys.begin(), keys.end(), key) - keys.begin());
    if (slot == keys.size() || found[slot] != nullptr) {
      refuse("header key '" + std::string(key.substr(0, 60)) +
             "' is unknown or repeated: descr, fortran_order and shape stand there once");
    }
    found[slot] = &dict.items[i + 1];
  }
  for (std::size_t slot = 0; slot < keys.size(); ++slot) {
    if (found[slot] == nullptr) refuse("header has no key '" + std::string(keys[slot]) + "'");
  }
  return {*found[0], *found[1], *found[2]};
}

}  // namespace

std::int64_t npy_data_offset(std::string_view preamble) {
  if (preamble.substr(0, magic.size()) != magic) {
    refuse("is not a .npy file: its first bytes are not \\x93NUMPY");
  }
  if (preamble.size() < magic.size() + 2) refuse("is truncated in its header");
  const int major = static_cast<unsigned char>(preamble[npy_version_offset]);
  const int minor = static_cast<unsigned char>(preamble[7]);
  if ((major & npy_unfinished) != 0) {
    refuse(
        "is in the middle of a transposition in place, and the mark at its end, which names the "
        "journal, is lost: put back a copy of the file");
  }
  if (major < 1 || major > 3 || minor != 0) {
    refuse("has .npy version " + std::to_string(major) + "." + std::to_string(minor) +
           ": 1.0, 2.0 and 3.0 are known");
  }
  const std::size_t digits = length_bytes(major);
  if (preamble.size() < magic.size() + 2 + digits) refuse("is truncated in its header");
  std::int64_t length = 0;
  for (std::size_t i = 0; i < digits; ++i) {
    length |= std::int64_t{static_cast<unsigned char>(preamble[8 + i])} << (8 * i);
  }
  if (length > max_npy_header) {
    refuse("has a header of " + std::to_string(length) + " bytes, the most is " +
           std::to_string(max_npy_header));
  }
  return length + static_cast<std::int64_t>(magic.size() + 2 + digits);
}

NpyHeader parse_npy_header(std::string_view bytes) {
  NpyHeader header;
  const std::string_view text = header_text(bytes, header.version);
  const Entries entries = entries_of(text);
  if (entries.order.type != Literal::Type::boolean) {
    refuse("header key 'fortran_order' = " + std::string(entries.order.text.substr(0, 60)) +
           " is neither True nor False");
  }
  header.descr = std::string(entries.descr.text);
  header.item_size = dtype_size(entries.descr);
  header.fortran_order = entries.order.integer != 0;
  header.shape = parse_shape(entries.shape);
  array_bytes(header.shape, header.item_size);
  return header;
}

namespace {

// The dictionary, without the spaces after it.
std::string dictionary_text(const NpyHeader& header) {
  return "{'descr': " + header.descr +
         ", 'fortran_order': " + (header.fortran_order ? "True" : "False") +
         ", 'shape': " + shape_text(header.shape) + ", }";
}

// All that stands in front of the array, with spaces up to its end.
std::string padded_header(std::string text, int version, std::size_t end) {
  const std::size_t begin = magic.size() + 2 + length_bytes(version);
  text.append(end - begin - text.size() - 1, ' ');
  text += '\n';
  std::string bytes(magic);
  bytes += static_cast<char>(version);
  bytes += '\0';
  for (std::size_t i = 0; i < length_bytes(version); ++i) {
    bytes += static_cast<char>(text.size() >> (8 * i) & 0xff);
  }
  return bytes + text;
}

}  // namespace

std::string format_npy_header(const NpyHeader& header) {
  std::string text = dictionary_text(header);
  if (!header.shape.empty()) {
    const std::int64_t growing = header.fortran_order ? header.shape.back() : header.shape.front();
    const std::size_t digits = std::to_string(growing).size();
    text.append(growth_digits - std::min(growth_digits, digits), ' ');
  }
  int version = header.version;
  const auto padded_end = [&](int v) {
    const std::size_t end = magic.size() + 2 + length_bytes(v) + text.size() + 1;
    return (end + alignment - 1) / alignment * alignment;
  };
  if (version == 1 && padded_end(1) - magic.size() - 4 > 0xffff) version = 2;
  const std::size_t end = padded_end(version);
  return padded_header(std::move(text), version, end);
}

std::string format_npy_header(const NpyHeader& header, std::int64_t bytes) {
  std::string text = dictionary_text(header);
  const std::size_t least = magic.size() + 2 + length_bytes(header.version) + text.size() + 1;
  if (static_cast<std::size_t>(bytes) < least) {
    refuse("has a header of " + std::to_string(bytes) + " bytes, the new one needs " +
           std::to_string(least));
  }
  return padded_header(std::move(text), header.version, static_cast<std::size_t>(bytes));
}

std::string descr_text(const NpyHeader& header) {
  if (header.version == 3) return header.descr;
  std::string text;
  for (const char c : header.descr) {
    const auto code = static_cast<unsigned char>(c);
    if (code < 0x80) {
      text += c;
    } else {
      text += static_cast<char>(0xc0 | code >> 6);
      text += static_cast<char>(0x80 | (code & 0x3f));
    }
  }
  return text;
}

std::int64_t array_bytes(const std::vector<std::int64_t>& shape, std::int64_t item_size) {
  // Zero extents make an empty array, however large the others are.
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return 0;
  std::int64_t bytes = item_size;
  for (const std::int64_t extent : shape) {
    if (__builtin_mul_overflow(bytes, extent, &bytes)) {
      throw Error(Status::overflow, "shape " + shape_text(shape) + " of " +
                                        std::to_string(item_size) +
                                        "-byte elements has more bytes than fit in 64 bits");
    }
  }
  return bytes;
}

std::string shape_text(const std::vector<std::int64_t>& shape) {
  std::string text = "(";
  for (std::size_t i = 0; i < shape.size(); ++i) {
    text += (i ? ", " : "") + std::to_string(shape[i]);
  }
  return text + (shape.size() == 1 ? ",)" : ")");
}

}  // namespace cornerturn::io
