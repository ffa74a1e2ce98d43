// A normalised problem as rows of bytes: runs that both sides share, and the modes that tell them
// apart.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <numeric>

#include "core/problem.hpp"
#include "plan/gpu/roofline.hpp"

namespace cornerturn::plan::gpu {

struct Rows {
  explicit Rows(const Problem& normal)
      : bytes(normal.dst_type.size()), granule(normal.dst_type.size()), outer(normal.modes) {
    if (!outer.empty() && outer.back().src_stride == bytes && outer.back().dst_stride == bytes) {
      bytes *= outer.back().extent;
      outer.pop_back();
    }
    for (const Mode& mode : outer) count *= mode.extent;
  }

  /// The destination's rows follow one another.
  bool dense() const {
    std::int64_t end = bytes;
    for (int i = outer.size(); i-- > 0; end *= outer[i].extent) {
      if (outer[i].dst_stride != end) return false;
    }
    return true;
  }

  std::int64_t bytes;
  std::int64_t granule;  ///< bytes: a divisor of all addresses
  std::int64_t count = 1;
  ModeList outer;
};

/// A divisor of the places where rows begin on a side, 64 bytes at most.
inline std::int64_t granule_of(const Rows& rows, std::int64_t Mode::*stride) {
  std::int64_t granule = 64;
  for (const Mode& mode : rows.outer) granule = std::gcd(granule, mode.*stride);
  return granule;
}

/// How many of the warps that move shifted rows have the end of a row among their vectors.
inline double warps_with_ends(const Rows& rows) {
  constexpr double bytes_of_warp = 32 * 16;
  return std::min(1.0, bytes_of_warp / static_cast<double>(rows.bytes));
}

/// Memory delivers bursts of 64 bytes. What of them does not belong to the run that a kernel reads
/// is fetched again by whoever reads the neighbours, unless it is in the L2 until then: how much of
/// what has to be read of the source, as a fraction. `run` is in bytes.
inline double fetched_again(const Rows& rows, const Model& model, double run) {
  constexpr auto burst = static_cast<double>(burst_bytes);
  const Mode* near = nullptr;  // the next in the source
  const auto row = static_cast<double>(rows.bytes);
  double source = row;  // bytes of its elements
  for (const Mode& mode : rows.outer) {
    if (mode.src_stride == 0) continue;
    source *= static_cast<double>(mode.extent);
    if (near == nullptr || std::abs(mode.src_stride) < std::abs(near->src_stride)) near = &mode;
  }
  if (near == nullptr || static_cast<double>(std::abs(near->src_stride)) > row + burst) return 0;
  const auto granule = static_cast<double>(granule_of(rows, &Mode::src_stride));
  double touched = granule < burst ? run + burst - granule : std::ceil(run / burst) * burst;
  if (run < burst) {  // the destination's next may lie in the same burst
    const double step = static_cast<double>(std::abs(rows.outer.back().src_stride));
    touched = std::max(run, std::min(step, std::max(touched, burst)));
  }
  // Between two neighbours in the source so much of it is read.
  const double between =
      static_cast<double>(std::abs(near->dst_stride)) / row * std::max(row, burst);
  const double room = model.costs.kept * static_cast<double>(model.device.l2_bytes);
  // Some of a sparse source has to be read anyway.
  const double more = std::max(0.0, source / run * touched / model.least.src_bytes - 1);
  return more * between / (between + room);
}

/// Sets the bytes from the first row that a kernel's arguments allow to be read.
template <class Args>
void fill_reach(Args& args, const Rows& rows) {
  args.src_high = rows.bytes;
  for (const Mode& mode : rows.outer) {
    const std::int64_t reach = (mode.extent - 1) * mode.src_stride;
    (reach < 0 ? args.src_low : args.src_high) += reach;
  }
}

}  // namespace cornerturn::plan::gpu
