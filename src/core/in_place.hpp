// Permutations within the memory of the array: which parts of it move where, as plain numbers.
//
// A permutation is a list of steps, and a step is a list of passes over the array. Nothing here
// touches an array: whoever holds one, in memory or in a file, does what the passes say.
//
//   step   swap       [batch][n][middle][n][element]: index i of the first mode and index j of the
//                     second change places
//          transpose  [batch][m][n][element] -> [batch][n][m][element]
//
// A transposition moves every element twice where m = m' a:
//
//   panels  [m'][a][n] -> [m'][n][a]   each panel of a rows within its own memory
//   runs    [m'][n][a] -> [n][m'][a]   whole runs of a elements change places
//
// or where n = n' b: first runs of b elements, [m][n'][b] -> [n'][m][b], then panels [m][b] ->
// [b][m]. The rest, m mod a rows or n mod b columns, is saved first and put back last; the rows in
// between move to the places that they have without it, or with it again.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "core/problem.hpp"
#include "cornerturn/view.hpp"
#include "maps/fast_divide.hpp"

namespace cornerturn::in_place {

// ---- where runs go ----

/// The transposition of a matrix of runs that lie one after the other: the run at `row * columns +
/// column` goes to `column * rows + row`. That is k -> k * rows mod (rows * columns - 1) for all
/// runs but the last one, which stays. Nothing here can overflow where rows * columns does not.
class RunMap {
 public:
  RunMap(std::int64_t rows, std::int64_t columns) : rows_(rows), columns_(columns) {}

  std::int64_t rows() const { return rows_; }
  std::int64_t columns() const { return columns_; }
  std::int64_t count() const { return rows_ * columns_; }
  /// Where the run at `k` goes.
  std::int64_t target(std::int64_t k) const { return k % columns_ * rows_ + k / columns_; }
  /// Which run comes to `k`.
  std::int64_t source(std::int64_t k) const {
    if (((k | rows_) >> 32) == 0) {  // a division of 32 bits takes half the time
      const auto place = static_cast<std::uint32_t>(k);
      const auto rows = static_cast<std::uint32_t>(rows_);
      return std::int64_t{place % rows} * columns_ + place / rows;
    }
    return k % rows_ * columns_ + k / rows_;
  }
  /// Where it is after so many transpositions.
  std::int64_t target_after(std::int64_t k, std::int64_t times) const;

  friend bool operator==(const RunMap&, const RunMap&) = default;

 private:
  std::int64_t rows_;
  std::int64_t columns_;
};

/// One bit for each run. Any number of threads may mark runs at once.
class Marks {
 public:
  static std::int64_t words_for(std::int64_t count) { return count / 64 + 1; }

  /// All words are 0 at first.
  explicit Marks(std::span<std::uint64_t> words) : words_(words) {}

  bool has(std::int64_t k) const { return (word(k).load(std::memory_order_relaxed) & bit(k)) != 0; }
  void mark(std::int64_t k) const { word(k).fetch_or(bit(k), std::memory_order_relaxed); }

 private:
  std::atomic_ref<std::uint64_t> word(std::int64_t k) const {
    return std::atomic_ref<std::uint64_t>(words_[static_cast<std::size_t>(k / 64)]);
  }
  static std::uint64_t bit(std::int64_t k) { return std::uint64_t{1} << (k % 64); }

  std::span<std::uint64_t> words_;
};

/// Fills the hole at `hole`, whose run is saved elsewhere, then the hole that this leaves, and so
/// on: calls move(from, to), and ends with the first `from` for which is_saved(from) is true. That
/// one is called too; its run is taken from where it is saved. A whole cycle saves its first run
/// alone; a cycle that is cut saves the run at every cut, and its segments may then be walked in
/// any order, or all at once.
template <class IsSaved, class Move>
void walk(const RunMap& map, std::int64_t hole, const IsSaved& is_saved, const Move& move) {
  while (true) {
    const std::int64_t from = map.source(hole);
    move(from, hole);
    if (is_saved(from)) return;
    hole = from;
  }
}

/// Is `k` the smallest of its cycle? Found by walking, without memory.
bool is_leader(const RunMap& map, std::int64_t k);

/// Calls begin(k) for every cycle of more than one run whose leader is one of the runs [first,
/// last) and is not marked. Whoever shares out all runs in ranges has every cycle once, whatever
/// others mark meanwhile: of a cycle that is on its way only the leader's range knows.
template <class Begin>
void for_each_leader(const RunMap& map, const Marks& marks, std::int64_t first, std::int64_t last,
                     const Begin& begin) {
  for (std::int64_t k = std::max<std::int64_t>(first, 1); k < std::min(last, map.count() - 1);
       ++k) {
    if (!marks.has(k) && map.source(k) != k && is_leader(map, k)) begin(k);
  }
}

/// Calls visit(leader, length) for every cycle of more than one run, smallest leader first. With
/// the marks of `words`, Marks::words_for(count()) zeros, each run is visited once; with no words,
/// leaders are found by walking, which takes count() * log(count()) steps or so. Runs that are
/// marked already belong to cycles that are done.
template <class Visit>
void for_each_cycle(const RunMap& map, std::span<std::uint64_t> words, const Visit& visit) {
  const Marks marks(words);
  for (std::int64_t k = 1; k + 1 < map.count(); ++k) {
    if (words.empty() ? !is_leader(map, k) : marks.has(k)) continue;
    std::int64_t length = 0;
    const auto stop = [&](std::int64_t from) { return from == k; };
    walk(map, k, stop, [&](std::int64_t from, std::int64_t) {
      if (!words.empty()) marks.mark(from);
      ++length;
    });
    if (length > 1) visit(k, length);
  }
}

/// Cuts all cycles at every run that is a multiple of `spacing`, so that long ones become many
/// segments. A cycle stays within the runs that have one greatest common divisor with count - 1;
/// `spacing` has none with it but 1, so every such set gets its share of the cuts. Few cycles are
/// left without a cut: for_each_cycle with the marks of the segments finds them.
class Cuts {
 public:
  /// At most `most` cuts, and none nearer to each other than `least_spacing` runs.
  Cuts(std::int64_t count, std::int64_t most, std::int64_t least_spacing = 16);

