// An array in a file: where its bytes start, what they are, and what becomes of them when its axes
// are permuted.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "io/file.hpp"
#include "io/npy.hpp"

namespace cornerturn::io {

/// An array that is ready to be read: a regular file, or a pipe that was put into memory or into a
/// temporary file.
struct InputArray {
  File file;
  NpyHeader header;
  std::int64_t offset = 0;  ///< of the array in the file
  std::int64_t bytes = 0;   ///< of the array
  bool raw = false;         ///< there is no header in the file
  /// What a regular file holds behind the array, as a second one: NumPy leaves it out, too.
  std::int64_t bytes_after = 0;
  Buffer spooled;  ///< what came from a pipe, when it is kept in memory

  bool in_memory() const noexcept { return spooled.data() != nullptr; }
};

/// How to read a file: as .npy, or as raw elements of a given shape.
struct InputOptions {
  std::string argument = "IN";  ///< what errors call it
  bool raw = false;
  std::vector<std::int64_t> shape;  ///< raw only
  std::string descr;                ///< raw only: a dtype as NumPy writes it
  std::int64_t item_size = 0;       ///< raw only
  /// The file is to be changed where it lies: it is opened for writing, and nobody else may change
  /// it in place meanwhile.
  bool in_place = false;
  /// Keep what comes from a pipe in a temporary file in this folder; empty: keep it in memory.
  std::string spool_directory;
};

/// Opens `path` ("-": standard input) and checks that it holds a whole array. A raw file, and one
/// that is changed in place, has to end there; a pipe is read to the array's end.
InputArray open_array(const std::string& path, const InputOptions& options);

/// The header alone, without looking at what follows it.
InputArray open_header(const std::string& path, const InputOptions& options);

/// Throws Error where the (regular) file ends before the array does, and finds what lies behind it.
void require_whole(InputArray& input);

}  // namespace cornerturn::io
