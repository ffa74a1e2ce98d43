#include "io/size.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <string_view>

#include "cornerturn/error.hpp"

namespace cornerturn::io {

std::int64_t parse_size(const std::string& name, const std::string& text) {
  const std::size_t digits = text.find_first_not_of("0123456789");
  std::int64_t value = 0;
  const char* end = text.data() + std::min(digits, text.size());
  const bool is_number = std::from_chars(text.data(), end, value).ec == std::errc();
  std::string unit = digits == std::string::npos ? "" : text.substr(digits);
  if (!unit.empty() && unit.front() == ' ') unit.erase(0, 1);
  std::transform(unit.begin(), unit.end(), unit.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  constexpr std::string_view scales = "kmgt";
  std::int64_t factor = 1;
  bool known = unit.empty() || unit == "b";
  if (!known) {
    const std::size_t power = scales.find(unit.front());
    const std::string rest = unit.substr(1);
    known = power != std::string_view::npos && (rest.empty() || rest == "ib" || rest == "b");
    for (std::size_t i = 0; known && i <= power; ++i) factor *= rest == "b" ? 1000 : 1024;
  }
  std::int64_t bytes = 0;
  if (!is_number || !known || __builtin_mul_overflow(value, factor, &bytes)) {
    throw Error(Status::invalid_argument,
                fmt::format("{} = '{}' is not a size such as 512MiB, 2G or 1000000", name, text));
  }
  return bytes;
}

}  // namespace cornerturn::io