  std::int64_t size() const { return size_; }
  /// Runs from one cut to the next.
  std::int64_t spacing() const { return static_cast<std::int64_t>(spacing_.divisor); }
  std::int64_t run(std::int64_t cut) const { return (cut + 1) * spacing(); }
  bool at(std::int64_t k) const { return size_ > 0 && k != 0 && (number(k) + 1) * spacing() == k; }
  /// The number of the run at `k`, where there is one.
  std::int64_t number(std::int64_t k) const {
    return static_cast<std::int64_t>(spacing_.quotient(static_cast<std::uint64_t>(k))) - 1;
  }

 private:
  FastDivide64 spacing_;
  std::int64_t size_ = 0;
};

// ---- passes ----

/// Panels of `rows` by `columns` elements, each transposed within its own memory, one after the
/// other from the start of the array.
struct PanelPass {
  std::int64_t panels;
  std::int64_t rows;
  std::int64_t columns;
  std::int64_t element;  ///< bytes

  friend bool operator==(const PanelPass&, const PanelPass&) = default;
};

/// A matrix of runs of `run` bytes, transposed as RunMap says.
struct RunPass {
  std::int64_t rows;
  std::int64_t columns;
  std::int64_t run;  ///< bytes

  friend bool operator==(const RunPass&, const RunPass&) = default;
};

/// Rows of `run` bytes move from one pitch to another. The last one is the first to move where the
/// pitch becomes larger, the first one where it becomes smaller. A row may overlap its own old
/// place, but no other row that has not moved.
struct MovePass {
  std::int64_t rows;
  std::int64_t run;
  std::int64_t from_pitch;
  std::int64_t to_pitch;

  friend bool operator==(const MovePass&, const MovePass&) = default;
};

/// Rows of `run` bytes, `pitch` bytes apart from `offset` on: saved one after the other.
struct SavePass {
  std::int64_t rows;
  std::int64_t run;
  std::int64_t offset;
  std::int64_t pitch;

  std::int64_t bytes() const { return rows * run; }
  friend bool operator==(const SavePass&, const SavePass&) = default;
};

/// What was saved, `columns` by `rows` elements, is written transposed: `rows` rows of `columns`
/// elements, `pitch` bytes apart from `offset` on.
struct RestorePass {
  std::int64_t rows;
  std::int64_t columns;
  std::int64_t element;
  std::int64_t offset;
  std::int64_t pitch;

  friend bool operator==(const RestorePass&, const RestorePass&) = default;
};

/// [groups][n][middle][n][element]: the two modes of extent n change places.
struct SwapPass {
  std::int64_t groups;
  std::int64_t extent;
  std::int64_t middle;
  std::int64_t element;  ///< bytes

  friend bool operator==(const SwapPass&, const SwapPass&) = default;
};

using Pass = std::variant<SwapPass, SavePass, PanelPass, RunPass, MovePass, RestorePass>;

/// Calls move(from, to, bytes) for every row, in the order in which they have to move.
template <class Move>
void for_each_row(const MovePass& pass, const Move& move) {
  const bool spreads = pass.to_pitch > pass.from_pitch;
  for (std::int64_t i = 1; i < pass.rows; ++i) {  // the first row stays
    const std::int64_t row = spreads ? pass.rows - i : i;
    move(row * pass.from_pitch, row * pass.to_pitch, pass.run);
  }
}

// ---- steps ----

struct Step {
  enum class Kind : std::uint8_t { swap, transpose };
  Kind kind;
  std::int64_t batch;
  std::int64_t rows;
  std::int64_t columns;
  std::int64_t middle;   ///< of a swap; 1 for all others
  std::int64_t element;  ///< bytes

