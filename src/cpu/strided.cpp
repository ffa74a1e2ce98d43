// strided: picks elements that lie a step apart in the source: every second column, one channel of
// a few, one value for all, a mirrored row. They are put together in the first-level cache, from
// where whole lines leave.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/strided.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <hwy/cache_control.h>

#include "cpu/kernel.hpp"
#include "cpu/stream-inl.hpp"
#include "plan/cpu/strided.hpp"

HWY_BEFORE_NAMESPACE();
namespace cornerturn::cpu::HWY_NAMESPACE {

constexpr std::int64_t picked_bytes = 2048;

// Elements 0, 2, 4, ... of `src`. Reads nothing behind the last of them.
template <int width>
HWY_INLINE std::int64_t pick_pairs([[maybe_unused]] std::byte* dst,
                                   [[maybe_unused]] const std::byte* src,
                                   [[maybe_unused]] std::int64_t count) {
  std::int64_t i = 0;
#if HWY_TARGET != HWY_SCALAR
  if constexpr (width <= 8) {
    using T = hwy::UnsignedFromSize<width>;
    const hn::ScalableTag<T> d;
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
    for (; i + lanes < count; i += lanes) {
      hn::VFromD<decltype(d)> even;
      hn::VFromD<decltype(d)> odd;
      hn::LoadInterleaved2(d, reinterpret_cast<const T*>(src + 2 * i * width), even, odd);
      hn::StoreU(even, d, reinterpret_cast<T*>(dst + i * width));
    }
  }
#endif
  return i;
}

template <int width, bool non_temporal>
void pick(const std::byte* src, std::int64_t src_stride, bool pairs, std::int64_t count,
          LineWriter<non_temporal>& writer) {
  alignas(64) std::byte picked[picked_bytes];
  while (count > 0) {
    const std::int64_t part = HWY_MIN(count, picked_bytes / width);
    std::int64_t i = pairs ? pick_pairs<width>(picked, src, part) : 0;
    for (; i < part; ++i) std::memcpy(picked + i * width, src + i * src_stride, width);
    writer.append(picked, part * width);
    src += part * src_stride;
    count -= part;
  }
}

template <int width, bool non_temporal>
void run_strided_with(const plan::StridedConfig& config, const Problem& normal, std::byte* dst,
                      const std::byte* src, std::int64_t first, std::int64_t last) {
  const Mode& fastest = normal.modes.back();
  const std::int64_t chunks = (fastest.extent + config.chunk - 1) / config.chunk;
  LineWriter<non_temporal> writer(nullptr);
  for (std::int64_t piece = first; piece < last; ++piece) {
    const std::int64_t begin = piece % chunks * config.chunk;
    std::int64_t rest = piece / chunks;
    const std::byte* from = src + begin * fastest.src_stride;
    std::byte* to = dst + begin * width;
    for (int i = normal.rank() - 1; i-- > 0;) {
      const Mode& mode = normal.modes[i];
      from += rest % mode.extent * mode.src_stride;
      to += rest % mode.extent * mode.dst_stride;
      rest /= mode.extent;
    }
    if (to != writer.end()) {
      writer.finish();
      writer = LineWriter<non_temporal>(to);
    }
    pick<width>(from, fastest.src_stride, config.pairs,
                HWY_MIN(config.chunk, fastest.extent - begin), writer);
  }
  writer.finish();
  if (non_temporal) hwy::FlushStream();
}

template <int width>
void run_strided_width(const plan::StridedConfig& config, const Problem& normal, std::byte* dst,
                       const std::byte* src, std::int64_t first, std::int64_t last) {
  if (plan::past_caches(config.stores)) {
    run_strided_with<width, true>(config, normal, dst, src, first, last);
  } else {
    run_strided_with<width, false>(config, normal, dst, src, first, last);
  }
}

void run_strided(const plan::StridedConfig& config, const Problem& normal, std::byte* dst,
                 const std::byte* src, std::int64_t first, std::int64_t last) {
  switch (normal.dst_type.size()) {
    case 1:
      return run_strided_width<1>(config, normal, dst, src, first, last);
    case 2:
      return run_strided_width<2>(config, normal, dst, src, first, last);
    case 4:
      return run_strided_width<4>(config, normal, dst, src, first, last);
    case 8:
      return run_strided_width<8>(config, normal, dst, src, first, last);
    default:
      return run_strided_width<16>(config, normal, dst, src, first, last);
  }
}

}  // namespace cornerturn::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cornerturn::cpu {
namespace {

HWY_EXPORT(run_strided);

std::int64_t pieces(const plan::StridedConfig& config, const Problem& normal) {
  const std::int64_t extent = normal.modes.back().extent;
  if (extent == 0) return 0;
  return normal.elements() / extent * ((extent + config.chunk - 1) / config.chunk);
}

void run(const plan::StridedConfig& config, const Problem& normal, const Buffers& buffers,
         std::int64_t first, std::int64_t last) {
  HWY_DYNAMIC_DISPATCH(run_strided)(config, normal, dst_of(buffers), src_of(buffers), first, last);
}

}  // namespace

extern const Kernel strided_kernel = kernel_in_pieces<plan::StridedConfig, pieces, run>;

}  // namespace cornerturn::cpu
#endif
