// What the two forms of pack share: arguments, and the lists of runs that a block makes.
#pragma once

#include <cstdint>

#include "kernels/casts.hpp"
#include "kernels/unaligned.hpp"
#include "kernels/walk.hpp"

namespace cornerturn::kernels {

/// One mode of a box in a list of such, the list's fastest first.
struct PackDigit {
  static constexpr int no_pads = 31;

  FastDivide extent;        ///< indices that a whole box takes
  int cut = -1;             ///< which of PackArgs::cut says how many are left, or none does
  int shared_stride = 0;    ///< bytes
  int pad_shift = no_pads;  ///< after every 2^pad_shift indices 16 bytes of shared memory stay free
  std::int64_t stride = 0;  ///< bytes, on the side that the list is of

  CT_HOST_DEVICE constexpr int shared_at(std::uint32_t index) const {
    return static_cast<int>(index) * shared_stride + static_cast<int>(index >> pad_shift) * 16;
  }
};

/// A mode of which a box takes some indices only: the last box along it may have fewer.
struct PackCut {
  int axis = 0;              ///< of PackArgs::boxes
  std::uint32_t step = 1;    ///< indices that a box takes
  std::uint32_t extent = 1;  ///< of the mode
};

/// A mode along which the runs of the source go backwards.
struct PackFlip {
  std::uint32_t extent = 1;  ///< indices that a whole box takes
  int cut = -1;              ///< as of a PackDigit
  int bytes = 0;             ///< from an index to the one before
};

/// Bytes of the destination that a lane writes at once where runs begin anywhere.
CT_HOST_DEVICE constexpr int pack_unit_bytes(int element_bytes) {
  return element_bytes == 1 ? 4 : element_bytes == 2 ? 8 : 16;
}

/// The runs of a box on one side. A long run may be taken in pieces, each a run of the list.
struct PackSide {
  static constexpr int max_digits = 20;

  // What every kernel reads lies together, before the arrays: each line of the arguments that a
  // block needs is a miss of the constant cache, one after the other.
  std::uint32_t runs = 1;
  FastDivide pieces;          ///< of a run
  int piece_bytes = 1 << 30;  ///< on this side
  int piece_shared = 0;       ///< bytes of shared memory from a piece to the next
  FastDivide vectors;         ///< of a piece
  std::uint32_t unit = 1;     ///< elements of a run for each index of its last mode
  std::uint32_t last = 1;     ///< indices of its last mode
  int cut = -1;               ///< of its last mode
  int gap = 0;                ///< bytes that the run does not have behind its last element
  // Runs that follow one another at equal distances are not listed.
  bool even = false;
  std::int32_t step = 0;  ///< bytes from one to the next, on this side
  int step_shared = 0;    ///< in shared memory
  int digits = 0;
  PackDigit digit[max_digits];  ///< the modes beside the run

  /// How many a block lists.
  CT_HOST_DEVICE constexpr std::uint32_t listed() const { return even ? 0 : runs; }

  /// Bytes from where the box begins, on this side and in shared memory.
  struct Start {
    std::int64_t at = 0;
    int shared = 0;
    int piece = 0;  ///< of the run
  };
  /// Where run number `n` begins.
  CT_HOST_DEVICE constexpr Start start(std::uint32_t n) const {
    const std::uint32_t run = pieces.quotient(n);
    const auto piece = static_cast<int>(n - run * pieces.divisor);
    Start start{std::int64_t{piece} * piece_bytes, piece * piece_shared, piece};
    each_index(run, [&](const PackDigit& of, std::uint32_t index) {
      start.at += static_cast<std::int64_t>(index) * of.stride;
      start.shared += of.shared_at(index);
    });
    return start;
  }
  /// Whether a block with such limits has it.
  template <class Limits>
  CT_DEVICE bool has(std::uint32_t n, const Limits& limits) const {
    bool inside = true;
    each_index(pieces.quotient(n), [&](const PackDigit& of, std::uint32_t index) {
      inside &= limits.allow(of.cut, index);
    });
    return inside;
  }

