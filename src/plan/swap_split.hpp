// The exchange of two modes within one array, as the kernels of both kinds of machines see it.
#pragma once

#include <cstdint>
#include <optional>

#include "core/problem.hpp"

namespace cornerturn::plan {

/// Which modes change places.
struct SwapSplit {
  std::int64_t extent;
  std::int64_t row_stride;  ///< the larger one
  std::int64_t column_stride;
  std::int64_t element;  ///< bytes that stay together
  ModeList batch;        ///< all other modes: where the matrices begin

  /// Can elements be transposed in registers?
  bool in_registers() const {
    return element == column_stride && element <= 16 && (element & (element - 1)) == 0;
  }
};

/// Nothing where the problem is not one exchange of two modes.
std::optional<SwapSplit> split_swap(const Problem& normal);

}  // namespace cornerturn::plan
