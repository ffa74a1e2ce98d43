// Any pattern: parse_pattern() throws Error, or gives a permutation.
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "cornerturn/error.hpp"
#include "io/pattern.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace cornerturn;
  if (size == 0) return 0;
  const int rank = data[0] % 66;
  const std::string_view pattern(reinterpret_cast<const char*>(data + 1), size - 1);
  try {
    const std::vector<int> axes = io::parse_pattern(pattern, rank);
    std::vector<bool> seen(static_cast<std::size_t>(rank), false);
    if (axes.size() != seen.size()) std::abort();
    for (const int axis : axes) {
      if (axis < 0 || axis >= rank || seen[static_cast<std::size_t>(axis)]) std::abort();
      seen[static_cast<std::size_t>(axis)] = true;
    }
  } catch (const Error&) {
  }
  return 0;
}
