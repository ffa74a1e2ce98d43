// Beside the casts of blocks.hpp: scales in another order, blocks that are transposed as they are
// stored, and matrices of groups (experts). All functions throw Error before anything is written.
//
// All arrays of a call lie in host memory, or on the current GPU, which works in the order of the
// stream: convert_scales in several launches, transpose_blocks in two, quantise_groups in at least
// one for each group.
#pragma once

#include "cornerturn/block_format.hpp"
#include "cornerturn/blocks.hpp"
#include "cornerturn/export.hpp"
#include "cornerturn/plan.hpp"
#include "cornerturn/view.hpp"

namespace cornerturn {

/// Brings the scales of a matrix, or of several, from the order `from` to the order `to`, where
/// `shape` is {..., lines, scales of a line}. The views are what quantise() would have been given
/// in their order, with blocks along the last axis:
///   strided      that shape, any type and any strides; two of them have one type
///   packed_4     b4, i32 or u32, {..., lines, fours}
///   tiles_128x4  u8, {..., tiles of lines, fours, 512}
/// Scales are bytes where one side has fours or tiles, which are filled up with zeros.
CT_API void convert_scales(const View& dst, ScaleOrder to, const ConstView& src, ScaleOrder from,
                           const Extents& shape, const Options& options = {});

/// Transposes blocks as they are stored. `src_values` and `src_scales` hold a matrix (R x C) with
/// blocks along its last axis, as quantise() makes them in a format with an array of scales;
/// `values` and `scales` become those of the transpose (C x R). Scales are strided. Both extents
/// are multiples of a block.
///
/// Square blocks move, in any memory. Where each line has scales of its own, the arrays lie in host
/// memory. A square of blocks then takes the largest of its scales, and codes change so that every
/// value stays exactly what it is. Equal scales always allow that, and powers of two where no value
/// becomes too small for its type. Error(unsupported) names a value that cannot stay.
CT_API void transpose_blocks(BlockFormat format, const View& values, const View& scales,
                             const ConstView& src_values, const ConstView& src_scales,
                             const Options& options = {});

/// Quantises a matrix whose rows are groups, sizes[g] rows each, one group after the other. Every
/// group becomes what quantise() makes of it alone, with blocks along `axis`: 1, or 0 where blocks
/// do not reach from a group into the next.
///
/// The groups follow each other along axis 0 of `values` and of `scales`, each with as many indices
/// as it has blocks for there; options.pad fills up the last blocks of a group. Scales in tiles
/// have the shape {tiles, 512} and are packed: those of the first group, then those of the second
/// one.
CT_API void quantise_groups(BlockFormat format, const View& values, const View* scales,
                            const ConstView& src, const Extents& sizes, int axis,
                            const BlockOptions& options = {});

}  // namespace cornerturn
