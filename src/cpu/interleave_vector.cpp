// A vector of each array, interleaved in registers and stored, through a stage where whole lines go
// around the caches.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/interleave_vector.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <hwy/cache_control.h>

#include <array>
#include <cstring>
#include <utility>

#include "cpu/interleave_vector.hpp"
#include "cpu/stream-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace cornerturn::cpu::HWY_NAMESPACE {

template <int arrays>
using Sources = std::array<const std::byte*, arrays>;

// Elements [first, last) to `dst`, which is the place of the first.
template <class T, int arrays>
void interleave_elements(std::byte* dst, const Sources<arrays>& src, std::int64_t first,
                         std::int64_t last) {
  constexpr auto width = static_cast<std::int64_t>(sizeof(T));
  std::int64_t i = first;
#if HWY_TARGET != HWY_SCALAR
  const hn::CappedTag<T, 64 / sizeof(T)> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  for (; i + lanes <= last; i += lanes, dst += lanes * arrays * width) {
    const auto of = [&](int k) HWY_ATTR {
      return hn::LoadU(d, reinterpret_cast<const T*>(src[static_cast<std::size_t>(k)]) + i);
    };
    auto* const to = reinterpret_cast<T*>(dst);
    if constexpr (arrays == 2) hn::StoreInterleaved2(of(0), of(1), d, to);
    if constexpr (arrays == 3) hn::StoreInterleaved3(of(0), of(1), of(2), d, to);
    if constexpr (arrays == 4) hn::StoreInterleaved4(of(0), of(1), of(2), of(3), d, to);
  }
#endif
  for (; i < last; ++i) {
    for (const std::byte* from : src) {
      std::memcpy(dst, from + i * width, width);
      dst += width;
    }
  }
}

template <class T, int arrays>
void interleave_range(std::byte* dst, const Sources<arrays>& src, std::int64_t first,
                      std::int64_t last, bool past_caches) {
  constexpr std::int64_t bytes = sizeof(T) * arrays;
  dst += first * bytes;
  if (!past_caches) return interleave_elements<T, arrays>(dst, src, first, last);
  constexpr std::int64_t staged = 64 * 8;  // elements: whole vectors and lines
  alignas(line) std::byte stage[staged * bytes];
  LineWriter<true> writer(dst);
  for (; first < last; first += staged) {
    const std::int64_t count = HWY_MIN(staged, last - first);
    interleave_elements<T, arrays>(stage, src, first, first + count);
    writer.append(stage, count * bytes);
  }
  writer.finish();
  hwy::FlushStream();
}

template <class T>
void interleave_of(std::byte* dst, const void* const* src, int arrays, std::int64_t first,
                   std::int64_t last, bool past_caches) {
  const auto at = [&](int k) { return static_cast<const std::byte*>(src[k]); };
  if (arrays == 2) {
    return interleave_range<T, 2>(dst, {at(0), at(1)}, first, last, past_caches);
  }
  if (arrays == 3) {
    return interleave_range<T, 3>(dst, {at(0), at(1), at(2)}, first, last, past_caches);
  }
  interleave_range<T, 4>(dst, {at(0), at(1), at(2), at(3)}, first, last, past_caches);
}

void interleave_few(std::byte* dst, const void* const* src, int arrays, std::int64_t width,
                    std::int64_t first, std::int64_t last, bool past_caches) {
  if (width == 1) return interleave_of<std::uint8_t>(dst, src, arrays, first, last, past_caches);
  if (width == 2) return interleave_of<std::uint16_t>(dst, src, arrays, first, last, past_caches);
  if (width == 4) return interleave_of<std::uint32_t>(dst, src, arrays, first, last, past_caches);
  interleave_of<std::uint64_t>(dst, src, arrays, first, last, past_caches);
}

}  // namespace cornerturn::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cornerturn::cpu {

HWY_EXPORT(interleave_few);

bool interleaves_in_vectors(std::int64_t arrays, std::int64_t element_bytes) {
  return arrays >= 2 && arrays <= 4 && element_bytes <= 8 &&
         (element_bytes & (element_bytes - 1)) == 0;
}

void interleave_in_vectors(std::byte* dst, std::span<const void* const> arrays,
                           std::int64_t element_bytes, std::int64_t first, std::int64_t last,
                           bool past_caches) {
  HWY_DYNAMIC_DISPATCH(interleave_few)
  (dst, arrays.data(), static_cast<int>(arrays.size()), element_bytes, first, last, past_caches);
}

}  // namespace cornerturn::cpu
#endif