 private:
  template <class See>
  CT_HOST_DEVICE constexpr void each_index(std::uint32_t run, See&& see) const {
    CT_NO_UNROLL
    for (int d = 0; d < digits; ++d) {
      const std::uint32_t rest = digit[d].extent.quotient(run);
      see(digit[d], run - rest * digit[d].extent.divisor);
      run = rest;
    }
  }
};

struct PackArgs {
  static constexpr int max_cuts = 4;
  static constexpr int max_flips = 4;
  static constexpr int no_rotation = 31;

  const std::byte* src = nullptr;
  std::byte* dst = nullptr;
  std::int64_t src_low = 0;   ///< bytes from `src`: what may be read begins here
  std::int64_t src_high = 0;  ///< and ends here
  int element_bytes = 1;      ///< of the destination
  int src_element_bytes = 1;  ///< another number only where values are converted
  bool anywhere = false;      ///< where runs begin, else they are aligned to 16 bytes
  std::int64_t box_low = 0;  ///< anywhere: from the first element of a whole box to its lowest byte
  std::int64_t box_high = 0;  ///< and behind its highest
  int room = 0;      ///< bytes before the first element of a box, for what lies behind it backwards
  int runs_at = 0;   ///< where in shared memory the lists of runs begin
  int table_at = 0;  ///< aligned: and where the table

  int line_shift = 31;  ///< after every 2^line_shift bytes of a source run 16 stay free
  int rounds = 1;       ///< anywhere: times that `from.vectors` make a run
  int lanes = 5;        ///< anywhere: 2^lanes lanes of a warp are neighbours in a run
  int columns = 1;      ///< anywhere: 2^lanes units each make a run, or piece, of the destination
  int of_piece = 0;     ///< anywhere: elements of such a run or piece, in whole units
  bool steady =
      false;  ///< anywhere: all runs that a lane takes have as many elements before their units
  bool single = false;  ///< anywhere: a lane writes one element at once, since runs are so short
  FastDivide across;    ///< aligned, or single: neighbouring threads that are neighbours in a run
  FastDivide down;      ///< runs of the destination that a block writes at once
  int rotation_shift = no_rotation;  ///< see rotation_of()

  int cuts = 0;
  int flips = 0;  ///< anywhere
  PackCut cut[max_cuts];
  std::int8_t cut_of_axis[max_axes] = {};  ///< 1 + the number of the cut, or 0
  PackFlip flip[max_flips];
  Walk boxes;
  PackSide from;
  PackSide to;

  // Where the elements of a destination run lie in shared memory.
  FastDivide period;    ///< elements
  int last_stride = 0;  ///< bytes for each index of the run's last mode
  int period_digits = 0;
  PackDigit period_digit[PackSide::max_digits];

  ValueArgs values;

  /// Anywhere: elements that a lane writes at once.
  CT_HOST_DEVICE constexpr int of_unit() const {
    return single ? 1 : pack_unit_bytes(element_bytes) / element_bytes;
  }

  /// Lanes may begin with another word of their vectors, or another element of their units, so that
  /// they read from other banks.
  CT_HOST_DEVICE constexpr std::uint32_t rotation_of(std::uint32_t lane) const {
    return rotation_of(lane, rotation_shift);
  }
  CT_HOST_DEVICE static constexpr std::uint32_t rotation_of(std::uint32_t lane, int shift) {
    return lane >> shift & 3U;
  }
  /// Which of its `all` elements a lane takes as number `k`.
  CT_HOST_DEVICE static constexpr std::uint32_t rotated(std::uint32_t k, std::uint32_t rotation,
                                                        std::uint32_t all) {
    return (k + rotation * (all / 4)) % all;
  }

