// Moves of rows of a few bytes. Included once for each vector target.
#if defined(CORNERTURN_CPU_SHORT_ROWS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef CORNERTURN_CPU_SHORT_ROWS_INL
#undef CORNERTURN_CPU_SHORT_ROWS_INL
#else
#define CORNERTURN_CPU_SHORT_ROWS_INL
#endif

#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

HWY_BEFORE_NAMESPACE();
namespace cornerturn::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

template <int bytes>
HWY_INLINE void move_bytes(std::byte* dst, const std::byte* src) {
#if HWY_TARGET != HWY_SCALAR
  if constexpr (bytes >= 16) {
    const hn::CappedTag<std::uint8_t, (bytes & -bytes)> d;  // 48 bytes: three times 16
    const auto* from = reinterpret_cast<const std::uint8_t*>(src);
    auto* to = reinterpret_cast<std::uint8_t*>(dst);
    for (std::size_t i = 0; i < bytes; i += hn::Lanes(d)) {
      hn::StoreU(hn::LoadU(d, from + i), d, to + i);
    }
    return;
  }
#endif
  std::memcpy(dst, src, bytes);
}

// All `bytes` >= step of a row, not one more: the last move overlaps the one before.
template <int step>
HWY_INLINE void move_row(std::byte* dst, const std::byte* src, std::int64_t bytes) {
  for (std::int64_t k = 0; k + step < bytes; k += step) move_bytes<step>(dst + k, src + k);
  move_bytes<step>(dst + bytes - step, src + bytes - step);
}

// Moves a row whose place is seldom in a cache: the last move is as short as it can be, and seldom
// reaches into two lines.
template <int step>
HWY_INLINE void move_uncached_row(std::byte* dst, const std::byte* src, std::int64_t bytes) {
  std::int64_t k = 0;
  for (; k + step < bytes; k += step) move_bytes<step>(dst + k, src + k);
  const auto move_last = [&](auto size) HWY_ATTR {
    constexpr int last = decltype(size)::value;
    move_bytes<last>(dst + bytes - last, src + bytes - last);
  };
  const std::int64_t left = bytes - k;
  if (step > 32 && left > 32) return move_last(std::integral_constant<int, step>());
  if (step > 16 && left > 16) return move_last(std::integral_constant<int, HWY_MIN(step, 32)>());
  if (step > 8 && left > 8) return move_last(std::integral_constant<int, HWY_MIN(step, 16)>());
  if (step > 4 && left > 4) return move_last(std::integral_constant<int, HWY_MIN(step, 8)>());
  move_last(std::integral_constant<int, HWY_MIN(step, 4)>());
}

// Moves rows of at most `step` bytes, each together with what lies behind it in the source. What
// that spoils behind the row's place is for the caller to write later.
template <int step>
HWY_INLINE void move_short_rows(std::byte* dst, std::int64_t dst_stride, const std::byte* src,
                                std::int64_t src_stride, std::int64_t count) {
  for (; count >= 4; count -= 4, src += 4 * src_stride, dst += 4 * dst_stride) {
    move_bytes<step>(dst, src);
    move_bytes<step>(dst + dst_stride, src + src_stride);
    move_bytes<step>(dst + 2 * dst_stride, src + 2 * src_stride);
    move_bytes<step>(dst + 3 * dst_stride, src + 3 * src_stride);
  }
  for (; count > 0; --count, src += src_stride, dst += dst_stride) move_bytes<step>(dst, src);
}

// Transposes rows of at most `step` (4 or 8) bytes that lie side by side in the source: 4 x 4 or
// 2 x 2 of them in registers, widened to `step` bytes and narrowed again.
template <int step>
class ShortRowTransposer {
 public:
  static constexpr std::int64_t side = 16 / step;

  explicit ShortRowTransposer(std::int64_t bytes) : bytes_(bytes) {
    for (int i = 0; i < side; ++i) {
      for (int k = 0; k < step; ++k) {
        const int from = static_cast<int>(i * bytes + HWY_MIN(k, bytes - 1));
        widen_[i * step + k] = static_cast<std::uint8_t>(from);
        if (k < bytes) narrow_[from] = static_cast<std::uint8_t>(i * step + k);
      }
    }
  }

