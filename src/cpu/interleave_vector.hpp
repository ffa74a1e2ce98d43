// Elements of two, three or four arrays put side by side in registers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace cornerturn::cpu {

/// Are there instructions for so many arrays of elements of so many bytes?
bool interleaves_in_vectors(std::int64_t arrays, std::int64_t element_bytes);

/// Writes element i of array k to element i * arrays.size() + k of `dst`, for i in [first, last),
/// whole lines around the caches if `past_caches`.
void interleave_in_vectors(std::byte* dst, std::span<const void* const> arrays,
                           std::int64_t element_bytes, std::int64_t first, std::int64_t last,
                           bool past_caches);

}  // namespace cornerturn::cpu
