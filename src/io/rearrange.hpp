// Carries a schedule out: from a file or memory to a file.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "cornerturn/error.hpp"
#include "cornerturn/plan.hpp"
#include "io/file.hpp"
#include "io/file_conversion.hpp"
#include "io/schedule.hpp"

namespace cornerturn::io {

/// The source array: in memory at `memory`, otherwise in `file` from byte `offset`.
struct Source {
  const std::byte* memory = nullptr;
  const File* file = nullptr;
  std::int64_t offset = 0;
};

/// The destination array, from byte `offset` of `file`. A sink that takes bytes in order only is at
/// that byte already.
struct Sink {
  const File* file = nullptr;
  std::int64_t offset = 0;
};

/// Bytes moved so far; may be read from other threads.
struct Progress {
  std::atomic<std::int64_t> bytes_read{0};  ///< from files; a mapping is not counted
  std::atomic<std::int64_t> bytes_written{0};
  std::atomic<std::int64_t> bytes_compared{0};
  std::atomic<bool> stop{false};  ///< set from another thread: the work ends soon, by an Error

  void wrote(std::int64_t bytes) {
    bytes_written += bytes;
    if (stop) throw Error(Status::io_error, "the work was stopped");
  }
};

/// Rearranges `source` into `sink` as `schedule` says. The first pass of two goes into `scratch`,
/// which may be the sink itself unless that takes bytes in order only or values are converted.
/// `options` choose the kernel. Throws Error.
void rearrange(const Schedule& schedule, const Source& source, const Sink& sink,
               const Sink& scratch, const Options& options, Progress& progress,
               const FileConversion& conversion = {});

/// The plan by which the kernel moves a whole box of the schedule (its first pass). Throws Error
/// when options.kernel is unknown or does not take such a box.
Plan box_plan(const Schedule& schedule, const Options& options);

/// Compares every element of `result` with the element of `source` that belongs there, in plain
/// loops. `problem` is that of file_problem(), not normalised; `memory` bounds the buffers where a
/// side lies in a file. Throws Error that names the first difference found.
void verify(const Problem& problem, const Source& source, const Source& result, int threads,
            std::int64_t memory, Progress& progress, const FileConversion& conversion = {});

}  // namespace cornerturn::io
