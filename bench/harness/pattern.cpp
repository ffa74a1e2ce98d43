#include "harness/pattern.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>

#include "workshop/cuda/ordinary_values.hpp"

namespace cornerturn::bench {
namespace {

constexpr unsigned char poison = 0xA5;

template <class T>
void fill_typed(void* buffer, std::int64_t bytes) {
  T* out = static_cast<T*>(buffer);
  const auto n = static_cast<std::uint64_t>(bytes) / sizeof(T);
  for (std::uint64_t i = 0; i < n; ++i) out[i] = ordinary_value<T>(i);
}

// Other sizes: the words of element e are number e * words and following; the last one is cut.
void fill_wide(void* buffer, std::int64_t bytes, int element_bytes) {
  auto* out = static_cast<unsigned char*>(buffer);
  const std::int64_t words = (element_bytes + 7) / 8;
  for (std::int64_t e = 0; e < bytes / element_bytes; ++e) {
    for (std::int64_t w = 0; w < words; ++w) {
      const std::uint64_t value = golden_word(static_cast<std::uint64_t>(e * words + w));
      std::memcpy(out + e * element_bytes + w * 8, &value,
                  static_cast<std::size_t>(std::min<std::int64_t>(8, element_bytes - w * 8)));
    }
  }
}

// Compares `n` elements, `dst_step` and `src_step` elements apart, and returns the first that is
// wrong, or n. Counting first keeps the loop free of branches.
template <class T>
std::int64_t check_run_typed(const void* dst, std::int64_t dst_index, std::int64_t dst_step,
                             std::int64_t src_index, std::int64_t src_step, std::int64_t n) {
  const T* in = static_cast<const T*>(dst) + dst_index;
  std::int64_t wrong = 0;
  if (dst_step == 1) {
    for (std::int64_t i = 0; i < n; ++i) {
      wrong += in[i] != ordinary_value<T>(static_cast<std::uint64_t>(src_index + i * src_step));
    }
  } else {
    for (std::int64_t i = 0; i < n; ++i) {
      wrong += in[i * dst_step] !=
               ordinary_value<T>(static_cast<std::uint64_t>(src_index + i * src_step));
    }
  }
  if (wrong == 0) return n;
  std::int64_t i = 0;
  while (in[i * dst_step] ==
         ordinary_value<T>(static_cast<std::uint64_t>(src_index + i * src_step)))
    ++i;
  return i;
}

std::int64_t check_run_wide(const void* dst, std::int64_t dst_index, std::int64_t dst_step,
                            std::int64_t src_index, std::int64_t src_step, std::int64_t n,
                            int element_bytes) {
  const auto* in = static_cast<const unsigned char*>(dst);
  const std::int64_t words = (element_bytes + 7) / 8;
  for (std::int64_t i = 0; i < n; ++i) {
    const unsigned char* element = in + (dst_index + i * dst_step) * element_bytes;
    for (std::int64_t w = 0; w < words; ++w) {
      const auto number = static_cast<std::uint64_t>((src_index + i * src_step) * words + w);
      const std::uint64_t value = golden_word(number);
      const auto size = static_cast<std::size_t>(std::min<std::int64_t>(8, element_bytes - w * 8));
      if (std::memcmp(element + w * 8, &value, size) != 0) return i;
    }
  }
  return n;
}

std::int64_t check_run(const Case& c, const void* dst, std::int64_t dst_index,
                       std::int64_t src_index, std::int64_t dst_step, std::int64_t src_step,
                       std::int64_t n) {
  switch (c.element_bytes) {
    case 1:
      return check_run_typed<std::uint8_t>(dst, dst_index, dst_step, src_index, src_step, n);
    case 2:
      return check_run_typed<std::uint16_t>(dst, dst_index, dst_step, src_index, src_step, n);
    case 4:
      return check_run_typed<std::uint32_t>(dst, dst_index, dst_step, src_index, src_step, n);
    case 8:
      return check_run_typed<std::uint64_t>(dst, dst_index, dst_step, src_index, src_step, n);
    default:
      return check_run_wide(dst, dst_index, dst_step, src_index, src_step, n, c.element_bytes);
  }
}

// Calls run(index, src_index, dst_index) for every index whose last `inner` entries are 0, in the
// order of the shape, until run returns false.
template <class Run>
void for_each_run(const Case& c, std::size_t inner, Run run) {
  const std::size_t outer = c.shape.size() - inner;
  std::vector<std::int64_t> index(c.shape.size(), 0);
  std::int64_t src = c.src_offset;
  std::int64_t dst = c.dst_offset;
  while (run(index, src, dst)) {
    std::size_t k = outer;
    for (; k-- > 0;) {
      src += c.src_strides[k];
      dst += c.dst_strides[k];
      if (++index[k] < c.shape[k]) break;
      src -= c.src_strides[k] * c.shape[k];
      dst -= c.dst_strides[k] * c.shape[k];
      index[k] = 0;
    }
    if (k == static_cast<std::size_t>(-1)) return;
  }
}

}  // namespace

void fill_pattern(void* buffer, std::int64_t bytes, int element_bytes) {
  switch (element_bytes) {
    case 1:
      return fill_typed<std::uint8_t>(buffer, bytes);
    case 2:
      return fill_typed<std::uint16_t>(buffer, bytes);
    case 4:
      return fill_typed<std::uint32_t>(buffer, bytes);
    case 8:
      return fill_typed<std::uint64_t>(buffer, bytes);
    default:
      return fill_wide(buffer, bytes, element_bytes);
  }
}

void fill_poison(void* buffer, std::int64_t bytes) {
  std::memset(buffer, poison, static_cast<std::size_t>(bytes));
}

std::string check_elements(const Case& c, const void* dst) {
  // The last mode, alone or joined with those that continue it on both sides, is the inner loop.
  std::size_t inner = 0;
  std::int64_t n = 1;
  std::int64_t src_step = 1;
  std::int64_t dst_step = 1;
  for (std::size_t k = c.shape.size(); k-- > 0; ++inner) {
    if (inner == 0) {
      src_step = c.src_strides[k];
      dst_step = c.dst_strides[k];
    } else if (c.src_strides[k] != src_step * n || c.dst_strides[k] != dst_step * n) {
      break;
    }
    n *= c.shape[k];
  }
  std::string complaint;
  for_each_run(
      c, inner, [&](std::vector<std::int64_t>& index, std::int64_t src, std::int64_t dst_i) {
        const std::int64_t good = check_run(c, dst, dst_i, src, dst_step, src_step, n);
        if (good == n) return true;
        std::int64_t rest = good;
        for (std::size_t k = c.shape.size(); k-- > c.shape.size() - inner; rest /= c.shape[k]) {
          index[k] = rest % c.shape[k];
        }
        complaint = fmt::format("the element at index ({}) is not source element {}",
                                fmt::join(index, ","), src + good * src_step);
        return false;
      });
  return complaint;
}

std::string check_gaps(const Case& c, void* dst, std::int64_t bytes) {
  auto* out = static_cast<unsigned char*>(dst);
  for_each_run(c, 0, [&](const auto&, std::int64_t, std::int64_t dst_index) {
    std::memset(out + dst_index * c.element_bytes, poison,
                static_cast<std::size_t>(c.element_bytes));
    return true;
  });
  // All bytes equal their neighbour and the first one is poison: all are poison.
  if (bytes == 0 ||
      (out[0] == poison && std::memcmp(out, out + 1, static_cast<std::size_t>(bytes - 1)) == 0)) {
    return "";
  }
  const auto* wrong = std::find_if(out, out + bytes, [](unsigned char b) { return b != poison; });
  return fmt::format("byte {} of the destination belongs to no element and was written",
                     wrong - out);
}

}  // namespace cornerturn::bench
