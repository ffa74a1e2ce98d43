#include "cpu/line_recipe.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <numeric>

#include "core/divide.hpp"

namespace cornerturn::cpu {
namespace {

constexpr int longest_vector = 64;

// One line of the destination as pieces of elements, each contiguous on both sides.
class Line {
 public:
  Line(const Atoms& atoms, int vector_bytes, std::int64_t r) : vector_bytes_(vector_bytes) {
    for (int at = 0; at < vector_bytes;) {
      const std::int64_t in_element = r % atoms.width;
      const int bytes =
          static_cast<int>(std::min<std::int64_t>(atoms.width - in_element, vector_bytes - at));
      pieces_[static_cast<std::size_t>(count_++)] = {atoms.source_of(r), at, bytes};
      at += bytes;
      r += bytes;
    }
    const auto end = pieces_.begin() + count_;
    const auto by_source = [](const Piece& a, const Piece& b) { return a.from < b.from; };
    if (!std::is_sorted(pieces_.begin(), end, by_source)) {
      std::sort(pieces_.begin(), end, by_source);
    }
  }

  /// The vectors that cover the line, from its lowest byte upwards, as few as possible. Calls
  /// visit(start) for each and returns their count. Vectors start anywhere, or, if `phase` is not
  /// negative, where offset + phase is a multiple of their size.
  template <class Visit>
  int cover(std::int64_t phase, Visit&& visit) const {
    int vectors = 0;
    std::int64_t end = INT64_MIN;  // of the last vector
    for (int i = 0; i < count_; ++i) {
      const Piece& piece = pieces_[static_cast<std::size_t>(i)];
      while (piece.from + piece.bytes > end) {
        const std::int64_t first = std::max(piece.from, end);
        const std::int64_t start =
            phase < 0 ? first : floor_div(first + phase, vector_bytes_) * vector_bytes_ - phase;
        visit(start);
        end = start + vector_bytes_;
        ++vectors;
      }
    }
    return vectors;
  }

  /// Calls visit(i, at) for each byte of the line: byte `i` comes from source offset `at`.
  template <class Visit>
  void for_bytes(Visit&& visit) const {
    for (int i = 0; i < count_; ++i) {
      const Piece& piece = pieces_[static_cast<std::size_t>(i)];
      for (int k = 0; k < piece.bytes; ++k) visit(piece.to + k, piece.from + k);
    }
  }

 private:
  struct Piece {
    std::int64_t from;
    int to;
    int bytes;
  };

