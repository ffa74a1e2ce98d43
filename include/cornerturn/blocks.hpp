// Blocks of 32 values along one axis that share a scale: ggml's q8_0 and OCP's MXFP8.
//
// The source may have any strides. To transpose in the same pass, quantise `x.permuted(...)`. All
// functions throw cornerturn::Error before anything is written.
//
// All arrays of a call lie in host memory, or on the current GPU (or are managed), where elements
// lie at multiples of their size. A GPU works in the order of the stream, in one launch.
// quantise_mxfp8_both takes two launches where the matrix does not hold f32, f16 or bf16, where its
// rows are not whole 16 bytes, where an extent is no multiple of 32, or where a result is not
// packed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cornerturn/block_format.hpp"
#include "cornerturn/export.hpp"
#include "cornerturn/plan.hpp"
#include "cornerturn/view.hpp"

namespace cornerturn {

/// A block has 32 values. In q8_0 it takes 34 bytes: the scale as f16, then 32 x int8.
inline constexpr int block_values = 32;
inline constexpr int q8_0_bytes = 34;

struct BlockOptions {
  /// Pads an extent that is no multiple of 32 with zeros, instead of refusing it.
  bool pad = false;
  /// Empty: as the format has it: floor for scales of E8M0.
  std::optional<BlockScale> scale = {};
  /// The CPU uses at most so many threads; 0 means all that the process may use.
  int threads = 0;
  /// The cudaStream_t on which a GPU works; null means the default stream.
  void* stream = nullptr;
  /// As Options has them: a kernel that is forced ("blocks", or on a GPU "quantise" and
  /// "dequantise" as well), how much time choosing may take, and the device.
  std::string kernel = {};
  Effort effort = Effort::estimate;
  std::string device = {};
};

/// Quantises `src`, which holds real values of any type, to q8_0 with blocks along `axis`. The
/// elements of `blocks` are b34; its shape is that of `src` with a 32nd of the extent at `axis`.
CT_API void quantise_q8_0(const View& blocks, const ConstView& src, int axis,
                          const BlockOptions& options = {});
/// Writes the values of `blocks` to `dst`, which holds any real type.
CT_API void dequantise_q8_0(const View& dst, const ConstView& blocks, int axis,
                            const BlockOptions& options = {});

/// Quantises `src` to MXFP8 with blocks along `axis`. `values` holds f8_e4m3 or f8_e5m2 and has the
/// shape of `src`, padded to a multiple of 32 at `axis`. `scales` holds u8, the E8M0 codes of the
/// scales 2^(code - 127), and has a 32nd of that extent at `axis`.
CT_API void quantise_mxfp8(const View& values, const View& scales, const ConstView& src, int axis,
                           const BlockOptions& options = {});
CT_API void dequantise_mxfp8(const View& dst, const ConstView& values, const ConstView& scales,
                             int axis, const BlockOptions& options = {});

/// Makes both copies that training needs, in one read of the matrix `src` (R x C): `rows` (R x C)
/// has blocks along C, and `columns`, the transpose (C x R), has blocks along R.
CT_API void quantise_mxfp8_both(const View& rows, const View& row_scales, const View& columns,
                                const View& column_scales, const ConstView& src,
                                const BlockOptions& options = {});

/// The plans that these functions find and run. They say which kernel it is, why, and what it
/// should cost. The pointers may be null. options.device may name a GPU that is only described.
CT_API Plan plan_quantise_q8_0(const View& blocks, const ConstView& src, int axis,
                               const BlockOptions& options = {});
CT_API Plan plan_dequantise_q8_0(const View& dst, const ConstView& blocks, int axis,
                                 const BlockOptions& options = {});
CT_API Plan plan_quantise_mxfp8(const View& values, const View& scales, const ConstView& src,
                                int axis, const BlockOptions& options = {});
CT_API Plan plan_dequantise_mxfp8(const View& dst, const ConstView& values, const ConstView& scales,
                                  int axis, const BlockOptions& options = {});
CT_API Plan plan_quantise_mxfp8_both(const View& rows, const View& row_scales, const View& columns,
                                     const View& column_scales, const ConstView& src,
                                     const BlockOptions& options = {});

}  // namespace cornerturn
