// Blocks of values that share a scale: FP8 in 128s, MXFP8, MXFP4, NVFP4 and ggml's.
//
// The source may have any strides. To transpose in the same pass, quantise `x.permuted(...)`. All
// functions throw cornerturn::Error before anything is written.
//
// All arrays of a call lie in host memory, or on the current GPU (or are managed), where elements
// lie at multiples of their size. A GPU works in the order of the stream, in one launch.
// quantise_both takes two launches for MXFP8 where the matrix does not hold f32, f16 or bf16, or
// where its rows or those of a result do not begin at multiples of 16 bytes. What a GPU has no
// kernel for is refused.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "cornerturn/block_format.hpp"
#include "cornerturn/epilogue.hpp"
#include "cornerturn/export.hpp"
#include "cornerturn/lists.hpp"
#include "cornerturn/plan.hpp"
#include "cornerturn/view.hpp"

namespace cornerturn {

/// A block has 32 values. In q8_0 it takes 34 bytes: the scale as f16, then 32 x int8.
inline constexpr int block_values = 32;
inline constexpr int q8_0_bytes = 34;

struct BlockOptions {
  /// Pads an extent that is no multiple of a block with zeros, instead of refusing it.
  bool pad = false;
  /// Empty: as the format has it, floor for scales of E8M0 and exact for all others. Formats whose
  /// scale is inside have one rule, and leave this out of account.
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
  /// How the views of scales are to be read: see quantise().
  ScaleOrder scale_order = ScaleOrder::strided;
  /// NVFP4 alone has it: the tensor's scale, as nvfp4_tensor_scale() finds it.
  float tensor_scale = 1;
  /// How values are rounded that have been scaled. Stochastic: the random bits of a value follow
  /// from `seed` and from where it lies in the array of values.
  Rounding rounding = Rounding::nearest_even;
  std::uint64_t seed = 0;
  /// Of calls with a list: as Options::lists.
  ListChecks lists = ListChecks::on_cpu;
};

/// "q8_0", "fp8_1x128", ...: the names of all formats, and the format of a name. Throws Error,
/// which lists them, for any other.
CT_API std::string format_names();
CT_API BlockFormat block_format(std::string_view name);

/// Quantises `src`, which holds real values of any type, in blocks along `axis`. The lines of a
/// block that has several, and those of tiles, follow the last of the other axes.
///
/// `values` has the shape of `src`, padded to whole blocks. It holds f8_e4m3, f8_e5m2, or u8 where
/// two values of 4 bits share a byte: then it has half of that extent at `axis`. Blocks whose scale
/// is inside are elements of so many bytes, b34 for q8_0, one a block at `axis`.
///
/// `scales` has the shape of the blocks, in options.scale_order:
///   strided      f32, u8 (E8M0) or f8_e4m3, whatever the strides are
///   packed_4     b4, four scales of a byte each: a fourth of that extent at `axis`
///   tiles_128x4  u8: one element a tile, with an axis of the 512 bytes of a tile at the end
/// The last two are filled up with zeros. Formats whose scale is inside have none: null.
CT_API void quantise(BlockFormat format, const View& values, const View* scales,
                     const ConstView& src, int axis, const BlockOptions& options = {});
/// Writes the values of blocks to `dst`, which holds any real type.
CT_API void dequantise(BlockFormat format, const View& dst, const ConstView& values,
                       const ConstView* scales, int axis, const BlockOptions& options = {});
/// Makes both copies that training needs, in one read of the matrix `src` (R x C): `rows` (R x C)
/// has blocks along C, and `columns`, the transpose (C x R), has blocks along R. The format is not
/// one whose scale is inside.
CT_API void quantise_both(BlockFormat format, const View& rows, const View& row_scales,
                          const View& columns, const View& column_scales, const ConstView& src,
                          const BlockOptions& options = {});
CT_API Plan plan_quantise(BlockFormat format, const View& values, const View* scales,
                          const ConstView& src, int axis, const BlockOptions& options = {});
CT_API Plan plan_dequantise(BlockFormat format, const View& dst, const ConstView& values,
                            const ConstView* scales, int axis, const BlockOptions& options = {});
CT_API Plan plan_quantise_both(BlockFormat format, const View& rows, const View& row_scales,
                               const View& columns, const View& column_scales, const ConstView& src,
                               const BlockOptions& options = {});

/// These functions do the same where a list of indices says which entries of the plain array there
/// are, along any of its axes: rows of experts, permuted and padded. With an index of -1
/// quantise_listed makes blocks of zeros, and dequantise_listed skips the entry. `values` and
/// `scales` lie apart from all of the array that indices may name. Indices are checked before
/// anything is written, on a GPU where options.lists asks for it. Lists of pointers and
/// Missing::left are refused. A GPU makes 8-bit floats of matrices of f32, f16 or bf16, whose rows
/// or which as a whole are entries of the list; it reads no blocks by one.
CT_API void quantise_listed(BlockFormat format, const View& values, const View* scales,
                            const ConstListedView& src, int axis, const BlockOptions& options = {});
CT_API void dequantise_listed(BlockFormat format, const ListedView& dst, const ConstView& values,
                              const ConstView* scales, int axis, const BlockOptions& options = {});
CT_API void quantise_both_listed(BlockFormat format, const View& rows, const View& row_scales,
                                 const View& columns, const View& column_scales,
                                 const ConstListedView& src, const BlockOptions& options = {});
CT_API Plan plan_quantise_listed(BlockFormat format, const View& values, const View* scales,
                                 const ConstListedView& src, int axis,
                                 const BlockOptions& options = {});

/// 448 * 6 / amax in f32, for the whole array in one pass; 1 for zeros alone, NaN for a NaN. An
/// infinity counts as the largest number. NVFP4's products are divided by the scales of both sides.
CT_API float nvfp4_tensor_scale(const ConstView& src, const BlockOptions& options = {});
/// That scale for a largest magnitude that is known.
CT_API float nvfp4_tensor_scale(double amax);

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
