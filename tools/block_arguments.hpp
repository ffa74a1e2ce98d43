// --to q8_0, --from fp8_1x128, ...: which blocks are asked for, and what has to be true of an
// array in a file for it, whether the work is to be done or only planned.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "arguments.hpp"
#include "core/block_format.hpp"
#include "io/npy.hpp"
#include "io/rearrange_blocks.hpp"

namespace cornerturn::cli {

/// Do --to or --from name a format of blocks?
bool has_blocks(const ValueArguments& values);

/// Does --from?
bool is_from_blocks(const ValueArguments& values);

/// Throws if --pad is given, which goes with such a format alone.
void refuse_pad(bool pad);

class BlockArguments {
 public:
  /// has_blocks(values). Throws Error for what does not go with blocks.
  BlockArguments(const ValueArguments& values, bool pad);

  /// Are values made of blocks?
  bool back() const { return back_; }
  const BlockRow& row() const { return row_; }
  /// What asks for blocks: "--to q8_0".
  std::string option() const;

  /// Throws Error unless the array that `header` describes, which errors call `label`, has such
  /// blocks, or can become such. Axis i of the result is axis order[i] of it.
  void check(const io::NpyHeader& header, const std::string& label,
             const std::vector<int>& order) const;
  /// The shape of the array that stores blocks, in blocks: that of their scales.
  Extents blocks_shape(const io::NpyHeader& header) const;
  /// What is to be done with the array, which has been checked.
  io::BlockTask task(const io::NpyHeader& header, const std::vector<int>& order,
                     bool scales_fortran_order = false) const;

 private:
  void check_stored(const io::NpyHeader& header, const std::string& label) const;

  const ValueArguments& values_;
  bool pad_;
  bool back_;
  const BlockRow& row_;
};

}  // namespace cornerturn::cli