  std::int64_t bytes() const { return batch * rows * middle * columns * element; }
  friend bool operator==(const Step&, const Step&) = default;
};

/// "swap 2 x [64][3][64] of 4 bytes", "transpose 8 x [1000][50] of 4 bytes".
std::string to_string(const Step& step);
std::string to_string(const Pass& pass);

/// What whoever does the passes can have.
struct Limits {
  std::int64_t workspace;    ///< bytes, for everything beside the array
  std::int64_t panel;        ///< bytes of a panel that is transposed fast
  std::int64_t good_run;     ///< bytes of a run that is moved fast
  std::int64_t workers = 1;  ///< so many panels are in work at once
  std::int64_t line = 1;     ///< a run of other than whole lines touches a line more
  bool squares = false;      ///< squares in a matrix are worth a step of their own
  std::int64_t part = 0;     ///< bytes of a run that move at once, at most; 0: whole runs do

  friend bool operator==(const Limits&, const Limits&) = default;
};

/// At most 1 MiB or one per cent of the array, whichever is more.
std::int64_t usual_workspace(std::int64_t array_bytes);

/// How one transposition is done: along its rows, m = count * size + rest, or along its columns.
struct Factors {
  enum class Side : std::uint8_t { rows, columns };
  Side side = Side::rows;
  std::int64_t count = 1;
  std::int64_t size = 1;
  std::int64_t rest = 0;

  friend bool operator==(const Factors&, const Factors&) = default;
};

/// Bytes beside the array that the step takes, done so: what is saved of the rest, and either the
/// panels in work or the marks, and of runs at cuts and in work the part that moves at once.
std::int64_t workspace_of(const Step& step, const Factors& factors, const Limits& limits);
/// How many bytes of every run a pass moves at once, where `saved` bytes of the workspace are
/// taken. A run that is long beside the workspace moves in parts, the last of which may be shorter:
/// the first part of all runs, then the second one of all, and so on.
std::int64_t part_of(const RunPass& pass, const Limits& limits, std::int64_t saved);
/// Into how many segments a pass cuts its cycles, where `saved` bytes of the workspace are taken.
Cuts cuts_of(const RunPass& pass, const Limits& limits, std::int64_t saved);
/// How long it takes, in passes that read and write every byte once.
double passes_of(const Step& step, const Factors& factors, const Limits& limits);
/// The cheapest way within the workspace, or none.
std::optional<Factors> factorise(const Step& step, const Limits& limits);
/// A workspace within which there is a way: as small as the ways that are tried allow.
std::int64_t least_workspace(const Step& step, const Limits& limits);
/// The passes of each of the `batch` matrices of a transposition, which lie one after the other; or
/// of all of it at once, where one pass does.
struct Passes {
  std::int64_t batch = 1;
  std::int64_t matrix_bytes = 0;
  std::vector<Pass> passes;

  friend bool operator==(const Passes&, const Passes&) = default;
};
Passes passes(const Step& step, const Factors& factors);

/// A step with the way in which it is done. A swap has no factors to speak of.
struct Way {
  Step step;
  Factors factors;

  friend bool operator==(const Way&, const Way&) = default;
};

/// A permutation as steps that are done one after the other.
struct Decomposition {
  std::vector<Way> ways;       ///< none: nothing moves
  std::int64_t workspace = 0;  ///< bytes; at most that of the limits, unless it cannot be done
  double passes = 0;           ///< that read and write every byte once
  /// False: no way fits the workspace. `workspace` then says which would do, and there are no ways.
  bool fits = true;

  friend bool operator==(const Decomposition&, const Decomposition&) = default;
};

/// The packed array of `shape`, with its axes in the order `perm`: axis i of the result is axis
/// perm[i] of the array. All extents are positive.
Decomposition decompose(const Extents& shape, const std::vector<int>& perm, std::int64_t element,
                        const Limits& limits);

// ---- as a problem ----

struct InPlaceProblem {
  Problem problem;
  View result;  ///< what the memory holds afterwards: result.shape[i] = array.shape[permutation[i]]
};

/// The problem of putting the axes of `array` into another order within its memory. The result is
/// packed and row-major where the elements of the array fill their memory, in any order of axes;
/// else it has the strides of the array, whose shape must stay. Throws an Error that names the
/// argument, its value and the rule; the pointer is not looked at.
InPlaceProblem problem_in_place(const View& array, std::span<const int> permutation);

/// A problem in place without gaps: the shape of the array in memory, and its axes in the order of
/// the result. Nothing where it has gaps.
struct Packed {
  Extents shape;
  std::vector<int> perm;
};
std::optional<Packed> packed(const Problem& normal);

}  // namespace cornerturn::in_place
