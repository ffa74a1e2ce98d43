// A result on its way to a .npy file, a raw file or a pipe.
#pragma once

#include <cstdint>
#include <string>

#include "files/output_file.hpp"
#include "io/npy.hpp"
#include "io/rearrange.hpp"

namespace cornerturn::cli {

class ArrayOutput {
 public:
  /// Opens `path`, the argument called `name`, and writes the header unless the file is to be raw.
  /// "-" is standard output.
  ArrayOutput(const std::string& name, const std::string& path, io::NpyHeader header, bool raw,
              files::Sync sync);

  const io::NpyHeader& header() const { return header_; }
  /// Bytes of the array.
  std::int64_t bytes() const { return bytes_; }
  /// A sink that takes bytes in order is where the array begins.
  io::Sink sink() const { return {&file_.file(), header_bytes_}; }
  files::OutputFile& output_file() { return file_; }

  bool syncs() const { return file_.syncs(); }
  void commit() { file_.commit(); }

 private:
  io::NpyHeader header_;
  std::int64_t bytes_;
  std::int64_t header_bytes_;
  files::OutputFile file_;
};

}  // namespace cornerturn::cli
