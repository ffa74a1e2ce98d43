#include "plan/gpu/pack/box.hpp"

#include <algorithm>
#include <cassert>
#include <cstdlib>

#include "core/divide.hpp"
#include "plan/gpu/runs.hpp"

namespace cornerturn::plan::gpu {
namespace {

using Stride = std::int64_t Mode::*;

Box::Side side_of(const Problem& normal, Stride stride) {
  assert(normal.rank() <= Box::capacity);
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

// How far a side runs on.
struct Reached {
  std::int64_t next;  // bytes to where it goes on without a gap
  std::int64_t span;  // from its first byte to behind its last

  explicit Reached(std::int64_t element_bytes) : next(element_bytes), span(element_bytes) {}

  void take(std::int64_t stride, std::int64_t extent) {
    const std::int64_t step = std::abs(stride);
    span += step * (extent - 1);
    next = step * extent;
  }
};

// Whether the side goes on along the mode. Runs of the source may go backwards, and leave gaps
// where their pieces are short.
bool goes_on(const Mode& mode, Stride stride, const Reached& reached, bool gaps) {
  constexpr std::int64_t long_piece = 256;
  if (stride == &Mode::dst_stride) return mode.dst_stride == reached.next;
  const std::int64_t step = std::abs(mode.src_stride);
  if (step == reached.next) return true;
  const std::int64_t gap = step - reached.span;
  return gaps && gap >= 0 && gap <= sector_bytes && reached.span <= long_piece;
}

// Takes indices of the modes along which the side runs on, until the run is long enough.
void grow(Box& box, const Box::Side& side, const Problem& normal, Stride stride,
          const BoxWish& wish) {
  Reached reached(element_size(normal, stride));
  const std::int64_t run_bytes =
      stride == &Mode::src_stride ? wish.src_run_bytes : wish.dst_run_bytes;
  for (int i = 0; i < side.modes && reached.span < run_bytes; ++i) {
    const int which = side.order[static_cast<std::size_t>(i)];
    const Mode& mode = normal.modes[which];
    if (!goes_on(mode, stride, reached, wish.gaps)) return;
    const std::int64_t step = std::abs(mode.*stride);
    std::int32_t& extent = box.extent[static_cast<std::size_t>(which)];
    const std::int64_t wanted = ceil_div(run_bytes, step);
    if (mode.extent <= wanted + wanted / 2) {
      extent = static_cast<std::int32_t>(mode.extent);
    } else {  // so many that runs end where they shall
      const std::int64_t whole = wish.granule / gcd_of_power(wish.granule, step);
      const std::int64_t some = std::min(mode.extent, ceil_div(wanted, whole) * whole);
      extent = static_cast<std::int32_t>(std::max<std::int64_t>(extent, some));
    }
    if (extent < mode.extent) return;
    reached.take(mode.*stride, extent);
  }
}

void measure(Box& box, Box::Side& side, const Problem& normal, Stride stride, bool gaps) {
  const std::int64_t size = element_size(normal, stride);
  Reached reached(size);
  side.run = 1;
  side.run_modes = 0;
  for (int i = 0; i < side.modes; ++i) {
    const int which = side.order[static_cast<std::size_t>(i)];
    const Mode& mode = normal.modes[which];
    if (!goes_on(mode, stride, reached, gaps)) break;
    const std::int32_t extent = box.extent[static_cast<std::size_t>(which)];
    if (extent == 1) break;
    reached.take(mode.*stride, extent);
    side.run *= extent;
    ++side.run_modes;
    if (extent < mode.extent) break;
  }
  side.places = reached.span / size;
}

// Whether all runs of the destination begin as far behind a sector's beginning as the first does,
// and end so.
bool are_whole_sectors(const Problem& normal, std::int64_t run_bytes) {
  if (run_bytes % sector_bytes != 0) return false;
  return std::all_of(normal.modes.begin(), normal.modes.end(), [&](const Mode& mode) {
    return std::abs(mode.dst_stride) < run_bytes || mode.dst_stride % sector_bytes == 0;
  });
}

// Makes boxes share so many indices of the mode at which the destination's runs are cut that they
// fill a sector.
bool share(Box& box, const Problem& normal) {
  constexpr std::int64_t most_run = 4096;  // bytes: in longer runs a sector counts little
  if (box.dst.run_modes == 0 || normal.dst_type.size() > 8) return false;
  const int last = box.dst.order[static_cast<std::size_t>(box.dst.run_modes - 1)];
  std::int32_t& extent = box.extent[static_cast<std::size_t>(last)];
  const Mode& mode = normal.modes[last];
  const std::int64_t run_bytes = box.dst.run * normal.dst_type.size();
  const std::int64_t shared = ceil_div(sector_bytes - normal.dst_type.size(), mode.dst_stride);
  if (run_bytes > most_run || are_whole_sectors(normal, run_bytes)) return false;
  constexpr std::int64_t least_boxes = 4;   // along the mode: the outer ones gain less
  constexpr std::int64_t most_shared = 64;  // bytes: more would take as long to read as they save
  if (shared * mode.dst_stride > most_shared) return false;
  if (mode.extent < least_boxes * extent || 3 * shared > extent) return false;
  extent += static_cast<std::int32_t>(shared);
  box.shared = static_cast<std::int32_t>(shared);
  box.shared_mode = last;
  return true;
}

}  // namespace

BoxSides::BoxSides(const Problem& normal)
    : src(side_of(normal, &Mode::src_stride)), dst(side_of(normal, &Mode::dst_stride)) {}

bool may_have_gaps(const Problem& normal, const BoxSides& sides) {
  const Box::Side& side = sides.src;
  Reached reached(element_size(normal, &Mode::src_stride));
  for (int i = 0; i < side.modes; ++i) {
    const Mode& mode = normal.modes[side.order[static_cast<std::size_t>(i)]];
    if (!goes_on(mode, &Mode::src_stride, reached, true)) return false;
    if (std::abs(mode.src_stride) != reached.next) return true;
    reached.take(mode.src_stride, mode.extent);
  }
  return false;
}

bool is_dense(const Problem& normal, const Box::Side& dst) {
  std::int64_t next = normal.dst_type.size();
  for (int i = 0; i < dst.modes; ++i) {
    const Mode& mode = normal.modes[dst.order[static_cast<std::size_t>(i)]];
    if (mode.dst_stride != next) return false;
    next *= mode.extent;
  }
  return true;
}

Box box_of(const Problem& normal, const BoxSides& sides, const BoxWish& wish) {
  Box box;
  box.rank = normal.rank();
  std::fill_n(box.extent.begin(), box.rank, 1);
  box.src = sides.src;
  box.dst = sides.dst;
  grow(box, box.src, normal, &Mode::src_stride, wish);
  grow(box, box.dst, normal, &Mode::dst_stride, wish);
  const auto count = [&] {
    box.elements = 1;
    for (int i = 0; i < normal.rank(); ++i) box.elements *= box.extent[static_cast<std::size_t>(i)];
    box.bytes = box.elements * normal.src_type.size();
  };
  count();
  for (int i = 0; i < box.dst.modes && box.bytes < wish.least_bytes; ++i) {
    const int which = box.dst.order[static_cast<std::size_t>(i)];
    std::int32_t& extent = box.extent[static_cast<std::size_t>(which)];
    const std::int64_t others = box.bytes / extent;
    extent = static_cast<std::int32_t>(std::max<std::int64_t>(
        extent, std::min(normal.modes[which].extent, ceil_div(wish.least_bytes, others))));
    count();
  }
  if (box.bytes > wish.most_bytes) return box;
  const auto measure_sides = [&] {
    measure(box, box.src, normal, &Mode::src_stride, wish.gaps);
    measure(box, box.dst, normal, &Mode::dst_stride, wish.gaps);
  };
  measure_sides();
  if (wish.shares && share(box, normal)) {
    count();
    measure_sides();
  }
  return box;
}

}  // namespace cornerturn::plan::gpu
