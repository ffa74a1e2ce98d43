// The modes along which a side of a problem runs without a gap.
#pragma once

#include <array>
#include <cstdint>

#include "core/problem.hpp"

namespace cornerturn::plan::gpu {

/// Modes by number, the fastest first: each begins where the one before ends.
struct Run {
  int size = 0;
  std::array<std::uint8_t, ModeList::capacity> mode{};

  int operator[](int i) const { return mode[static_cast<std::size_t>(i)]; }
  bool has(int which) const {
    for (int i = 0; i < size; ++i) {
      if (mode[static_cast<std::size_t>(i)] == which) return true;
    }
    return false;
  }
};

/// Bytes of an element on the side that the stride is of.
inline std::int64_t element_size(const Problem& problem, std::int64_t Mode::*stride) {
  return stride == &Mode::src_stride ? problem.src_type.size() : problem.dst_type.size();
}

/// The longest such run of a side, which begins with a step of one element; empty if none does.
Run run_of(const Problem& problem, std::int64_t Mode::*stride);

/// Elements of the first `modes` modes of a run.
std::int64_t elements_of(const Problem& problem, const Run& run, int modes);

}  // namespace cornerturn::plan::gpu
