// A problem cut into pieces that cross the link one after the other.
#pragma once

#include <cstdint>

#include "core/problem.hpp"

namespace cornerturn::plan::link {

enum class Side : std::uint8_t { source, destination };

inline std::int64_t stride_on(Side side, const Mode& mode) {
  return side == Side::source ? mode.src_stride : mode.dst_stride;
}

/// A piece: where it begins, in bytes from the first elements of both sides.
struct Piece {
  std::int64_t src = 0;
  std::int64_t dst = 0;
  bool is_rest = false;  ///< it has fewer steps of the mode that is cut than the others
};

/// Each piece takes one step of all outer modes, `step` steps of the mode that is cut, and all of
/// the modes that are left.
struct Cut {
  ModeList outer;       ///< slowest first
  Mode split{1, 0, 0};  ///< the mode that is cut
  std::int64_t step = 1;
  Problem piece;  ///< of a whole piece, offsets 0; the mode that is cut is its first one
  Problem rest;   ///< of one with fewer steps; equal to `piece` where there is none

  std::int64_t pieces_of_split() const { return (split.extent + step - 1) / step; }
  std::int64_t count() const;
  Piece at(std::int64_t number) const;
  bool has_rest() const { return split.extent % step != 0; }
};

/// Cuts a move or a conversion, whose offsets are left to the caller, so that a piece has at most
/// `most` bytes of elements of `element` bytes, along the modes that lie furthest apart on a side:
/// what is one run there stays one. Modes that a scale or a bias belongs to are not cut, so that a
/// piece may be larger than asked for.
Cut cut_along(const Problem& normal, Side side, std::int64_t element, std::int64_t most);

/// The bytes from the first to the last of a side, and the first, which a negative stride puts in
/// front of the first element.
struct Span {
  std::int64_t first = 0;
  std::int64_t bytes = 0;
};
Span span_of(const Problem& problem, Side side);

/// The mode along which both sides have the same run of elements; -1: a run is one element.
int run_of(const Problem& problem);

/// Is every byte of the span that of one element?
bool is_dense(const Problem& problem, Side side);

}  // namespace cornerturn::plan::link
