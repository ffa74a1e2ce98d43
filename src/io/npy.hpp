// The header of NumPy's .npy files, versions 1.0, 2.0 and 3.0.
// Format: https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cornerturn::io {

/// What a .npy header says. The dtype is kept as it was written, so that it survives a rewrite.
struct NpyHeader {
  int version = 1;             ///< 1, 2 or 3
  std::string descr;           ///< the dtype as a Python literal: "'<f4'", "[('x', '<f8')]"
  std::int64_t item_size = 0;  ///< bytes of one element
  bool fortran_order = false;
  std::vector<std::int64_t> shape;

  friend bool operator==(const NpyHeader&, const NpyHeader&) = default;
};

/// Bytes at the start of a file that say how long its header is.
inline constexpr std::size_t npy_preamble_size = 12;
/// Where the major version stands. While an array is put into another order in place, this is set
/// in it: NumPy and others then refuse the file, because they do not know its version.
inline constexpr std::size_t npy_version_offset = 6;
inline constexpr unsigned char npy_unfinished = 0x80;
/// A longer header is taken for a corrupt file.
inline constexpr std::int64_t max_npy_header = std::int64_t{1} << 20;

/// The dtype as UTF-8, for showing it: headers of versions 1.0 and 2.0 are Latin-1.
std::string descr_text(const NpyHeader& header);

/// Where the array begins, judged by the first `npy_preamble_size` bytes of a file (fewer for a
/// shorter file). Throws Error for another kind of file, an unknown version or a header that is too
/// long.
std::int64_t npy_data_offset(std::string_view preamble);

/// Parses everything in front of the array: `bytes` holds npy_data_offset() bytes. Throws Error.
NpyHeader parse_npy_header(std::string_view bytes);

/// The bytes in front of the array, padded as NumPy pads them: a multiple of 64.
std::string format_npy_header(const NpyHeader& header);

/// A header of exactly `bytes` bytes, with more or fewer spaces at its end: for a header that is
/// written over another. Throws Error where it does not fit.
std::string format_npy_header(const NpyHeader& header, std::int64_t bytes);

/// Bytes of the array. Throws Error when that does not fit in 64 bits.
std::int64_t array_bytes(const std::vector<std::int64_t>& shape, std::int64_t item_size);

/// "(2, 3)", "(5,)", "()": as Python writes a shape.
std::string shape_text(const std::vector<std::int64_t>& shape);

}  // namespace cornerturn::io
