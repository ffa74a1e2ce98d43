// The panels of a pass, transposed from the side back into their places.
#pragma once

#include <cstddef>
#include <cstdint>

namespace cornerturn::cpu {

/// `rows` by `columns` elements of 1, 2, 4, 8 or 16 bytes.
struct PanelCopy {
  std::int64_t rows;
  std::int64_t columns;
  std::int64_t element;
  std::int64_t pitch;  ///< bytes from row to row of the copy
};

/// Copies the panel at `from` to the side.
void copy_aside(const PanelCopy& panel, std::byte* copy, const std::byte* from);

/// Writes the transpose of the copy to `to`, packed. Meanwhile as many bytes at `next` are fetched.
void transpose_back(const PanelCopy& panel, std::byte* to, const std::byte* copy,
                    const std::byte* next);

}  // namespace cornerturn::cpu
