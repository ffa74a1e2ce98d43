// A swizzle after a layout: Swizzle<3,3,3> o (8,64):(64,1).
#pragma once

#include <bit>
#include <cstdint>

#include "maps/algebra.hpp"
#include "maps/swizzle.hpp"

namespace cornerturn {

/// i -> swizzle(offset + layout(i)).
struct SwizzledLayout {
  AnySwizzle swizzle;
  std::int64_t offset = 0;
  Layout layout;

  CT_HOST_DEVICE constexpr std::int64_t operator()(std::int64_t index) const {
    return swizzle(offset + layout(index));
  }
  CT_HOST_DEVICE constexpr std::int64_t operator()(std::int64_t i, std::int64_t j) const {
    return swizzle(offset + layout(i, j));
  }
  CT_HOST_DEVICE constexpr std::int64_t size() const { return layout.size(); }
  /// Every value is below this.
  CT_HOST_DEVICE constexpr std::int64_t span() const {
    return swizzle.span(offset + layout.cosize());
  }

  friend constexpr bool operator==(const SwizzledLayout&, const SwizzledLayout&) = default;
};

/// A swizzle is a map of offsets that are not negative.
constexpr void check_offsets(const SwizzledLayout& layout) {
  const std::int64_t lowest = layout.offset + layout.layout.lowest();
  if (layout.swizzle.bits > 0 && lowest < 0) {
    throw Error(Status::invalid_argument, "the layout reaches offset " + std::to_string(lowest) +
                                              ": offsets under a swizzle are not negative");
  }
}

constexpr SwizzledLayout composition(const AnySwizzle& swizzle, const Layout& layout) {
  return {swizzle, 0, layout};
}
/// Other coordinates in front; the swizzle stays where it is.
constexpr SwizzledLayout composition(const SwizzledLayout& a, const Layout& b) {
  return {a.swizzle, a.offset, composition(a.layout, b)};
}

/// Do offsets of different modes have no bit in common? Then adding them is the same as xor.
constexpr bool is_linear(const Layout& layout) {
  std::uint64_t used = 0;
  for (int i = 0; i < layout.leaves; ++i) {
    const auto extent = static_cast<std::uint64_t>(layout.leaf[i].extent);
    const auto stride = static_cast<std::uint64_t>(layout.leaf[i].stride);
    if (extent == 1) continue;
    if (!std::has_single_bit(extent) || !std::has_single_bit(stride)) return false;
    const std::uint64_t bits = (extent - 1) * stride;
    if ((used & bits) != 0) return false;
    used |= bits;
  }
  return true;
}

}  // namespace cornerturn