  /// Where element `n` of a destination run lies in shared memory, from where its run does.
  CT_HOST_DEVICE constexpr int element_at(std::uint32_t n) const {
    std::uint32_t left[] = {n};
    int at[1] = {};
    add_digits(0, left, at);
    return at[0];
  }
  /// The same for `count` neighbours of a run.
  template <int count>
  CT_DEVICE void elements_at(std::uint32_t first, int (&at)[count]) const {
    const PackDigit digit = period_digit[0];
    const std::uint32_t extent = digit.extent.divisor;
    if (extent + 1 < count) {
      std::uint32_t n[count];
      CT_UNROLL
      for (int k = 0; k < count; ++k) {
        n[k] = first + static_cast<std::uint32_t>(k);
        at[k] = 0;
      }
      return add_digits(0, n, at);
    }
    // The first index starts again once at most: what the others say is needed twice.
    const std::uint32_t rest = digit.extent.quotient(first);
    std::uint32_t n[] = {rest, rest + 1};
    int begin[2] = {};
    add_digits(1, n, begin);
    std::uint32_t index = first - rest * extent;
    if (digit.pad_shift == PackDigit::no_pads) {
      int next = begin[0] + static_cast<int>(index) * digit.shared_stride;
      const int again = begin[1] - begin[0] - static_cast<int>(extent) * digit.shared_stride;
      CT_UNROLL
      for (int k = 0; k < count; ++k, ++index, next += digit.shared_stride) {
        at[k] = index >= extent ? next + again : next;
      }
      return;
    }
    CT_UNROLL
    for (int k = 0; k < count; ++k, ++index) {
      const bool next = index >= extent;
      at[k] = (next ? begin[1] : begin[0]) + digit.shared_at(next ? index - extent : index);
    }
  }

 private:
  /// Adds where the indices lead that numbers `n` have in a run's modes from the d-th on.
  template <int count>
  CT_HOST_DEVICE constexpr void add_digits(int d, std::uint32_t (&n)[count],
                                           int (&at)[count]) const {
    CT_NO_UNROLL
    for (; d < period_digits; ++d) {
      const PackDigit& digit = period_digit[d];
      CT_UNROLL
      for (int k = 0; k < count; ++k) {
        const std::uint32_t rest = digit.extent.quotient(n[k]);
        at[k] += digit.shared_at(n[k] - rest * digit.extent.divisor);
        n[k] = rest;
      }
    }
    CT_UNROLL
    for (int k = 0; k < count; ++k) at[k] += static_cast<int>(n[k]) * last_stride;
  }
};

/// The words of a vector whose lane begins with another one, in their order.
CT_DEVICE Words rotated_words(const Words& w, std::uint32_t rotation) {
  const bool one = (rotation & 1) != 0;
  const bool two = (rotation & 2) != 0;
  Words a, b;
  CT_UNROLL
  for (int i = 0; i < 4; ++i) a[i] = one ? w[(i + 3) % 4] : w[i];
  CT_UNROLL
  for (int i = 0; i < 4; ++i) b[i] = two ? a[(i + 2) % 4] : a[i];
  return b;
}

/// How many indices of each cut mode a block has.
struct PackLimits {
  std::uint32_t of[PackArgs::max_cuts];
  bool all = true;  ///< of every mode as many as a whole box

