// What the rungs in CuTe's words do to memory. Nothing runs them here: each leg is two layouts, and
// the warps' requests follow from these.
//
//   takes  (thread, step) -> number of an element of the tile, row + tile rows * col, its first one
//   tile   (row, col) -> place of the element in shared memory
//
// That they are the layouts of src/workshop/cuda/cute/ is checked against CuTe itself (tests/maps).
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "maps/composed.hpp"
#include "workshop/analyse/kernel_report.hpp"
#include "workshop/rungs/cute.hpp"

namespace cornerturn {

struct CuteLeg {
  simt::Op op = simt::Op::global_load;
  int width = 4;  ///< bytes a lane
  SwizzledLayout takes;
  SwizzledLayout tile;     ///< shared legs and async copies
  bool predicated = true;  ///< or all lanes are active, at the matrix's edges too
  /// By the copy engine, of which no lane knows. Its boxes are counted in pieces of 32 x 16 bytes;
  /// what it does to shared memory is not counted.
  bool tma = false;
};

/// In the order of the kernel.
std::vector<CuteLeg> cute_legs(std::string_view rung);

/// All tiles of rows x cols elements; `first` gets the first request of each leg of the report, its
/// global addresses counted from 0. Throws Error for an unknown rung, and for a case that
/// ladder::cute_why_not refuses.
KernelReport cute_report(std::string_view rung, std::int64_t rows, std::int64_t cols,
                         int element_bytes = 4, std::vector<simt::Request>* first = nullptr);

/// The layouts by name, so that they can be looked at alone.
namespace cute_tiles {

/// Rows of 32; a column is one bank.
inline constexpr SwizzledLayout plain = {{}, 0, row_major(32, 32)};
/// Rows 33 apart.
inline constexpr SwizzledLayout padded = {
    {}, 0, make_layout({make_leaf(32, 33), make_leaf(32, 1)})};
inline constexpr SwizzledLayout swizzled = composition(AnySwizzle{5, 0, 5}, row_major(32, 32));
/// The column's own high bit is among the five that are xor-ed in.
inline constexpr SwizzledLayout swizzled_two_way =
    composition(AnySwizzle{5, 0, 5}, row_major(64, 64));
inline constexpr SwizzledLayout swizzled_64 = composition(AnySwizzle{5, 0, 6}, row_major(64, 64));

/// What TMA's 128-byte swizzle does to rows of 32 elements of 4 bytes.
inline constexpr AnySwizzle sw128 = {3, 2, 3};
/// (row, col) of the source -> place; rows of 128 bytes, the tile's two halves one after the other.
inline constexpr SwizzledLayout tma_source = composition(
    sw128, make_layout({make_leaf(64, 32), make_layout({make_leaf(32, 1), make_leaf(2, 2048)})}));
/// The same for the destination's rows, still by (row, col) of the source.
inline constexpr SwizzledLayout tma_destination = composition(
    sw128, make_layout({make_layout({make_leaf(32, 1), make_leaf(2, 2048)}), make_leaf(64, 32)}));
/// 64 rows of the destination, 32 of the source.
inline constexpr SwizzledLayout tma_store =
    composition(sw128, make_layout({make_leaf(32, 1), make_leaf(64, 32)}));

}  // namespace cute_tiles

}  // namespace cornerturn
