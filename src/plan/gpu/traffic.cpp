#include "plan/gpu/traffic.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>

#include "core/divide.hpp"
#include "maps/sectors.hpp"
#include "plan/gpu/block_lines.hpp"
#include "plan/gpu/cut_sectors.hpp"

namespace cornerturn::plan::gpu {
namespace {

// Bytes of whole sectors for one side: runs of `run` bytes (as the modes allow), and what lies
// between elements of a step shorter than a sector.
double side_bytes(const ModeList& modes, std::int64_t Mode::*stride, std::int64_t element_bytes) {
  const auto element = static_cast<double>(element_bytes);
  double elements = 1;
  ModeList moved;  // by stride
  for (const Mode& mode : modes) {
    if (mode.extent == 1 || mode.*stride == 0) continue;  // what repeats is not moved again
    elements *= static_cast<double>(mode.extent);
    moved.push_back(mode);
  }
  if (moved.empty()) return element;
  std::sort(moved.begin(), moved.end(), [&](const Mode& a, const Mode& b) {
    return std::abs(a.*stride) < std::abs(b.*stride);
  });
  // The mode of the smallest stride decides how densely sectors are used; those that continue the
  // run count with it.
  double run = element;
  double of_run = 1;
  for (const Mode& mode : moved) {
    const auto step = static_cast<double>(std::abs(mode.*stride));
    if (&mode != moved.begin() && (step < run || step >= run + sector_bytes)) continue;
    run += step * static_cast<double>(mode.extent - 1);
    of_run *= static_cast<double>(mode.extent);
  }
  const double runs = std::max(1.0, elements / of_run);
  if (runs <= 1.5) return run;
  const double step = static_cast<double>(std::abs(moved[0].*stride));
  if (step >= sector_bytes) return elements * sector_bytes;
  return runs * (run + sector_bytes / 2.0);  // half a sector is cut off, on the average
}

// An array of which there are `count` elements along the axis of blocks.
double array_bytes(const Problem& normal, const BlockLayout& layout, const Extents& strides,
                   std::int64_t count, std::int64_t element_bytes) {
  ModeList modes = normal.modes;
  for (int i = 0; i < modes.size(); ++i) {
    modes[i].src_stride = strides[static_cast<std::size_t>(i)];
    if (i == layout.axis) modes[i].extent = count;
  }
  return side_bytes(modes, &Mode::src_stride, element_bytes);
}

// The values of blocks, and their scales.
double blocks_bytes(const Problem& normal, const BlockLayout& layout) {
  const std::int64_t blocks = ceil_div(normal.modes[layout.axis].extent, block_size);
  const std::int64_t size = type_of_blocks(normal.blocks->rule.format).size();
  if (layout.scale_strides.empty()) {
    return array_bytes(normal, layout, layout.value_strides, blocks, size);
  }
  return array_bytes(normal, layout, layout.value_strides, blocks * block_size, size) +
         array_bytes(normal, layout, layout.scale_strides, blocks, 1);
}

// Of modes that are sorted by strides of the destination, as those of a normalised problem are.
void find_repeats(Traffic& traffic, const Problem& normal) {
  double read = normal.src_type.size(), written = normal.dst_type.size();
  std::array<Repeat, ModeList::capacity> found;
  std::size_t count = 0;
  for (int i = normal.rank(); i-- > 0;) {
    const Mode& mode = normal.modes[i];
    const auto extent = static_cast<double>(mode.extent);
    if (mode.src_stride == 0 && mode.extent > 1) {
      found[count++] = {extent, read + written, mode.dst_stride};
    } else {
      read *= extent;
    }
    written *= extent;
  }
  // The outer ones have most between them.
  for (; count > 0 && traffic.repeat_count < Traffic::most_repeats; --count) {
    traffic.repeats[static_cast<std::size_t>(traffic.repeat_count++)] = found[count - 1];
  }
}

}  // namespace

Traffic least_traffic(const Problem& normal) {
  if (normal.elements() == 0) return {};
  const bool back = normal.blocks != nullptr && normal.blocks->back;
  Traffic least;
  if (normal.blocks == nullptr || !back) {
    least.src_bytes = side_bytes(normal.modes, &Mode::src_stride, normal.src_type.size());
  }
  if (normal.blocks == nullptr || back) {
    least.dst_bytes = side_bytes(normal.modes, &Mode::dst_stride, normal.dst_type.size());
  }
  if (normal.blocks == nullptr) {
    find_repeats(least, normal);
    const DstRow row = dst_row(normal);
    if (leaves_cut_sectors(row)) {
      const auto bytes = static_cast<double>(row.bytes), gap = static_cast<double>(row.gap);
      const double rows = static_cast<double>(normal.bytes()) / bytes;
      least.cut_rows = rows * std::min(1.0, (bytes + gap) / sector_bytes);
      least.of_cut_rows = row.touched_of(normal.bytes());
    }
    return least;
  }
  (back ? least.src_bytes : least.dst_bytes) = blocks_bytes(normal, normal.blocks->first);
  if (normal.blocks->second) least.dst_bytes += blocks_bytes(normal, *normal.blocks->second);
  return least;
}

}  // namespace cornerturn::plan::gpu
