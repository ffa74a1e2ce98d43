#include <fmt/format.h>

#include <charconv>
#include <cstdlib>
#include <string_view>

#include "core/visible.hpp"
#include "cornerturn/error.hpp"
#include "cuda/crossing.hpp"

namespace cornerturn::cuda {

std::int64_t most_pinned_bytes() {
  constexpr std::int64_t usual = 64 << 20;
  constexpr std::int64_t least = 1 << 20;
  const char* text = std::getenv("CORNERTURN_PINNED");
  if (text == nullptr || *text == '\0') return usual;
  const std::string_view all = text;
  std::int64_t bytes = 0;
  const auto [end, error] = std::from_chars(all.begin(), all.end(), bytes);
  if (error == std::errc() && end == all.end() && bytes >= least) return bytes;
  throw Error(Status::invalid_argument,
              fmt::format("CORNERTURN_PINNED = '{}' is no number of bytes from {} on",
                          visible(all.substr(0, 40)), least));
}

}  // namespace cornerturn::cuda
