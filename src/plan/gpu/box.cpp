#include "plan/gpu/box.hpp"

#include <algorithm>
#include <cstdlib>
#include <numeric>

#include "core/divide.hpp"
#include "plan/gpu/runs.hpp"

namespace cornerturn::plan::gpu {
namespace {

using Stride = std::int64_t Mode::*;

Box::Side side_of(const Problem& normal, Stride stride) {
  Box::Side side;
  for (int i = 0; i < normal.rank(); ++i) {
    if (normal.modes[i].*stride == 0) continue;
    int at = side.modes++;
    for (; at > 0; --at) {
      const auto before = static_cast<std::size_t>(at - 1);
      if (std::abs(normal.modes[side.order[before]].*stride) <= std::abs(normal.modes[i].*stride)) {
        break;
      }
      side.order[before + 1] = side.order[before];
    }
    side.order[static_cast<std::size_t>(at)] = static_cast<std::uint8_t>(i);
  }
  return side;
}

// Whether a side that runs on for `run` bytes goes on along the mode. Runs of the source may go
// backwards.
bool goes_on(const Mode& mode, Stride stride, std::int64_t run) {
  return mode.*stride == run || (stride == &Mode::src_stride && mode.*stride == -run);
}

// Takes indices of the modes along which the side runs on, until the run is long enough.
void grow(Box& box, const Box::Side& side, const Problem& normal, Stride stride,
          std::int64_t run_bytes, std::int64_t granule) {
  std::int64_t run = element_size(normal, stride);
  for (int i = 0; i < side.modes && run < run_bytes; ++i) {
    const int which = side.order[static_cast<std::size_t>(i)];
    const Mode& mode = normal.modes[which];
    if (!goes_on(mode, stride, run)) return;
    std::int32_t& extent = box.extent[static_cast<std::size_t>(which)];
    const std::int64_t wanted = ceil_div(run_bytes, run);
    if (mode.extent <= wanted + wanted / 2) {
      extent = static_cast<std::int32_t>(mode.extent);
    } else {  // so many that runs end where they shall
      const std::int64_t whole = granule / std::gcd(granule, run);
      const std::int64_t some = std::min(mode.extent, ceil_div(wanted, whole) * whole);
      extent = static_cast<std::int32_t>(std::max<std::int64_t>(extent, some));
    }
    if (extent < mode.extent) return;
    run *= extent;
  }
}

void measure(Box& box, Box::Side& side, const Problem& normal, Stride stride) {
  const std::int64_t size = element_size(normal, stride);
  side.run = 1;
  side.run_modes = 0;
  for (int i = 0; i < side.modes; ++i) {
    const int which = side.order[static_cast<std::size_t>(i)];
    if (!goes_on(normal.modes[which], stride, side.run * size)) return;
    const std::int32_t extent = box.extent[static_cast<std::size_t>(which)];
    if (extent == 1) return;
    side.run *= extent;
    ++side.run_modes;
    if (extent < normal.modes[which].extent) return;
  }
}

}  // namespace

Box box_of(const Problem& normal, std::int64_t run_bytes, std::int64_t least_bytes,
           std::int64_t granule) {
  Box box;
  box.extent.fill(1);
  box.src = side_of(normal, &Mode::src_stride);
  box.dst = side_of(normal, &Mode::dst_stride);
  grow(box, box.src, normal, &Mode::src_stride, run_bytes, granule);
  grow(box, box.dst, normal, &Mode::dst_stride, run_bytes, granule);
  const auto count = [&] {
    box.elements = 1;
    for (int i = 0; i < normal.rank(); ++i) box.elements *= box.extent[static_cast<std::size_t>(i)];
    box.bytes = box.elements * normal.src_type.size();
  };
  count();
  for (int i = 0; i < box.dst.modes && box.bytes < least_bytes; ++i) {
    const int which = box.dst.order[static_cast<std::size_t>(i)];
    std::int32_t& extent = box.extent[static_cast<std::size_t>(which)];
    const std::int64_t others = box.bytes / extent;
    extent = static_cast<std::int32_t>(std::max<std::int64_t>(
        extent, std::min(normal.modes[which].extent, ceil_div(least_bytes, others))));
    count();
  }
  measure(box, box.src, normal, &Mode::src_stride);
  measure(box, box.dst, normal, &Mode::dst_stride);
  return box;
}

}  // namespace cornerturn::plan::gpu
