// --scale-layout: how the scales of blocks lie in a .npy file of their own.
#pragma once

#include <string>

#include "core/block_format.hpp"
#include "cornerturn/view.hpp"
#include "io/array_file.hpp"

namespace cornerturn::cli {

class ScaleFile {
 public:
  ScaleFile() = default;
  /// `blocks` is the shape of the blocks: {..., lines, scales of a line}. No layout: what
  /// torch._scaled_mm takes for fp8_1x128, else "packed". Throws Error unless the layout suits
  /// them.
  ScaleFile(const BlockRow& row, const std::string& layout, Extents blocks);

  /// Do scales lie in the file without gaps, in rows or columns?
  bool is_plain() const { return layout_ == "packed" || layout_ == "mn_major"; }
  bool is_in_columns() const;
  /// What a file of them says of itself. An array that lies as well in Fortran order may say so.
  io::NpyHeader header() const;
  /// The bytes of such a file, made of packed scales, and the other way round. `fortran_order` is
  /// that of the file.
  io::Buffer from_packed(const std::byte* packed) const;
  io::Buffer to_packed(const std::byte* stored, bool fortran_order) const;

 private:
  ScaleOrder order() const;
  std::int64_t packed_bytes() const;
  /// The scales in the bytes of a file.
  View stored_view(std::byte* stored, bool fortran_order) const;
  View packed_view(std::byte* packed) const;

  const BlockRow* row_ = nullptr;
  std::string layout_ = "packed";
  Extents blocks_;
};

}  // namespace cornerturn::cli
