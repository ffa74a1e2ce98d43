// How the bytes of a file get from one order to another: in one pass or two, in which boxes, with
// how much memory. Decided before anything is read; prints itself.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/problem.hpp"
#include "io/grid.hpp"

namespace cornerturn::io {

enum class Route {
  mapped,    ///< the source lies in memory: boxes are transposed into a buffer and written
  one_pass,  ///< boxes are read, transposed and written
  two_pass,  ///< contiguous pieces are read and written as parts of panels; then each panel is
             ///< read, put in order and written: long runs even with little memory
};

/// What the program needs besides its buffers.
inline constexpr std::int64_t program_memory = std::int64_t{16} << 20;

struct Limits {
  int threads = 1;
  /// Most bytes that the process may use; 0: the source lies in memory and needs none.
  std::int64_t memory = 0;
  /// The destination takes bytes from the beginning to the end only.
  bool in_order = false;
  /// Threads at most where memory is limited: two keep reading, transposing and writing apart, and
  /// more would only shorten the runs.
  int at_once = 2;
  /// Never twice, however short the runs.
  bool one_pass = false;
};

struct Schedule {
  Problem problem;  ///< normalised; offsets are counted from the first byte of each array
  Route route = Route::mapped;
  bool in_order = false;
  int workers = 1;
  Grid boxes;   ///< of the only pass, or the source pieces of the first pass
  Grid panels;  ///< of the second pass

  int passes() const noexcept { return route == Route::two_pass ? 2 : 1; }
  std::int64_t buffer_bytes() const noexcept;
  /// Bytes in one run at its usual length, in the pass where it is shortest.
  std::int64_t read_run() const;
  std::int64_t write_run() const;
  /// Bytes that will be read from files, and written.
  std::int64_t bytes_read() const noexcept;
  std::int64_t bytes_written() const noexcept;

  friend bool operator==(const Schedule&, const Schedule&) = default;
};

/// Below this there is no room for the program itself.
inline constexpr std::int64_t least_memory = std::int64_t{32} << 20;

/// Throws Error when `memory` is below least_memory.
void require_memory(std::int64_t memory);

/// `problem` must be dense on both sides. Throws Error when limits.memory is below least_memory.
Schedule make_schedule(const Problem& problem, const Limits& limits);

/// What is said of a schedule.
struct ScheduleSummary {
  Route route = Route::mapped;
  int threads = 1;
  std::int64_t boxes = 0;
  std::int64_t box_bytes = 0;
  std::int64_t panels = 0;
  std::int64_t read_run = 0;
  std::int64_t write_run = 0;
  std::int64_t buffer_bytes = 0;
  std::int64_t bytes_read = 0;
  std::int64_t bytes_written = 0;
};

ScheduleSummary summary_of(const Schedule& schedule);

/// One line.
std::string to_string(const ScheduleSummary& summary);
std::string to_string(const Schedule& schedule);

/// What programs read.
std::string to_json(const ScheduleSummary& summary);
std::string to_json(const Schedule& schedule);

/// "1.5 GiB", "640 B".
std::string size_text(std::int64_t bytes);

/// The problem of writing an array packed row-major with its axes in the order `permutation`.
/// `item_size` may be anything from 1.
Problem file_problem(const Extents& shape, std::int64_t item_size, bool fortran_order,
                     const std::vector<int>& permutation);

}  // namespace cornerturn::io
