// What `cornerturn transpose` was asked for, and what all its ways from a file to a file share.
#pragma once

#include <string>

#include "arguments.hpp"
#include "files/output_file.hpp"
#include "index_arguments.hpp"
#include "io/array_file.hpp"

namespace cornerturn::cli {

struct TransposeArguments {
  std::string in;
  std::string out;
  OrderArguments order;
  IndexArguments index;
  WorkArguments work;
  std::string device = "cpu";
  bool raw = false;
  std::string shape;
  std::string dtype;
  ValueArguments values;
  ScaleArguments scales;
  bool pad = false;
  bool verify = false;
  bool in_place = false;
  bool no_sync = false;
  bool json = false;
  /// Standard output takes the array and not the report: OUT is "-" or another name of it.
  bool to_pipe = false;

  files::Sync sync() const { return no_sync ? files::Sync::no : files::Sync::yes; }
};

/// Does --device ask for the GPU? Throws where there is none.
bool runs_on_gpu(const TransposeArguments& arguments);

/// Opens IN. What comes from a pipe is kept in memory, or in a file where `memory` is limited.
io::InputArray open_input(const TransposeArguments& arguments, std::int64_t memory);

/// Where temporary files go: beside OUT, or where the environment says when OUT is a pipe.
std::string temporary_directory(const TransposeArguments& arguments);

/// Throws if `path`, the argument called `name`, is the file that `input` is. Returns whether bytes
/// can be written to it only in order: a pipe or a device.
bool check_output(const io::InputArray& input, const std::string& name, const std::string& path);

/// Throws if there are options that go with a format of blocks alone.
void refuse_block_options(const TransposeArguments& arguments);

/// The transposition of values into blocks, or of blocks into values.
void transpose_blocks(const TransposeArguments& arguments);

/// IN is transposed where it lies.
void transpose_in_place(const TransposeArguments& arguments);

}  // namespace cornerturn::cli
