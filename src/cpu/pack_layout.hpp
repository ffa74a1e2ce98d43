// How the pack kernel works through a problem: what a box is made of, where its elements lie on
// both sides and in the stage, and how boxes follow one another. Made once for a configuration and
// a problem; the kernel's loop only reads it.
#pragma once

#include <array>
#include <cstdint>

#include "core/problem.hpp"
#include "plan/cpu/pack.hpp"

namespace cornerturn::cpu {

/// One of the three sides of a box (see plan::BoxRole): where its elements lie, counted from the
/// box's first element. Offsets are in bytes.
struct PackSide {
  std::int64_t count;      ///< elements of a whole box
  std::int64_t last_unit;  ///< those for one index of the last mode, which a box may take in part
  std::array<std::int64_t, plan::pack::max_side> src, dst;
  std::array<std::int32_t, plan::pack::max_side> stage;  ///< counted from the start of their run
  std::array<std::int32_t, plan::pack::max_side> run;    ///< the number of their run
};

/// A run is a contiguous stretch of the destination that a box fills. The stage holds an image of
/// each run, line by line.
struct PackRun {
  std::int64_t dst;           ///< of its first byte, counted from the box's first
  std::int32_t deep, across;  ///< the column that it starts with
};

struct PackLayout {
  PackSide across, down, deep;

  // Runs. They are numbered column by column.
  std::uint32_t in_run;    ///< bit k: part k of the configuration lies within a run
  std::int64_t run_bytes;  ///< of a whole box
  std::int64_t runs;
  std::int64_t runs_a_column;
  std::array<PackRun, plan::pack::max_columns> run;
  std::int64_t run_pitch;  ///< bytes from one run to the next in the stage
  std::int64_t window;     ///< so many columns are done at a time, each with all its repetitions
  bool ascending;          ///< columns lie in the stage in the order in which they are made

  // Boxes: one for each index of `steps`, whose strides lead from box to box, fastest last.
  ModeList steps;
  std::array<int, ModeList::capacity> step_mode;  ///< the problem's mode of each step
  std::int64_t boxes;

  // What may be read, and how rows are fetched ahead
  std::int64_t src_last;     ///< the source's bytes end before this, counted from its first element
  std::int64_t down_reach;   ///< the largest offset of a row in a box
  std::int64_t dense_bytes;  ///< of the rows of a box that follow each other without gaps, else 0
  bool far;                  ///< rows of a box lie far from each other
  bool fetch;                ///< rows are fetched ahead: they do not compete for sets of a cache
};

/// Makes the layout in place: it is large, and most of its tables stay empty.
void make_layout(const plan::PackConfig& config, const Problem& normal, PackLayout& layout);

/// This thread's layout of the last configuration and problem that it was asked for: a next range
/// of the same work, or a next call, finds it ready.
const PackLayout& pack_layout(const plan::PackConfig& config, const Problem& normal);

/// Where one box begins on either side, and how much of a whole box it is.
struct PackBox {
  std::int64_t src, dst;
  std::int64_t across, down, deep;
  std::int64_t run_bytes;
};
PackBox box_at(const PackLayout& layout, const plan::PackConfig& config, const Problem& normal,
               std::int64_t number);

}  // namespace cornerturn::cpu
