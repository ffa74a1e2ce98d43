// gather's chunks: another order of elements, for sources that hold no two elements of a row of the
// destination near each other, but those of other rows. So many elements of a row come first, then
// the same of the rows that hold their neighbours, then the next elements of the row. For what is
// loaded once and stored several times, and for some fields of structures.
#pragma once

#include <array>

#include "core/problem.hpp"
#include "plan/gpu/roofline.hpp"

namespace cornerturn::plan::gpu::gather {

/// The sizes of chunks that are offered, in bytes of the destination.
inline constexpr std::array<int, 2> chunk_bytes{32, 256};
inline constexpr std::array<int, 2> chunk_bytes_of_fields{64, 256};

/// Whether chunks are right for a problem, however fast. All else that is here asks for that.
bool takes_chunks(const Problem& normal);

/// Whether they are candidates: the source may be read better in their order than in that of the
/// destination.
bool are_chunks_worth_it(const Problem& normal);

/// So many bytes of a row, in elements (or runs of these that both sides share).
int chunk_of(const Problem& normal, int bytes);

/// The whole chunks, with modes in the order in which elements are taken: the last is the fastest.
Problem in_chunks(const Problem& normal, int chunk);

/// What these leave of each row: fewer elements than a chunk has, maybe none. Its offsets are those
/// of its first element.
Problem behind_chunks(const Problem& normal, int chunk);

/// The runs of the destination that are stored in such an order.
MovedRuns runs_of_chunks(const Problem& order);

}  // namespace cornerturn::plan::gpu::gather
