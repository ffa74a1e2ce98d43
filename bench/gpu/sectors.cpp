#include "gpu/sectors.hpp"

#include <algorithm>
#include <cstdlib>
#include <vector>

namespace cornerturn::bench {
namespace {

constexpr std::int64_t sector = 32;

std::int64_t touched(const Case& c, const std::vector<std::int64_t>& strides, std::int64_t offset,
                     std::int64_t span) {
  std::vector<bool> seen(static_cast<std::size_t>((span + sector - 1) / sector));
  const auto mark = [&](std::int64_t first_byte, std::int64_t last_byte) {
    std::fill(seen.begin() + first_byte / sector, seen.begin() + last_byte / sector + 1, true);
  };
  // The mode with the shortest stride is the inner loop: where it steps over no sector, one mark.
  std::size_t inner = 0;
  for (std::size_t k = 1; k < strides.size(); ++k) {
    if (c.shape[inner] == 1 ||
        (c.shape[k] > 1 && std::abs(strides[k]) < std::abs(strides[inner]))) {
      inner = k;
    }
  }
  const std::int64_t steps = strides.empty() ? 1 : c.shape[inner];
  const std::int64_t step = strides.empty() ? 0 : strides[inner] * c.element_bytes;
  std::vector<std::int64_t> index(strides.size(), 0);
  std::int64_t at = offset * c.element_bytes;
  for (;;) {
    if (std::abs(step) <= sector) {
      const std::int64_t end = at + (steps - 1) * step;
      mark(std::min(at, end), std::max(at, end) + c.element_bytes - 1);
    } else {
      for (std::int64_t i = 0; i < steps; ++i) {
        mark(at + i * step, at + i * step + c.element_bytes - 1);
      }
    }
    std::size_t k = strides.size();
    while (k-- > 0) {
      if (k == inner) continue;
      at += strides[k] * c.element_bytes;
      if (++index[k] < c.shape[k]) break;
      at -= strides[k] * c.shape[k] * c.element_bytes;
      index[k] = 0;
    }
    if (k == static_cast<std::size_t>(-1)) break;
  }
  return sector * std::count(seen.begin(), seen.end(), true);
}

}  // namespace

std::int64_t sector_bytes(const Case& c) {
  return touched(c, c.src_strides, c.src_offset, c.src_span_bytes()) +
         touched(c, c.dst_strides, c.dst_offset, c.dst_span_bytes());
}

}  // namespace cornerturn::bench
