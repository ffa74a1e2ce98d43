// Where scales lie that are counted by lines and blocks, in bytes: values::scale_place in steps.
#pragma once

#include <cstdint>

#include "kernels/context.hpp"
#include "values/blocks.hpp"

namespace cornerturn::kernels {

struct ScaleSteps {
  std::int64_t line = 0;     ///< from one line to the next, of 32
  std::int64_t line32 = 0;   ///< from 32 lines to the next, of 128
  std::int64_t line128 = 0;  ///< from 128 lines to the next
  std::int64_t block = 0;    ///< from one block of a line to the next, of 4
  std::int64_t four = 0;     ///< from 4 blocks to the next

  ScaleSteps() = default;
  /// Of scales of so many bytes, with the strides of a layout.
  ScaleSteps(values::ScaleOrder order, int bytes, std::int64_t of_lines, std::int64_t of_blocks) {
    const auto place = [&](std::int64_t i, std::int64_t j) {
      return values::scale_place(order, bytes, i, j, of_lines, of_blocks);
    };
    line = place(1, 0);
    line32 = place(32, 0);
    line128 = place(128, 0);
    block = place(0, 1);
    four = place(0, 4);
  }

  CT_DEVICE std::int64_t of_line(std::uint32_t n) const {
    return n / 128 * line128 + n % 128 / 32 * line32 + n % 32 * line;
  }
  CT_DEVICE std::int64_t of_block(std::uint32_t n) const { return n / 4 * four + n % 4 * block; }
};

}  // namespace cornerturn::kernels
