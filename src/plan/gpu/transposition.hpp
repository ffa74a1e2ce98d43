// A problem in place that transposes matrices, each within its own memory.
#pragma once

#include <cstdint>
#include <optional>

#include "core/problem.hpp"
#include "kernels/walk.hpp"

namespace cornerturn::plan::gpu {

/// [batch][rows][columns] of elements -> [batch][columns][rows].
struct Transposition {
  std::int64_t rows = 1;
  std::int64_t columns = 1;
  std::int64_t element = 1;  ///< bytes that stay together
  ModeList batch;            ///< where the matrices begin, the one that changes fastest last

  std::int64_t matrix_bytes() const { return rows * columns * element; }
  std::int64_t matrices() const;
  /// Do they lie one after the other?
  bool is_packed() const;
  /// The multiple of bytes, at most 16, at which all matrices begin after one that does.
  std::int64_t granule() const;
  /// Where matrix number n begins; every count is below 2^31.
  kernels::Walk places() const;
};

/// Nothing where the problem is none, or has more modes than a Walk.
std::optional<Transposition> transposition_of(const Problem& normal);

}  // namespace cornerturn::plan::gpu