  int vector_bytes_;
  int count_ = 0;
  std::array<Piece, longest_vector> pieces_;  // by source offset
};

// The indices of one line's steps, which load the vectors at `from`.
void write_indices(const Line& line, const VectorKind& vector, const std::int64_t* from, int steps,
                   std::uint8_t* index) {
  const auto row = [&](int step) { return index + step * vector.bytes; };
  for (int step = 0; step < steps; ++step) {
    if (vector.permutes_two) {
      std::iota(row(step), row(step) + vector.bytes, std::uint8_t{0});
    } else {
      std::memset(row(step), 0x80, static_cast<std::size_t>(vector.bytes));
    }
  }
  int taken = 0;
  line.for_bytes([&](int i, std::int64_t at) {
    while (at - from[taken] >= vector.bytes) ++taken;
    while (at < from[taken]) --taken;  // pieces may overlap in the source
    const std::int64_t in_vector = at - from[taken];
    if (!vector.permutes_two) {
      row(taken)[i] = static_cast<std::uint8_t>(in_vector);
    } else if (taken == 0) {  // the second step finds these bytes where they were loaded
      row(1)[i] = static_cast<std::uint8_t>(in_vector);
    } else {
      row(taken)[i] = static_cast<std::uint8_t>(vector.bytes + in_vector);
    }
  });
}

template <int width>
void copy_elements(const Atoms& atoms, std::byte* run, const std::byte* src, std::int64_t first,
                   std::int64_t last) {
  std::int64_t in_atom = first % atoms.bytes;
  const std::byte* atom = src + first / atoms.bytes * atoms.src_stride;
  for (std::int64_t r = first; r < last;) {
    const std::byte* const from = atom + atoms.from[static_cast<std::size_t>(in_atom)];
    std::int64_t bytes = width - in_atom % width;
    if (bytes == width && last - r >= width) {
      std::memcpy(run + r, from, width);
    } else {
      bytes = std::min(bytes, last - r);
      for (std::int64_t k = 0; k < bytes; ++k) run[r + k] = from[k];
    }
    r += bytes;
    in_atom += bytes;
    if (in_atom == atoms.bytes) {
      in_atom = 0;
      atom += atoms.src_stride;
    }
  }
}

}  // namespace

void set_up_atoms(const plan::PackLinesConfig& config, const Problem& normal,
                  const VectorKind& vector, Atoms& atoms) {
  const Mode& walk = normal.modes[config.walk];
  atoms.count = walk.extent;
  atoms.bytes = walk.dst_stride;
  atoms.src_stride = walk.src_stride;
  atoms.common = std::gcd<std::int64_t>(atoms.bytes, vector.bytes);
  atoms.width = normal.dst_type.size();
  for (std::int64_t byte = 0; byte < atoms.bytes; ++byte) {
    std::int64_t rest = byte / atoms.width;
    std::int64_t from = byte % atoms.width;
    for (int i = normal.rank(); i-- > config.walk + 1;) {
      from += rest % normal.modes[i].extent * normal.modes[i].src_stride;
      rest /= normal.modes[i].extent;
    }
    atoms.from[static_cast<std::size_t>(byte)] = from;
  }
  atoms.src_first = 0;
  atoms.src_last = atoms.width;
  for (const Mode& mode : normal.modes) {
    const std::int64_t reach = (mode.extent - 1) * mode.src_stride;
    (reach < 0 ? atoms.src_first : atoms.src_last) += reach;
  }
}

void copy_bytes(const Atoms& atoms, std::byte* run, const std::byte* src, std::int64_t first,
                std::int64_t last) {
  if (first >= last) return;
  switch (atoms.width) {
    case 1:
      return copy_elements<1>(atoms, run, src, first, last);
    case 2:
      return copy_elements<2>(atoms, run, src, first, last);
    case 4:
      return copy_elements<4>(atoms, run, src, first, last);
    case 8:
      return copy_elements<8>(atoms, run, src, first, last);
    default:
      return copy_elements<16>(atoms, run, src, first, last);
  }
}

int steps_for(const Atoms& atoms, const VectorKind& vector) {
  const auto lines = static_cast<int>(atoms.bytes / atoms.common);
  int most = 2;
  for (int n = 0; n < lines && lines * most <= plan::pack_lines::max_steps; ++n) {
    const Line line(atoms, vector.bytes, std::int64_t{n} * vector.bytes);
    most = std::max(most, line.cover(-1, [](std::int64_t) {}));
  }
  // A line that starts within an element has a piece of one more.
  return lines * (most + 1);
}

void make_recipe(const Atoms& atoms, const VectorKind& vector, std::int64_t residue,
                 std::int64_t src_phase, Recipe& recipe) {
  recipe.origin = residue;
  recipe.src_phase = src_phase;
  recipe.lines = static_cast<int>(atoms.bytes / atoms.common);
  recipe.src_advance = vector.bytes / atoms.common * atoms.src_stride;
  const auto line_of = [&](int n) {
    return Line(atoms, vector.bytes, residue + std::int64_t{n} * vector.bytes);
  };

  // Aligned loads are faster, unless they are more.
  const bool may_align = src_phase >= 0 && recipe.src_advance % vector.bytes == 0;
  int steps = 2, aligned_steps = 2;
  for (int n = 0; n < recipe.lines; ++n) {
    const Line line = line_of(n);
    const auto count = [](std::int64_t) {};
    steps = std::max(steps, line.cover(-1, count));
    if (may_align) aligned_steps = std::max(aligned_steps, line.cover(src_phase, count));
  }
  const bool aligned = may_align && aligned_steps <= steps + steps / 4;
  recipe.steps_a_line = aligned ? aligned_steps : steps;
  recipe.fits = recipe.lines * recipe.steps_a_line <= recipe.room;
  if (!recipe.fits) return;

  recipe.lowest = INT64_MAX;
  recipe.highest = INT64_MIN;
  for (int n = 0; n < recipe.lines; ++n) {
    recipe.line_at[static_cast<std::size_t>(n * vector.bytes % atoms.bytes / atoms.common)] =
        static_cast<std::int16_t>(n);
    const Line line = line_of(n);
    std::int64_t* from = recipe.from + n * recipe.steps_a_line;
    int used = 0;
    line.cover(aligned ? src_phase : -1, [&](std::int64_t start) { from[used++] = start; });
    recipe.lowest = std::min(recipe.lowest, from[0]);
    recipe.highest = std::max(recipe.highest, from[used - 1] + vector.bytes);
    write_indices(line, vector, from, recipe.steps_a_line,
                  recipe.index + n * recipe.steps_a_line * vector.bytes);
    // Steps that the line does not need load what it has already.
    std::fill(from + used, from + recipe.steps_a_line, from[0]);
  }
}

Place place_of(const Atoms& atoms, const VectorKind& vector, const Recipe& recipe, std::int64_t r) {
  if (r == recipe.origin) return {0, 0};  // as most runs begin, and without divisions
  const std::int64_t away = r - recipe.origin;
  const std::int64_t in_atom = away - floor_div(away, atoms.bytes) * atoms.bytes;
  const int line = recipe.line_at[static_cast<std::size_t>(in_atom / atoms.common)];
  return {line, (away - std::int64_t{line} * vector.bytes) / atoms.bytes * atoms.src_stride};
}

}  // namespace cornerturn::cpu
