#include "core/visible.hpp"

#include <cstddef>
#include <cstdint>

namespace cornerturn {
namespace {

struct Character {
  std::size_t bytes = 1;
  std::uint32_t code = 0;
  bool valid = false;
};

// The first character of `text`, which is not empty; one byte where it is not UTF-8.
Character first_character(std::string_view text) {
  const auto byte = [&](std::size_t i) {
    return i < text.size() ? static_cast<std::uint32_t>(static_cast<unsigned char>(text[i])) : 0U;
  };
  const std::uint32_t lead = byte(0);
  if (lead < 0x80) return {1, lead, true};
  const std::size_t bytes = lead < 0xc2 || lead > 0xf4 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  if (bytes == 1) return {};
  std::uint32_t code = lead & (0x7fU >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return {};
    code = code << 6 | (byte(i) & 0x3f);
  }
  const bool too_long = code < (bytes == 3 ? 0x800U : bytes == 4 ? 0x10000U : 0x80U);
  const bool surrogate = code >= 0xd800 && code < 0xe000;
  if (too_long || surrogate || code > 0x10ffff) return {};
  return {bytes, code, true};
}

bool is_harmless(const Character& c) {
  const auto within = [&](std::uint32_t first, std::uint32_t last) {
    return c.code >= first && c.code <= last;
  };
  const bool control = within(0, 0x1f) || within(0x7f, 0x9f);
  const bool direction =
      c.code == 0x61c || within(0x200e, 0x200f) || within(0x202a, 0x202e) || within(0x2066, 0x2069);
  const bool separator = within(0x2028, 0x2029);
  return c.valid && !control && !direction && !separator;
}

}  // namespace

std::string visible(std::string_view text, std::string_view kept) {
  static constexpr char digits[] = "0123456789abcdef";
  std::string shown;
  shown.reserve(text.size());
  while (!text.empty()) {
    const Character c = first_character(text);
    if (is_harmless(c) || kept.find(text.front()) != std::string_view::npos) {
      shown += text.substr(0, c.bytes);
    } else {
      for (const char part : text.substr(0, c.bytes)) {
        const auto byte = static_cast<unsigned char>(part);
        shown += "\\x";
        shown += digits[byte >> 4];
        shown += digits[byte & 15];
      }
    }
    text.remove_prefix(c.bytes);
  }
  return shown;
}

}  // namespace cornerturn
