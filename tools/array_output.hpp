// A result on its way to a .npy file, a raw file or a pipe.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "io/npy.hpp"
#include "io/output_file.hpp"
#include "io/rearrange.hpp"

namespace cornerturn::cli {

class ArrayOutput {
 public:
  /// Opens `path`, the argument called `name`, and writes the header unless the file is to be raw.
  ArrayOutput(const std::string& name, const std::string& path, io::NpyHeader header, bool raw);

  const io::NpyHeader& header() const { return header_; }
  /// Of the array.
  std::int64_t bytes() const { return bytes_; }
  /// A sink that takes bytes in order is where the array begins.
  io::Sink sink() const { return {&file(), header_bytes_}; }
  const io::File& file() const { return file_ ? file_->file() : pipe_; }

  void prepare();
  void commit();

 private:
  io::NpyHeader header_;
  std::int64_t bytes_;
  std::int64_t header_bytes_;
  std::unique_ptr<io::OutputFile> file_;
  io::File pipe_;
};

}  // namespace cornerturn::cli
