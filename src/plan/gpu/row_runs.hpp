// A normalised problem as rows of bytes: runs that both sides share, and the modes that tell them
// apart.
#pragma once

#include <cstdint>
#include <numeric>

#include "core/problem.hpp"

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