  // `side` source lines, `src_stride` apart, of `count` rows each, go to `count` lines of the
  // destination, `dst_stride` apart, of `side` rows each. Reads and writes up to 16 bytes from the
  // beginning of any row.
  HWY_INLINE void move(std::byte* dst, std::int64_t dst_stride, const std::byte* src,
                       std::int64_t src_stride, std::int64_t count) const {
#if HWY_TARGET != HWY_SCALAR
    for (; count >= side; count -= side, src += side * bytes_, dst += side * dst_stride) {
      if constexpr (step == 4) {
        const hn::Full128<std::uint32_t> d;
        const auto a = load(d, src);
        const auto b = load(d, src + src_stride);
        const auto c = load(d, src + 2 * src_stride);
        const auto e = load(d, src + 3 * src_stride);
        const auto ac = hn::InterleaveLower(d, a, c);
        const auto be = hn::InterleaveLower(d, b, e);
        const auto ac2 = hn::InterleaveUpper(d, a, c);
        const auto be2 = hn::InterleaveUpper(d, b, e);
        store(d, hn::InterleaveLower(d, ac, be), dst);
        store(d, hn::InterleaveUpper(d, ac, be), dst + dst_stride);
        store(d, hn::InterleaveLower(d, ac2, be2), dst + 2 * dst_stride);
        store(d, hn::InterleaveUpper(d, ac2, be2), dst + 3 * dst_stride);
      } else {
        const hn::Full128<std::uint64_t> d;
        const auto a = load(d, src);
        const auto b = load(d, src + src_stride);
        store(d, hn::InterleaveLower(d, a, b), dst);
        store(d, hn::InterleaveUpper(d, a, b), dst + dst_stride);
      }
    }
#endif
    for (; count > 0; --count, src += bytes_, dst += dst_stride) {
      for (int i = 0; i < side; ++i) {
        move_bytes<step>(dst + i * bytes_, src + i * src_stride);
      }
    }
  }

 private:
#if HWY_TARGET != HWY_SCALAR
  template <class D>
  HWY_INLINE hn::VFromD<D> load(D d, const std::byte* from) const {
    const hn::Full128<std::uint8_t> d8;
    const auto v = hn::LoadU(d8, reinterpret_cast<const std::uint8_t*>(from));
    return hn::BitCast(d, hn::TableLookupBytes(v, hn::Load(d8, widen_)));
  }

  template <class D>
  HWY_INLINE void store(D, hn::VFromD<D> v, std::byte* to) const {
    const hn::Full128<std::uint8_t> d8;
    hn::StoreU(hn::TableLookupBytes(hn::BitCast(d8, v), hn::Load(d8, narrow_)), d8,
               reinterpret_cast<std::uint8_t*>(to));
  }
#endif

  std::int64_t bytes_;
  alignas(16) std::uint8_t widen_[16] = {};
  alignas(16) std::uint8_t narrow_[16] = {};
};

#if HWY_TARGET != HWY_SCALAR

// Joins rows of at most `step` (16 or 32) bytes, a multiple of 4, from several source lines into
// one vector: fewer stores, which would cross lines.
template <int step>
class ShortRowJoiner {
 public:
  static constexpr std::int64_t rows = HWY_LANES(std::uint8_t) / step;

  static bool takes(std::int64_t bytes) { return rows > 1 && bytes < step && bytes % 4 == 0; }

  explicit ShortRowJoiner(std::int64_t bytes) {
    const auto words = static_cast<std::size_t>(bytes / 4);
    for (std::size_t i = 0; i < static_cast<std::size_t>(rows); ++i) {
      for (std::size_t k = 0; k < words; ++k) {
        index_[i * words + k] = static_cast<std::int32_t>(i * step / 4 + k);
      }
    }
  }

  // `count` times: a row from each of `rows` source lines, `src_stride` apart, side by side to
  // `dst`; then on by `src_step` and `dst_step`. Writes a whole vector at each `dst`.
  HWY_INLINE void move(std::byte* dst, std::int64_t dst_step, const std::byte* src,
                       std::int64_t src_stride, std::int64_t src_step, std::int64_t count) const {
    const hn::ScalableTag<std::uint32_t> d;
    const auto index = hn::SetTableIndices(d, index_);
    for (; count > 0; --count, src += src_step, dst += dst_step) {
      hn::StoreU(hn::TableLookupLanes(load(d, src, src_stride), index), d,
                 reinterpret_cast<std::uint32_t*>(dst));
    }
  }

 private:
  template <class D>
  static HWY_INLINE hn::VFromD<D> load(D d, const std::byte* src, std::int64_t src_stride) {
    constexpr auto here = static_cast<std::int64_t>(hn::MaxLanes(D())) * 4 / step;
    if constexpr (here <= 1) {
      return hn::LoadU(d, reinterpret_cast<const std::uint32_t*>(src));
    } else {
      const hn::Half<D> half;
      return hn::Combine(d, load(half, src + here / 2 * src_stride, src_stride),
                         load(half, src, src_stride));
    }
  }

  alignas(64) std::int32_t index_[16] = {};
};

#endif

}  // namespace cornerturn::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
