// The check of any strided copy, on the GPU: what every element should be is computed on its own,
// and every byte between the elements must be left as it was.
#pragma once

#include <cstdint>
#include <string>

#include "core/problem.hpp"

struct CUstream_st;

namespace cornerturn::cuda {

/// Fills `bytes` bytes with ordinary values (ordinary_values.hpp), as elements of `element_bytes`.
/// `data` is aligned to 16 bytes.
void fill_with_ordinary_values(std::byte* data, std::int64_t bytes, int element_bytes,
                               CUstream_st* stream);

/// For a source that was filled so. The problem's offsets count from the starts of two buffers that
/// are aligned to 16 bytes; its strides and offsets are multiples of the element size, and it
/// converts nothing.
class StridedCheck {
 public:
  explicit StridedCheck(const Problem& problem);

  /// Gives every element of the destination the complement of what it should become, and every
  /// other one of the `bytes` bytes the poison.
  void poison(std::byte* dst, std::int64_t bytes, CUstream_st* stream) const;

  /// What is wrong with a destination that was poisoned before it was written, in one line; empty
  /// if nothing is. Waits. Leaves nothing but poison behind.
  std::string difference(std::byte* dst, std::int64_t bytes, CUstream_st* stream) const;

 private:
  Problem problem_;  ///< modes sorted by destination stride, largest first
};

}  // namespace cornerturn::cuda
