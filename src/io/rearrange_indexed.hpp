// An array of a file of which one axis is read by a list of indices, on its way to a file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "cornerturn/lists.hpp"
#include "io/file_conversion.hpp"
#include "io/rearrange.hpp"
#include "io/schedule.hpp"

namespace cornerturn::io {

/// The entries of the result along an axis of the source: indices of the source. With -1 there is
/// nothing: zeros are read.
struct IndexList {
  int axis = 0;  ///< of the source
  Places places = Places::i64;
  const std::byte* table = nullptr;
  std::int64_t entries = 0;

  /// Of the entries from number `k` on.
  const std::byte* from(std::int64_t k) const {
    return table + k * (places == Places::i32 ? 4 : 8);
  }
};

/// A source in memory, and how it is read.
struct IndexedArray {
  /// That of file_problem(), but that the list's mode has as many steps as the list.
  Problem problem;
  IndexList list;
  int mode = 0;             ///< the list's
  std::int64_t extent = 0;  ///< of the axis in the source

  IndexedArray(const Extents& shape, std::int64_t item_size, bool fortran_order,
               const std::vector<int>& permutation, const IndexList& indices);

  /// A box of it: `data` is where the whole source lies.
  ConstListedView source(const std::byte* data, const Box& box) const;
  ConstListedView source() const;  ///< the whole, without memory
};

/// Pieces of the result, each of them contiguous, moved by so many threads.
struct IndexedSchedule {
  IndexedArray array;
  Grid pieces;
  int workers = 1;

  IndexedSchedule(IndexedArray indexed, int threads);
};

ScheduleSummary summary_of(const IndexedSchedule& schedule);

/// The plan by which the kernel moves a whole piece. Throws Error when options.kernel is unknown or
/// does not take such a piece.
Plan piece_plan(const IndexedSchedule& schedule, const Options& options);

/// Writes the result. The entries of the list are in range. Throws Error.
void rearrange_indexed(const IndexedSchedule& schedule, const std::byte* source, const Sink& sink,
                       bool in_order, const Options& options, Progress& progress,
                       const FileConversion& conversion);

/// Compares every element of `result`, a file, with what belongs there, in plain loops. Throws
/// Error that names the first difference found.
void verify_indexed(const IndexedSchedule& schedule, const std::byte* source, const Source& result,
                    Progress& progress, const FileConversion& conversion);

}  // namespace cornerturn::io
