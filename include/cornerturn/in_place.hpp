// Permutations within the memory of the array, for arrays of which memory holds no copy.
//
// Axes of equal extent change places in one pass over the array, without any workspace. Everything
// else takes two or three passes and a workspace of at most 1 MiB or one per cent of the array,
// whichever is more; the plan says how much, and which passes. The workspace is taken before
// anything is written. A call that throws has written nothing.
//
// The arrays lie in host memory or on a GPU. There the work is enqueued on `options.stream`, and
// the workspace comes from the pool of that stream. Nobody else may use the array until it is done,
// not even a reader.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>

#include "cornerturn/element_type.hpp"
#include "cornerturn/export.hpp"
#include "cornerturn/plan.hpp"
#include "cornerturn/view.hpp"

namespace cornerturn {

/// Puts the axes of `array` into the order `permutation` and returns the view of the result, over
/// the same memory: result.shape[i] = array.shape[permutation[i]].
///
/// The elements of `array` fill their memory without gaps, in any order of its axes; the result is
/// then packed and row-major. An array with gaps, such as a matrix whose rows are a pitch apart,
/// keeps its strides, and only pairs of axes of equal extent can change places in it; the bytes in
/// its gaps are neither read nor written. Strides that are negative, 0 or let elements overlap are
/// refused.
CT_API View permute_in_place(const View& array, std::span<const int> permutation,
                             const Options& options = {});
inline View permute_in_place(const View& array, std::initializer_list<int> permutation,
                             const Options& options = {}) {
  return permute_in_place(array, std::span<const int>(permutation.begin(), permutation.size()),
                          options);
}

/// Transposes the packed row-major matrix `array`, of rows x columns elements, into one of columns
/// x rows elements in the same memory, and returns its view.
CT_API View transpose_in_place(void* array, std::int64_t rows, std::int64_t columns,
                               ElementType type, const Options& options = {});
template <class T>
View transpose_in_place(T* array, std::int64_t rows, std::int64_t columns,
                        const Options& options = {}) {
  return transpose_in_place(static_cast<void*>(array), rows, columns, ElementType::of<T>(),
                            options);
}

/// The plan that permute_in_place finds and runs: its steps, their passes and the workspace. The
/// pointer may be null.
CT_API Plan plan_in_place(const View& array, std::span<const int> permutation,
                          const Options& options = {});
inline Plan plan_in_place(const View& array, std::initializer_list<int> permutation,
                          const Options& options = {}) {
  return plan_in_place(array, std::span<const int>(permutation.begin(), permutation.size()),
                       options);
}

}  // namespace cornerturn
