// Whole cache lines written around the caches. Included once for each vector target.
#if defined(CORNERTURN_CPU_STREAM_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef CORNERTURN_CPU_STREAM_INL
#undef CORNERTURN_CPU_STREAM_INL
#else
#define CORNERTURN_CPU_STREAM_INL
#endif

#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

HWY_BEFORE_NAMESPACE();
namespace cornerturn::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

inline constexpr std::int64_t line = 64;

HWY_INLINE std::int64_t line_phase(const std::byte* address) {
  return static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(address) & (line - 1));
}

#if HWY_TARGET != HWY_SCALAR
template <bool non_temporal, class D>
HWY_INLINE void store_vector(D d, hn::VFromD<D> v, std::uint8_t* to) {
  if constexpr (non_temporal) {
    hn::Stream(v, d, to);
  } else {
    hn::Store(v, d, to);
  }
}
#endif

// Fewer bytes than a line. Of two moves the second may overlap the first.
HWY_INLINE void move_few(std::byte* HWY_RESTRICT dst, const std::byte* HWY_RESTRICT src,
                         std::int64_t bytes) {
  const auto two = [&](auto size) {
    constexpr std::size_t half = decltype(size)::value;
    std::memcpy(dst, src, half);
    std::memcpy(dst + bytes - half, src + bytes - half, half);
  };
  if (bytes >= 32) return two(std::integral_constant<std::size_t, 32>());
  if (bytes >= 16) return two(std::integral_constant<std::size_t, 16>());
  if (bytes >= 8) return two(std::integral_constant<std::size_t, 8>());
  if (bytes >= 4) return two(std::integral_constant<std::size_t, 4>());
  if (bytes >= 2) return two(std::integral_constant<std::size_t, 2>());
  if (bytes == 1) *dst = *src;
}

// `lines` lines from any address to an aligned one.
template <bool non_temporal>
HWY_INLINE void store_lines(std::byte* HWY_RESTRICT dst, const std::byte* HWY_RESTRICT src,
                            std::int64_t lines) {
#if HWY_TARGET == HWY_SCALAR
  std::memcpy(dst, src, static_cast<std::size_t>(lines * line));
#else
  const hn::CappedTag<std::uint8_t, 64> d;  // a vector of 64 bytes, or two or four that make a line
  auto* to = reinterpret_cast<std::uint8_t*>(dst);
  const auto* from = reinterpret_cast<const std::uint8_t*>(src);
  for (std::int64_t i = 0; i < lines; ++i, to += line, from += line) {
    for (std::size_t k = 0; k < line; k += hn::Lanes(d)) {
      store_vector<non_temporal>(d, hn::LoadU(d, from + k), to + k);
    }
  }
#endif
}

// Takes the bytes of one stretch of the destination in order, from pieces of any length, and writes
// whole lines. The first and the last line may be partial: those go through the caches.
template <bool non_temporal>
class LineWriter {
 public:
  explicit LineWriter(std::byte* dst)
      : line_(dst - line_phase(dst)), begin_(line_phase(dst)), fill_(begin_) {}

  HWY_INLINE void append(const std::byte* src, std::int64_t bytes) {
    if (fill_ > 0) {
      const std::int64_t taken = HWY_MIN(bytes, line - fill_);
      std::memcpy(carry_ + fill_, src, static_cast<std::size_t>(taken));
      fill_ += taken;
      src += taken;
      bytes -= taken;
      if (fill_ < line) return;
      flush();
    }
    const std::int64_t lines = bytes / line;
    store_lines<non_temporal>(line_, src, lines);
    line_ += lines * line;
    fill_ = bytes % line;
    std::memcpy(carry_, src + lines * line, static_cast<std::size_t>(fill_));
  }

  // Bytes of the line that is put together.
  HWY_INLINE std::int64_t carried() const { return fill_; }

  // Where the next byte goes.
  HWY_INLINE std::byte* end() const { return line_ + fill_; }

  HWY_INLINE void finish() {
    if (fill_ == begin_) return;  // before the first run there is no address yet
    std::memcpy(line_ + begin_, carry_ + begin_, static_cast<std::size_t>(fill_ - begin_));
  }

 private:
  HWY_INLINE void flush() {
    if (begin_ == 0) {
      store_lines<non_temporal>(line_, carry_, 1);
    } else {
      finish();
      begin_ = 0;
    }
    line_ += line;
    fill_ = 0;
  }

  std::byte* line_;     // where the carried line belongs
  std::int64_t begin_;  // its first byte that is ours
  std::int64_t fill_;   // bytes [begin_, fill_) of it are known
  alignas(line) std::byte carry_[line];
};

}  // namespace cornerturn::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
