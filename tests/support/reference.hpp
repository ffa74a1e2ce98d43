// The one obvious implementation that every other is checked against.
#pragma once

#include <cstddef>
#include <cstring>

#include "core/problem.hpp"

namespace cornerturn::test {

inline void reference_modes(const Problem& problem, int mode, const std::byte* src,
                            std::byte* dst) {
  if (mode == problem.rank()) {
    std::memcpy(dst, src, static_cast<std::size_t>(problem.src_type.size()));
    return;
  }
  const Mode& m = problem.modes[mode];
  for (std::int64_t i = 0; i < m.extent; ++i) {
    reference_modes(problem, mode + 1, src + i * m.src_stride, dst + i * m.dst_stride);
  }
}

/// One element at a time, in the order of the modes.
inline void reference_copy(const Problem& problem, const std::byte* src, std::byte* dst) {
  reference_modes(problem, 0, src + problem.src_offset, dst + problem.dst_offset);
}

}  // namespace cornerturn::test
