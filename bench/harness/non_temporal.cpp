// The non-temporal copy loop, compiled once for each instruction set.
#include <algorithm>
#include <cstring>

#include "harness/copies.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "harness/non_temporal.cpp"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace cornerturn::bench::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

void copy_part(void* dst, const void* src, std::size_t bytes) {
  const hn::ScalableTag<std::uint8_t> d;
  const std::size_t n = hn::Lanes(d);
  auto* out = static_cast<std::uint8_t*>(dst);
  const auto* in = static_cast<const std::uint8_t*>(src);
  std::size_t i = 0;
  for (; i + 4 * n <= bytes; i += 4 * n) {
    const auto v0 = hn::LoadU(d, in + i);
    const auto v1 = hn::LoadU(d, in + i + n);
    const auto v2 = hn::LoadU(d, in + i + 2 * n);
    const auto v3 = hn::LoadU(d, in + i + 3 * n);
    hn::Stream(v0, d, out + i);
    hn::Stream(v1, d, out + i + n);
    hn::Stream(v2, d, out + i + 2 * n);
    hn::Stream(v3, d, out + i + 3 * n);
  }
  std::memcpy(out + i, in + i, bytes - i);
  hwy::FlushStream();
}

const char* target_name() {
  return hwy::TargetName(HWY_TARGET);
}

}  // namespace cornerturn::bench::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cornerturn::bench {

HWY_EXPORT(copy_part);
HWY_EXPORT(target_name);

void copy_non_temporal(Team& team, void* dst, const void* src, std::int64_t bytes) {
  copy_in_parts(team, dst, src, bytes, [](std::byte* to, const std::byte* from, std::size_t size) {
    HWY_DYNAMIC_DISPATCH(copy_part)(to, from, size);
  });
}

const char* non_temporal_target() {
  return HWY_DYNAMIC_DISPATCH(target_name)();
}

}  // namespace cornerturn::bench
#endif  // HWY_ONCE
