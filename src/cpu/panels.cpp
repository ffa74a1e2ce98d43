// Panels that were copied to the side are transposed back into their places: blocks of a line by
// many rows, which stay in the first-level cache, unit by unit through the registers. The array
// sees nothing but consecutive reads and, near enough, consecutive writes.
#include "cpu/panels.hpp"

#include <algorithm>
#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/panels.cpp"
#include <hwy/foreach_target.h>
//
#include <hwy/highway.h>

#include "cpu/transpose_block.hpp"

HWY_BEFORE_NAMESPACE();
namespace cornerturn::cpu {
namespace HWY_NAMESPACE {
namespace {

constexpr std::int64_t block_rows = 128;  // of a line each, which half of the first-level cache has

template <int width>
class Transposing {
 public:
  Transposing(const PanelCopy& panel, std::uint8_t* to, const std::uint8_t* copy,
              const std::uint8_t* next)
      : panel_(panel), to_(to), copy_(copy), next_(next) {}

  void run() {
    if (panel_.rows < V || panel_.columns < K) return run_single();
    for (std::int64_t c = 0; c < panel_.columns; c += line) {
      const std::int64_t end = std::min(c + line, panel_.columns);
      for (std::int64_t r = 0; r < panel_.rows; r += block_rows) {
        block(r, std::min(r + block_rows, panel_.rows), c, end);
      }
    }
  }

 private:
  static constexpr int V = unit_rows<width>();
  static constexpr int K = unit_columns<width>();
  static constexpr std::int64_t line = std::max(64 / width, K);  // elements

  // Columns [c, end) of rows [r, last). What the last unit of either direction repeats stays the
  // same.
  HWY_INLINE void block(std::int64_t r, std::int64_t last, std::int64_t c, std::int64_t end) {
    const std::int64_t from_pitch = panel_.pitch;
    const std::int64_t to_pitch = panel_.rows * width;
    fetch_next((last - r) * (end - c) * width);
    for (std::int64_t k = c; k < end; k += K) {
      const std::int64_t column = std::min(k, panel_.columns - K);
      for (std::int64_t i = r; i < last; i += V) {
        const std::int64_t row = std::min(i, panel_.rows - V);
        const std::uint8_t* const unit = copy_ + row * from_pitch + column * width;
        std::uint8_t* const out = to_ + column * to_pitch + row * width;
        transpose_unit<width>([=](int j) { return unit + j * from_pitch; },
                              [=](int j) { return out + j * to_pitch; });
      }
    }
  }

  HWY_INLINE void fetch_next(std::int64_t bytes) {
    for (std::int64_t b = 0; b < bytes; b += 64) __builtin_prefetch(next_ + b, 1, 2);
    next_ += bytes;
  }

  void run_single() const {
    for (std::int64_t c = 0; c < panel_.columns; ++c) {
      for (std::int64_t r = 0; r < panel_.rows; ++r) {
        std::memcpy(to_ + (c * panel_.rows + r) * width, copy_ + r * panel_.pitch + c * width,
                    width);
      }
    }
  }

  const PanelCopy panel_;
  std::uint8_t* const to_;
  const std::uint8_t* const copy_;
  const std::uint8_t* next_;
};

void run_transposing(const PanelCopy& panel, std::uint8_t* to, const std::uint8_t* copy,
                     const std::uint8_t* next) {
  switch (panel.element) {
    case 1:
      return Transposing<1>(panel, to, copy, next).run();
    case 2:
      return Transposing<2>(panel, to, copy, next).run();
    case 4:
      return Transposing<4>(panel, to, copy, next).run();
    case 8:
      return Transposing<8>(panel, to, copy, next).run();
    default:
      return Transposing<16>(panel, to, copy, next).run();
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace cornerturn::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cornerturn::cpu {

HWY_EXPORT(run_transposing);

void copy_aside(const PanelCopy& panel, std::byte* copy, const std::byte* from) {
  const std::int64_t row = panel.columns * panel.element;
  if (panel.pitch == row) {
    std::memcpy(copy, from, static_cast<std::size_t>(panel.rows * row));
    return;
  }
  for (std::int64_t r = 0; r < panel.rows; ++r) {
    std::memcpy(copy + r * panel.pitch, from + r * row, static_cast<std::size_t>(row));
  }
}

void transpose_back(const PanelCopy& panel, std::byte* to, const std::byte* copy,
                    const std::byte* next) {
  HWY_DYNAMIC_DISPATCH(run_transposing)
  (panel, reinterpret_cast<std::uint8_t*>(to), reinterpret_cast<const std::uint8_t*>(copy),
   reinterpret_cast<const std::uint8_t*>(next));
}

}  // namespace cornerturn::cpu
#endif
