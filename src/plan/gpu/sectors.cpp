#include "plan/gpu/sectors.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>

#include "core/divide.hpp"
#include "maps/sectors.hpp"

namespace cornerturn::plan::gpu {
namespace {

// What lies on a side with gaps shorter than a sector.
struct SideRuns {
  double bytes = 0;     // of one, with the gaps
  double elements = 1;  // of one
  double count = 1;
  std::int64_t step = 0;  // bytes to the next one; 0: there is one
  bool aligned = true;    // all begin with bursts if one does

  SideRuns(const ModeList& modes, std::int64_t Mode::*stride, std::int64_t element_bytes)
      : bytes(static_cast<double>(element_bytes)) {
    ModeList moved;
    for (const Mode& mode : modes) {
      // What repeats is not moved again.
      if (mode.extent > 1 && mode.*stride != 0) moved.push_back(mode);
    }
    std::sort(moved.begin(), moved.end(), [&](const Mode& a, const Mode& b) {
      return std::abs(a.*stride) < std::abs(b.*stride);
    });
    for (const Mode& mode : moved) {
      const std::int64_t size = std::abs(mode.*stride);
      const auto of_step = static_cast<double>(size), extent = static_cast<double>(mode.extent);
      if (of_step < bytes || of_step >= bytes + sector_bytes) {
        if (step == 0) step = size;
        aligned = aligned && size % burst_bytes == 0;
        count *= extent;
      } else {
        bytes += of_step * (extent - 1);
        elements *= extent;
      }
    }
  }
};

// Bytes of whole sectors for one side.
double side_bytes(const SideRuns& runs, std::int64_t element_bytes) {
  if (runs.count == 1) return runs.bytes;
  const double cut =
      runs.elements > 1  // half a sector is cut off, on the average
          ? sector_bytes / 2.0
          : static_cast<double>(sector_bytes - gcd_of_power(sector_bytes, element_bytes));
  return runs.count * (runs.bytes + cut);
}

double side_bytes(const ModeList& modes, std::int64_t Mode::*stride, std::int64_t element_bytes) {
  return side_bytes(SideRuns(modes, stride, element_bytes), element_bytes);
}

// What memory takes for a sparse run of the source, in bytes of a large copy: the bursts that it
// touches, and more the farther the next one is. Measured on an H200 with some fields of structures
// of 64 to 470 bytes, and taken for other GPUs as well.
double sparse_read(const SideRuns& runs) {
  const auto step = static_cast<double>(runs.step);
  const double touched = runs.aligned ? burst_bytes : runs.bytes + burst_bytes - 1;
  return touched + std::min((step - burst_bytes) / 10, 40.0);
}
// What memory takes for such a run where the L2 is asked for whole lines.
double sparse_lines(const SideRuns& runs) {
  return std::min(static_cast<double>(runs.step), runs.bytes + line_bytes - 1);
}

// What memory takes for a short row of the destination, by the bytes to the next one. Where each
// sector has a row, all is read and written once; else those count more that touch two sectors.
double short_written(const DstRow& row) {
  constexpr double sector = sector_bytes;
  const std::int64_t step = row.bytes + row.gap;
  const auto to_next = static_cast<double>(step);
  if (to_next <= sector) return 2 * to_next;
  const std::int64_t granule = gcd_of_power(gcd_of_power(sector_bytes, row.bytes), step);
  const double second = static_cast<double>(row.bytes - granule) / sector;
  return 2 * sector + std::min(1.2 * (to_next - sector) + 70 * second, 206.0);
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
  const BlockRow& row = normal.blocks->row();
  const std::int64_t blocks = ceil_div(normal.modes[layout.axis].extent, std::int64_t{row.along});
  const std::int64_t units = blocks * (row.along / row.values_per_unit());
  const double values = array_bytes(normal, layout, layout.value_strides, units, row.unit_bytes());
  if (layout.scale_strides.empty()) return values;
  return values + array_bytes(normal, layout, layout.scale_strides, blocks, row.scale_bytes());
}

// The modes along which the destination repeats. Modes are sorted by strides of the destination, as
// those of a normalised problem are.
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
    const SideRuns runs(normal.modes, &Mode::src_stride, normal.src_type.size());
    least.src_bytes = side_bytes(runs, normal.src_type.size());
    if (are_sparse(static_cast<std::int64_t>(runs.bytes), runs.step)) {
      least.src_sparse = runs.count * sparse_read(runs);
      least.src_lines = runs.count * sparse_lines(runs);
    }
  }
  if (normal.blocks == nullptr || back) {
    least.dst_bytes = side_bytes(normal.modes, &Mode::dst_stride, normal.dst_type.size());
  }
  if (normal.blocks == nullptr) {
    find_repeats(least, normal);
    const DstRow row = dst_row(normal);
    const auto bytes = static_cast<double>(row.bytes), gap = static_cast<double>(row.gap);
    const double rows = static_cast<double>(normal.bytes()) / bytes;
    if (leaves_cut_sectors(row))
      least.cut_rows = rows * std::min(1.0, (bytes + gap) / sector_bytes);
    if (row.is_short()) least.dst_short = rows * short_written(row);
    if (row.gap > 0) least.of_cut_rows = row.touched_of(normal.bytes());
    return least;
  }
  (back ? least.src_bytes : least.dst_bytes) = blocks_bytes(normal, normal.blocks->first);
  if (normal.blocks->second) least.dst_bytes += blocks_bytes(normal, *normal.blocks->second);
  return least;
}

DstRow dst_row(const Problem& normal) {
  DstRow row{.bytes = normal.dst_type.size()};
  bool inside = true;
  for (int i = normal.rank(); i-- > 0;) {  // the fastest first
    const Mode& mode = normal.modes[i];
    if (mode.extent == 1) continue;
    const std::int64_t step = std::abs(mode.dst_stride);
    if (inside && step == row.bytes) {
      row.bytes *= mode.extent;
      ++row.modes;
      continue;
    }
    if (inside) row.gap = step - row.bytes;
    inside = false;
    row.whole_sectors = row.whole_sectors && step % sector_bytes == 0;
  }
  row.whole_sectors =
      row.whole_sectors && row.bytes % sector_bytes == 0 && normal.dst_offset % sector_bytes == 0;
  return row;
}

bool DstRow::is_short() const {
  constexpr std::int64_t one_store = 16;  // bytes
  const bool alone = bytes <= one_store || is_sparse();
  return gap > 0 && alone && !whole_sectors;
}

double DstRow::touched() const {
  const std::int64_t granule = gcd_of_power(gcd_of_power(sector_bytes, bytes), bytes + gap);
  return static_cast<double>(std::min(bytes + sector_bytes - granule, bytes + gap));
}

bool leaves_cut_sectors(const DstRow& row) {
  constexpr std::int64_t longest = 2048;  // bytes, as measured
  return row.gap > 0 && row.bytes <= longest && !row.whole_sectors && !row.is_sparse();
}

bool gains_from_prefetching(DstRow row, const Problem& normal, const Alignment& start,
                            const DeviceInfo& device) {
  // Plans know of an array's address no more than that. Kernels look at it.
  constexpr std::int64_t vector = 16;
  row.whole_sectors = row.whole_sectors && start.dst % vector == 0;
  return leaves_cut_sectors(row) && outgrow_l2(row.touched_of(normal.bytes()), device);
}

}  // namespace cornerturn::plan::gpu
