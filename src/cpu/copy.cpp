// copy: one run, forwards or backwards, in chunks that start on a line of the destination.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/copy.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <hwy/cache_control.h>

#include "cpu/kernel.hpp"
#include "cpu/stream-inl.hpp"
#include "plan/cpu/copy.hpp"

HWY_BEFORE_NAMESPACE();
namespace cornerturn::cpu::HWY_NAMESPACE {

void copy_forward(std::byte* dst, const std::byte* src, std::int64_t bytes, bool non_temporal) {
  if (!non_temporal || bytes < 2 * line) {
    std::memcpy(dst, src, static_cast<std::size_t>(bytes));
    return;
  }
  const std::int64_t head = (line - line_phase(dst)) % line;
  std::memcpy(dst, src, static_cast<std::size_t>(head));
  const std::int64_t lines = (bytes - head) / line;
  store_lines<true>(dst + head, src + head, lines);
  const std::int64_t done = head + lines * line;
  std::memcpy(dst + done, src + done, static_cast<std::size_t>(bytes - done));
}

// `src` is the address of the run's last element, the first one that is read.
template <int width>
void copy_backward_singly(std::byte*& dst, const std::byte*& src, std::int64_t count) {
  for (; count > 0; --count, src -= width, dst += width) std::memcpy(dst, src, width);
}

#if HWY_TARGET == HWY_SCALAR

template <int width, bool non_temporal>
void copy_backward(std::byte* dst, const std::byte* src, std::int64_t count) {
  copy_backward_singly<width>(dst, src, count);
}

#else

// The vector with its elements of `width` bytes in reverse order.
template <int width, class D>
HWY_INLINE hn::VFromD<D> reversed(D d, hn::VFromD<D> v) {
  if constexpr (width == 1) {
    const hn::Repartition<std::uint16_t, D> d16;
    const auto pairs = hn::Reverse(d16, hn::BitCast(d16, v));
    return hn::BitCast(d, hn::Or(hn::ShiftLeft<8>(pairs), hn::ShiftRight<8>(pairs)));
  } else if constexpr (width == 16) {
    return hn::BitCast(d, hn::ReverseBlocks(hn::Repartition<std::uint64_t, D>(),
                                            hn::BitCast(hn::Repartition<std::uint64_t, D>(), v)));
  } else {
    const hn::Repartition<hwy::UnsignedFromSize<width>, D> lanes;
    return hn::BitCast(d, hn::Reverse(lanes, hn::BitCast(lanes, v)));
  }
}

template <int width, bool non_temporal>
void copy_backward(std::byte* dst, const std::byte* src, std::int64_t count) {
  const hn::CappedTag<std::uint8_t, 64> d;
  const auto vector = static_cast<std::int64_t>(hn::Lanes(d));
  const std::int64_t head = (line - line_phase(dst)) % line;
  const bool aligns = head % width == 0;  // else no vector store can be aligned
  if (aligns) {
    const std::int64_t singly = HWY_MIN(head / width, count);
    copy_backward_singly<width>(dst, src, singly);
    count -= singly;
  }
  for (; count >= vector / width; count -= vector / width, src -= vector, dst += vector) {
    const auto* from = reinterpret_cast<const std::uint8_t*>(src + width - vector);
    auto* to = reinterpret_cast<std::uint8_t*>(dst);
    const auto v = reversed<width>(d, hn::LoadU(d, from));
    if (non_temporal && aligns) {
      hn::Stream(v, d, to);
    } else {
      hn::StoreU(v, d, to);
    }
  }
  copy_backward_singly<width>(dst, src, count);
}

#endif

template <bool non_temporal>
void copy_backward_any(std::byte* dst, const std::byte* src, std::int64_t count, int width) {
  switch (width) {
    case 1:
      return copy_backward<1, non_temporal>(dst, src, count);
    case 2:
      return copy_backward<2, non_temporal>(dst, src, count);
    case 4:
      return copy_backward<4, non_temporal>(dst, src, count);
    case 8:
      return copy_backward<8, non_temporal>(dst, src, count);
    default:
      return copy_backward<16, non_temporal>(dst, src, count);
  }
}

void copy_run(std::byte* dst, const std::byte* src, std::int64_t count, int width,
              const plan::CopyConfig& config) {
  const bool non_temporal = plan::past_caches(config.stores);
  if (!config.reversed) {
    copy_forward(dst, src, count * width, non_temporal);
  } else if (non_temporal) {
    copy_backward_any<true>(dst, src, count, width);
  } else {
    copy_backward_any<false>(dst, src, count, width);
  }
  if (non_temporal) hwy::FlushStream();
}

}  // namespace cornerturn::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cornerturn::cpu {
namespace {

HWY_EXPORT(copy_run);

constexpr std::int64_t bytes_per_piece = 1 << 20;

std::int64_t pieces(const plan::CopyConfig&, const Problem& normal) {
  return (normal.bytes() + bytes_per_piece - 1) / bytes_per_piece;
}

void run(const plan::CopyConfig& config, const Problem& normal, const Buffers& buffers,
         std::int64_t first, std::int64_t last) {
  std::byte* const dst = dst_of(buffers);
  const std::byte* const src = src_of(buffers);
  const int width = normal.dst_type.size();
  const std::int64_t per_piece = bytes_per_piece / width;
  const std::int64_t begin = first * per_piece;
  const std::int64_t end = std::min(last * per_piece, normal.elements());
  const std::int64_t stride = config.reversed ? -width : width;
  HWY_DYNAMIC_DISPATCH(copy_run)
  (dst + begin * width, src + begin * stride, end - begin, width, config);
}

}  // namespace

extern const Kernel copy_kernel = kernel_in_pieces<plan::CopyConfig, pieces, run>;

}  // namespace cornerturn::cpu
#endif