  CT_DEVICE bool allow(int cut, std::uint32_t index) const {
    bool inside = true;
    CT_UNROLL
    for (int i = 0; i < PackArgs::max_cuts; ++i) inside &= cut != i || index < of[i];
    return inside;
  }
  CT_DEVICE std::uint32_t count(int cut, std::uint32_t whole) const {
    if (all) return whole;
    CT_UNROLL
    for (int i = 0; i < PackArgs::max_cuts; ++i) whole = cut == i ? of[i] : whole;
    return whole;
  }
  /// Runs of a side that a walk over them meets. Those in a list may be empty.
  CT_DEVICE std::uint32_t runs_of(const PackSide& side) const {
    return side.even ? count(side.digit[0].cut, side.runs) : side.runs;
  }
};

/// Where a block's box begins on either side.
CT_DEVICE Offsets pack_box(const PackArgs& a, std::uint32_t n, PackLimits& limits) {
  Offsets offsets;
  CT_UNROLL
  for (int c = 0; c < PackArgs::max_cuts; ++c) limits.of[c] = a.cut[c].step;
  CT_NO_UNROLL
  for (int i = 0; i < a.boxes.rank; ++i) {
    const Axis& axis = a.boxes.axis[i];
    const std::uint32_t rest = axis.count.quotient(n);
    const std::uint32_t index = n - rest * axis.count.divisor;
    offsets.src += static_cast<std::int64_t>(index) * axis.src_step;
    offsets.dst += static_cast<std::int64_t>(index) * axis.dst_step;
    n = rest;
    const int cut = a.cut_of_axis[i] - 1;
    if (cut < 0) continue;
    const std::uint32_t left = a.cut[cut].extent - index * a.cut[cut].step;
    if (left >= a.cut[cut].step) continue;
    limits.all = false;
    CT_UNROLL
    for (int c = 0; c < PackArgs::max_cuts; ++c) limits.of[c] = c == cut ? left : limits.of[c];
  }
  return offsets;
}

/// One run: where it begins on its side and in shared memory, and its bytes. There are -16 where
/// this block does not have the run. Shared memory is counted from the box, and from that of the
/// block in the anywhere form.
struct alignas(16) RunPlace {
  std::byte* at = nullptr;
  int shared = 0;
  int bytes = 0;
};
using RunTable = SharedPointer<RunPlace>;

/// Every `step`-th run of a list.
struct ListedRuns {
  static constexpr bool even = false;
  RunTable at;
  std::uint32_t step = 0;  ///< runs

  CT_DEVICE ListedRuns every(std::uint32_t first, std::uint32_t runs) const {
    return {at + first, runs};
  }
  template <class Ctx>
  CT_DEVICE RunPlace here(Ctx& ctx) const {
    return ctx.load(at);
  }
  CT_DEVICE void next() { at = at + step; }
};

/// Every `step`-th of runs that follow one another at equal distances.
struct EvenRuns {
  static constexpr bool even = true;
  const PackSide& side;
  RunPlace run;  ///< the first, then the next one
  int step = 0;  ///< runs

  CT_DEVICE EvenRuns every(std::uint32_t first, std::uint32_t runs) const {
    const auto n = static_cast<int>(first);
    return {side,
            {run.at + std::int64_t{n} * side.step, run.shared + n * side.step_shared, run.bytes},
            static_cast<int>(runs)};
  }
  template <class Ctx>
  CT_DEVICE const RunPlace& here(Ctx&) const {
    return run;
  }
  CT_DEVICE void next() {
    run.at += std::int64_t{step} * side.step;
    run.shared += step * side.step_shared;
  }
};

/// Bytes of a run of such a block.
template <class T>
CT_DEVICE int run_bytes(const PackSide& side, const PackLimits& limits) {
  return static_cast<int>(side.unit * limits.count(side.cut, side.last) * sizeof(T)) - side.gap;
}

/// finish(place, left) says otherwise, where `left` bytes of the run are left at the place.
template <class T, class Ctx, class Finish>
CT_DEVICE void fill_runs(Ctx& ctx, const PackSide& side, const PackLimits& limits, std::byte* base,
                         RunTable table, Finish&& finish) {
  const int length = run_bytes<T>(side, limits);
  CT_NO_UNROLL
  for (auto i = ctx.thread_id().x; i < side.runs; i += ctx.block_dim().x) {
    const PackSide::Start start = side.start(i);
    const int left = length - start.piece * side.piece_bytes;
    RunPlace place{base + start.at, start.shared,
                   left < side.piece_bytes ? left : side.piece_bytes};
    place = finish(place, left);
    if (left <= 0 || !(limits.all || side.has(i, limits))) place.bytes = -16;
    ctx.store(table + i, place);
  }
}

}  // namespace cornerturn::kernels
