// Blocks of 32 values along one axis that share a scale: ggml's q8_0 and OCP's MXFP8.
//
// What is quantised may have any strides, so that a transposition happens in the same pass:
// quantise `x.permuted(...)`. All functions throw cornerturn::Error before anything is written. All
// arrays of a call lie in host memory, or on the current GPU (or are managed): then it works in the
// order of the stream, in one launch (quantise_mxfp8_both in two where the matrix is not of f32,
// f16 or bf16 with rows of whole 16 bytes and extents that are multiples of 32, or a result is not
// packed), and elements lie at multiples of their size.
#pragma once

#include <cstdint>

#include "cornerturn/export.hpp"
#include "cornerturn/view.hpp"

namespace cornerturn {

/// Values in a block, and bytes of one of q8_0: its scale as f16, then 32 x int8.
inline constexpr int block_values = 32;
inline constexpr int q8_0_bytes = 34;

/// How the scale of an MXFP8 block, a power of two, follows from its largest magnitude.
enum class BlockScale : std::uint8_t {
  floor,  ///< as the OCP specification has it: the largest magnitude may saturate
  ceil,   ///< the least with which it does not
};

struct BlockOptions {
  /// An extent that is no multiple of 32 is refused; or padded with zeros.
  bool pad = false;
  BlockScale scale = BlockScale::floor;
  /// At most so many of the CPU; 0: all that the process may use.
  int threads = 0;
  /// The cudaStream_t on which a GPU works; null: the default stream.
  void* stream = nullptr;
};

/// `blocks` becomes `src` in q8_0, with blocks along `axis`. Elements of `blocks` are b34; its
/// shape is that of `src` with a 32nd of the extent at `axis`. `src` holds real values of any type.
CT_API void quantise_q8_0(const View& blocks, const ConstView& src, int axis,
                          const BlockOptions& options = {});
/// `dst`, of any real type, becomes the values of `blocks`.
CT_API void dequantise_q8_0(const View& dst, const ConstView& blocks, int axis,
                            const BlockOptions& options = {});

/// `values`, of f8_e4m3 or f8_e5m2, becomes `src` in MXFP8 with blocks along `axis`, and `scales`,
/// of u8, the E8M0 codes of their scales: 2^(code - 127). Shapes: that of `src` (padded: a multiple
/// of 32 at `axis`), and the same with a 32nd of the extent there.
CT_API void quantise_mxfp8(const View& values, const View& scales, const ConstView& src, int axis,
                           const BlockOptions& options = {});
CT_API void dequantise_mxfp8(const View& dst, const ConstView& values, const ConstView& scales,
                             int axis, const BlockOptions& options = {});

/// Both copies that training needs, in one read of the matrix `src` (R x C): `rows` (R x C) with
/// blocks along C, and `columns`, its transpose (C x R), with blocks along R.
CT_API void quantise_mxfp8_both(const View& rows, const View& row_scales, const View& columns,
                                const View& column_scales, const ConstView& src,
                                const BlockOptions& options = {});

}  // namespace cornerturn
