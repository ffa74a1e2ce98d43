// What the kernel of 128 x 128 values makes of a problem: matrices, and for each result where its
// lines and their scales lie.
#pragma once

#include <optional>

#include "core/problem.hpp"
#include "kernels/quantise_tile.hpp"

namespace cornerturn::plan::gpu {

/// One mode of the normal problem, or none: then its extent is 1.
struct TileMode {
  int number = -1;
  std::int64_t extent = 1;
  std::int64_t plain = 0;  ///< bytes
};

/// Matrices of plain values of which tiles are made.
struct TileStack {
  /// The problem may be any that quantises. Its list, if it has one, is a mode like any other.
  explicit TileStack(const Problem& normal);

  /// Null when the kernel takes the problem, else the rule that it breaks. `list` is the number of
  /// the list's mode, or -2 where there is none.
  const char* why_not(const Problem& normal, int list) const;
  /// All but the addresses: those of `some` stand for the values of results that are made.
  kernels::QuantiseTileArgs args(const Problem& normal, std::byte* some) const;

  TileMode rows;
  TileMode cols;
  TileMode batch;
  bool others = false;  ///< more modes than that
};

/// Do the blocks of a result run along the rows of the plain values? A list's mode is behind all
/// others, and none of their rows.
bool along_rows(const Problem& normal, const BlockLayout& layout);

}  // namespace cornerturn::plan::gpu
