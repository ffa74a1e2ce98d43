// --index and --index-axis: an axis that is read by a list of indices, which a file holds.
#pragma once

#include <CLI/CLI.hpp>
#include <cstddef>
#include <string>
#include <vector>

#include "io/array_file.hpp"
#include "io/rearrange_indexed.hpp"

namespace cornerturn::cli {

struct IndexArguments {
  std::string file;
  std::string axis = "0";
  CLI::Option* file_option = nullptr;

  void add_to(CLI::App& command);
  bool any() const { return file_option->count() > 0; }
  /// Throws where the option, "--in-place", was given as well.
  void refuse_with(const std::string& option, bool given, const std::string& why) const;
};

/// The indices of a file, read and checked.
class IndexFile {
 public:
  /// Of an array of this shape. Throws Error that names the entry that is out of range.
  IndexFile(const IndexArguments& arguments, const std::vector<std::int64_t>& shape);

  /// Refers to this object.
  io::IndexList list() const;
  const io::InputArray& input() const { return input_; }

 private:
  void check(std::int64_t extent) const;

  io::InputArray input_;
  std::vector<std::byte> table_;
  int axis_ = 0;
};

/// The list of the array's own axis: a shape of the result, before its axes are permuted.
std::vector<std::int64_t> indexed_shape(std::vector<std::int64_t> shape, const io::IndexList& list);

}  // namespace cornerturn::cli
