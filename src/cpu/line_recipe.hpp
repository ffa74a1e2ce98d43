// How the lines of a destination made of atoms are put together: which vectors of the source to
// load for each line, and which of their bytes go where. A recipe repeats along the run of atoms,
// so that it is made once and followed over the whole destination.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/problem.hpp"
#include "plan/cpu/pack_lines.hpp"

namespace cornerturn::cpu {

/// What a vector instruction set offers for putting a line together, a vector at a time:
///
///   permutes_two  a step permutes the bytes of the line so far (0 ...) and of the vector that it
///                 loads (`bytes` ...); the first step only loads
///   otherwise     a step adds the bytes it takes to a line that has zeros there; an index of 0x80
///                 gives zero
struct VectorKind {
  int bytes;
  bool permutes_two;

  friend bool operator==(const VectorKind&, const VectorKind&) = default;
};

/// The problem as the kernel sees it: a run of `count` atoms, contiguous in the destination.
struct Atoms {
  std::int64_t count;
  std::int64_t bytes;                // of one atom, in the destination
  std::int64_t src_stride;           // from one atom to the next
  std::int64_t common;               // divisor of an atom and a vector
  std::int64_t width;                // of an element
  std::int64_t src_first, src_last;  // all bytes of the source: [src + src_first, src + src_last)
  // Source offset of each byte of an atom
  std::array<std::int64_t, plan::pack_lines::max_atom_bytes> from;

  /// Where byte `r` of a run comes from.
  std::int64_t source_of(std::int64_t r) const {
    return r / bytes * src_stride + from[static_cast<std::size_t>(r % bytes)];
  }
};

void set_up_atoms(const plan::PackLinesConfig& config, const Problem& normal,
                  const VectorKind& vector, Atoms& atoms);

/// Bytes [first, last) of a run of atoms, an element at a time: for what is less than a whole line.
void copy_bytes(const Atoms& atoms, std::byte* run, const std::byte* src, std::int64_t first,
                std::int64_t last);

/// Each of `steps_a_line` steps loads the vector at `from` and takes bytes of it into the line, as
/// the step's `index` says. A line here is as long as a vector.
struct Recipe {
  std::int64_t origin = -1;     // where line 0 starts, counted from the start of a run of atoms
  std::int64_t src_phase = -1;  // address of the run's source that `from` was aligned for
  int lines;                    // after so many the recipe repeats ...
  std::int64_t src_advance;     // ... so many bytes further in the source
  int steps_a_line;
  bool fits;                     // false: too many steps, lines are copied byte by byte
  std::int64_t lowest, highest;  // all loads lie in [lowest, highest)
  // The line that starts at `common` x i in an atom is line_at[i].
  std::array<std::int16_t, plan::pack_lines::max_steps> line_at;
  // Room for `room` steps
  int room;
  std::uint8_t* index;
  std::int64_t* from;
};

/// Where a line of a run comes from: line `line` of the recipe, moved by `base` bytes.
struct Place {
  int line;
  std::int64_t base;
};

/// Steps that a recipe takes room for, for lines that start anywhere in an element, with loads that
/// start anywhere.
int steps_for(const Atoms& atoms, const VectorKind& vector);

/// Makes the recipe for lines that start `residue` bytes into a run (modulo the atom and the
/// line). `src_phase`: the address of the run's source within a line, or negative if runs with
/// other addresses follow the recipe too.
void make_recipe(const Atoms& atoms, const VectorKind& vector, std::int64_t residue,
                 std::int64_t src_phase, Recipe& recipe);

/// The line that starts `r` bytes into a run.
Place place_of(const Atoms& atoms, const VectorKind& vector, const Recipe& recipe, std::int64_t r);

}  // namespace cornerturn::cpu
