// What the two forms of pack share: arguments, and where a block's box begins. Its runs:
// pack_runs.hpp.
#pragma once

#include <cstdint>
#include <type_traits>

#include "kernels/casts.hpp"
#include "kernels/unaligned.hpp"
#include "kernels/walk.hpp"

namespace cornerturn::kernels {

/// n / divisor for n < 2^30, where nobody asks for the divisor: 2 n / (2 divisor), whose divisor is
/// never 1.
struct PackQuotient {
  static constexpr std::int64_t limit = std::int64_t{1} << 30;  ///< all n are smaller

  Reciprocal<std::uint32_t> twice{2};

  constexpr PackQuotient() = default;
  constexpr explicit PackQuotient(std::uint32_t divisor) : twice(2 * divisor) {}

  CT_HOST_DEVICE constexpr std::uint32_t of(std::uint32_t n) const { return twice.quotient(2 * n); }
};

/// Such a quotient with its divisor.
struct PackDivide {
  std::uint32_t divisor = 1;
  PackQuotient inverse;

  constexpr PackDivide() = default;
  constexpr explicit PackDivide(std::uint32_t d) : divisor(d), inverse(d) {}

  CT_HOST_DEVICE constexpr std::uint32_t quotient(std::uint32_t n) const { return inverse.of(n); }
};

/// One mode of a box in a list of such, the list's fastest first. The indices of the modes are the
/// digits of a number, and where it leads is a sum without remainders:
///
///   n * more[0] + n / before[1] * more[1] + n / before[2] * more[2] + ...
///
/// So no quotient waits for another one. `more` is what an index adds, less what all indices of the
/// mode before it have added.
struct PackDigit {
  static constexpr int no_pads = 31;

  // As short as can be: each line of the arguments that a block needs is a miss of the constant
  // cache, one after the other.
  PackQuotient before;       ///< numbers that have the same index
  std::uint16_t extent = 1;  ///< indices that a whole box takes
  std::int8_t cut = -1;      ///< which of PackArgs::cut says how many a box has, or -1: all
  std::uint8_t pad_shift =
      no_pads;            ///< after every 2^pad_shift indices 16 bytes of shared memory stay free
  int more_shared = 0;    ///< bytes
  std::int64_t more = 0;  ///< bytes, on the side that the list is of
};

CT_HOST_DEVICE constexpr int pack_pads(std::uint32_t index, int shift) {
  return static_cast<int>(index >> shift) * 16;
}

struct PackDigits {
  static constexpr int most = 16;  ///< a box has fewer elements than 2^16

  std::uint8_t count = 0;
  bool padded = false;  ///< some mode is
  PackDigit digit[most];

  /// The index of the d-th mode.
  CT_HOST_DEVICE constexpr std::uint32_t index(int d, std::uint32_t number) const {
    const std::uint32_t again = d + 1 < count ? digit[d + 1].before.of(number) : 0;
    return digit[d].before.of(number) - again * digit[d].extent;
  }
  /// see(digit, quotient, bytes of shared memory that its pads take) for all modes.
  template <class See>
  CT_HOST_DEVICE constexpr void each(std::uint32_t number, See&& see) const {
    if (padded) {
      std::uint32_t after = 0;  // the quotient of the mode after it
      CT_NO_UNROLL
      for (int d = count; d-- > 0;) {
        const PackDigit& of = digit[d];
        const std::uint32_t quotient = of.before.of(number);
        see(of, quotient, pack_pads(quotient - after * of.extent, of.pad_shift));
        after = quotient;
      }
      return;
    }
    // The first ones at places that are known, so that nothing waits for a counter.
    constexpr int known = 2;
    CT_UNROLL
    for (int d = 0; d < known; ++d) {
      if (d < count) see(digit[d], d == 0 ? number : digit[d].before.of(number), 0);
    }
    CT_NO_UNROLL
    for (int d = known; d < count; ++d) see(digit[d], digit[d].before.of(number), 0);
  }
};

/// An axis of the walk from box to box: offsets are sums as those of a PackDigit.
struct PackAxis {
  PackQuotient before;
  // Bytes, without the multiples of 2^32 of PackFar: so a product takes one instruction.
  std::int32_t src_more = 0;
  std::int32_t dst_more = 0;
};
/// What an axis adds beside that, in units of 2^32 bytes.
struct PackFar {
  std::int32_t src_more = 0;
  std::int32_t dst_more = 0;
};

/// How a box takes indices of the mode of an axis.
struct PackCut {
  std::uint32_t back = 0;    ///< from a box to the one before, modulo 2^32
  std::uint32_t whole = 1;   ///< that a box takes: more if it shares some with the next one
  std::uint32_t extent = 1;  ///< of the mode
  std::uint32_t all = 1;     ///< from the first box to where one behind the last would be
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
  std::uint32_t runs = 1;
  int bytes = 0;         ///< of a run of a whole box
  PackDivide vectors;    ///< of a piece
  bool even = false;     ///< the runs follow one another at equal distances, and are not listed:
  std::int8_t cut = -1;  ///< of the run's last mode
  std::int8_t cut_runs = -1;  ///< even: of the mode beside it
  std::int32_t step = 0;      ///< bytes from one to the next, on this side
  int step_shared = 0;        ///< in shared memory
  std::int64_t stride = 0;    ///< bytes from one to the next that the same threads take

  /// How many a block lists.
  CT_HOST_DEVICE constexpr std::uint32_t listed() const { return even ? 0 : runs; }
};

/// Which sectors of the destination a block asks the L2 for before it writes to them.
enum class PackPrefetch : std::uint8_t {
  none,
  ends,  ///< those in which a row begins and ends, as far as the box has these; runs are rows
  all,   ///< all that a run touches, which is several rows with the gaps between them
};

/// Elements of so many bytes at most may leave one by one.
inline constexpr int most_single_bytes = 8;

/// The runs of a side as a block lists them.
struct PackList {
  struct Pieces {
    PackDivide count;     ///< of a run
    int bytes = 1 << 30;  ///< on this side
    int shared = 0;       ///< bytes of shared memory from a piece to the next
  };
  struct Last {
    int bytes = 0;  ///< of a run for each index of its last mode
    int gap = 0;    ///< bytes that the run does not have behind its last element
  };
  /// Bytes from where the box begins, on this side and in shared memory.
  struct Start {
    std::int64_t at = 0;
    int shared = 0;
    int piece = 0;  ///< of the run
  };

  Pieces pieces;
  Last last;
  PackDigits beside;  ///< the modes beside the run

  /// Where run number `n` begins.
  CT_HOST_DEVICE constexpr Start start(std::uint32_t n) const {
    const std::uint32_t run = pieces.count.quotient(n);
    const auto piece = static_cast<int>(n - run * pieces.count.divisor);
    Start start{std::int64_t{piece} * pieces.bytes, piece * pieces.shared, piece};
    beside.each(run, [&](const PackDigit& of, std::uint32_t quotient, int pads) {
      start.at += static_cast<std::int64_t>(quotient) * of.more;
      start.shared += static_cast<int>(quotient) * of.more_shared + pads;
    });
    return start;
  }
  /// Whether a block with such limits has it.
  template <class Limits>
  CT_DEVICE bool has(std::uint32_t n, const Limits& limits) const {
    bool inside = true;
    const std::uint32_t run = pieces.count.quotient(n);
    CT_NO_UNROLL
    for (int d = 0; d < beside.count; ++d) {
      const PackDigit& of = beside.digit[d];
      if (of.cut < 0) continue;
      inside &= limits.allow(of.cut, beside.index(d, run));
    }
    return inside;
  }
};

struct PackArgs {
  static constexpr int max_cuts = 4;
  static constexpr int max_flips = 4;
  static constexpr int no_rotation = 31;

  // What most blocks read lies together, in the order in which they do.
  const std::byte* src = nullptr;
  std::byte* dst = nullptr;
  std::int64_t safe_low = 0;   ///< anywhere: of boxes that begin from here on, counted from `src`,
  std::int64_t safe_high = 0;  ///< to here, all vectors that they touch may be read
  std::uint8_t axes = 0;       ///< of the walk from box to box
  std::uint8_t flips = 0;      ///< anywhere
  bool wide = false;           ///< some axis has a PackFar that is not 0
  bool same = false;           ///< anywhere: all runs of a box begin at the same place within a
                               ///< unit, or within a sector where boxes share such
  bool same_before = false;    ///< anywhere: so do all pieces, and all have as many elements before
                               ///< their units
  bool linear = false;         ///< anywhere: lanes go along runs, which have one mode
  bool in_pieces = false;      ///< anywhere: there is one run, of even pieces
  bool through_l1 = false;     ///< the L1 keeps what is loaded
  PackPrefetch prefetch = PackPrefetch::none;  ///< of sectors that rows leave in part
  std::int8_t shared_cut = -1;  ///< anywhere: along which boxes share indices, or none
  std::uint8_t rotation_shift = no_rotation;  ///< see rotation_of()
  std::int16_t rounds = 1;                    ///< anywhere: times that `from.vectors` make a run
  std::uint32_t at_once = 1;                  ///< runs of the source that a block loads at once
  int room = 0;     ///< bytes before the first element of a box, for what lies behind it backwards
  int runs_at = 0;  ///< where in shared memory the lists of runs begin
  PackSide from;
  PackSide to;
  int of_piece = 0;  ///< anywhere: elements of a run or piece of the destination
  int own = 0;  ///< anywhere: elements of a run up to where that of the next box begins, with those
                ///< that single elements have gaps for
  int places = 0;           ///< anywhere: how many the table has of each plane
  std::uint8_t planes = 0;  ///< anywhere: of the table, see pack_anywhere.hpp
  PackDivide down;          ///< runs of the destination that a block writes at once
  int cycle = 1;  ///< anywhere: even runs that are so far apart, a multiple of `down`, begin
                  ///< at the same place within a unit or a sector, as of `same`
  PackAxis axis[max_axes + 1];  ///< behind the last one: where the index is always 0
  PackCut cut[max_cuts];        ///< of the first axes: of others a box has one index
  PackDigits of_run;            ///< where its elements lie in shared memory and on the side of the
                                ///< destination: its modes

  PackDivide across;    ///< neighbouring threads that are neighbours in a run
  PackDivide period;    ///< of such places: elements of all modes of a run but the last
  int last_stride = 0;  ///< bytes of shared memory for each index of that
  int table_at = 0;     ///< where the table is
  int line_shift = 31;  ///< aligned: after every 2^line_shift bytes of a source run 16 stay free
  PackList from_list;
  PackList to_list;
  PackFlip flip[max_flips];
  PackFar far[max_axes];
  std::int64_t src_low = 0;   ///< bytes from `src`: what may be read begins here
  std::int64_t src_high = 0;  ///< and ends here
  ValueArgs values;

  // Only the host asks for these.
  int element_bytes = 1;      ///< of the destination
  int src_element_bytes = 1;  ///< another number only where values are converted
  bool anywhere = false;      ///< where runs begin, else they are aligned to 16 bytes
  bool single = false;  ///< anywhere: a lane writes one element at once, since runs are so short
  int columns = 1;      ///< anywhere: times that `across` threads make a run or piece
  int finds = 1;        ///< anywhere: times that a lane finds the places of a unit

  /// Indices of the mode of an axis, one of the first, from where box `n` begins to its end.
  CT_HOST_DEVICE constexpr std::uint32_t left(int i, std::uint32_t n) const {
    return left(i, axis[i].before.of(n), axis[i + 1].before.of(n));
  }
  /// What is left where the quotients are known. Sums may wrap around on the way.
  CT_HOST_DEVICE constexpr std::uint32_t left(int i, std::uint32_t quotient,
                                              std::uint32_t next) const {
    return cut[i].extent + quotient * cut[i].back + next * cut[i].all;
  }

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
    int at = 0;
    of_run.each(n, [&](const PackDigit& of, std::uint32_t quotient, int pads) {
      at += static_cast<int>(quotient) * of.more_shared + pads;
    });
    return at;
  }
  /// And where in the destination, bytes from where its run begins.
  CT_HOST_DEVICE constexpr int place_of(std::uint32_t n) const {
    std::int64_t at = 0;
    of_run.each(n, [&](const PackDigit& of, std::uint32_t quotient, int) {
      at += static_cast<std::int64_t>(quotient) * of.more;
    });
    return static_cast<int>(at);
  }
  /// Anywhere, where at most the first mode is padded: element_at() for `count` neighbours of a
  /// run.
  template <int count>
  CT_DEVICE void elements_at(std::uint32_t first, int (&at)[count]) const {
    const PackDigit& digit = of_run.digit[0];
    if (of_run.count == 1) {
      CT_UNROLL
      for (int k = 0; k < count; ++k) {
        const std::uint32_t n = first + static_cast<std::uint32_t>(k);
        at[k] = static_cast<int>(n) * digit.more_shared + pack_pads(n, digit.pad_shift);
      }
    } else if (digit.extent + 1 >= count) {
      elements_of_starts<2>(first, at);
    } else {
      elements_of_starts<(count + 2) / 2>(first, at);
    }
  }

 private:
  /// Finds elements where the first index starts again `starts - 1` times at most. What the others
  /// say is the same from start to start.
  template <int starts, int count>
  CT_DEVICE void elements_of_starts(std::uint32_t first, int (&at)[count]) const {
    const PackDigit& digit = of_run.digit[0];
    const auto extent = static_cast<int>(digit.extent);
    const std::uint32_t before = of_run.digit[1].before.of(first);
    std::uint32_t start[starts];
    int others[starts];
    CT_UNROLL
    for (int s = 0; s < starts; ++s) {
      const std::uint32_t number = before + static_cast<std::uint32_t>(s);
      start[s] = number * digit.extent;
      others[s] = static_cast<int>(number) * of_run.digit[1].more_shared;
    }
    CT_NO_UNROLL
    for (int d = 2; d < of_run.count; ++d) {
      const PackDigit& other = of_run.digit[d];
      CT_UNROLL
      for (int s = 0; s < starts; ++s) {
        others[s] += static_cast<int>(other.before.of(start[s])) * other.more_shared;
      }
    }
    const auto index = static_cast<int>(first - start[0]);  // of the first element
    const int here = static_cast<int>(first) * digit.more_shared + others[0];
    const auto find = [&](auto padded) {
      CT_UNROLL
      for (int k = 0; k < count; ++k) {
        at[k] = here + k * digit.more_shared;
        int its = index + k;
        CT_UNROLL
        for (int s = 1; s < starts; ++s) {
          if (k <= 2 * (s - 1)) continue;  // no extent is so short
          const bool again = k >= s * extent - index;
          at[k] += again ? others[s] - others[s - 1] : 0;
          its -= again ? extent : 0;
        }
        if constexpr (decltype(padded)::value)
          at[k] += pack_pads(static_cast<std::uint32_t>(its), digit.pad_shift);
      }
    };
    if (digit.pad_shift == PackDigit::no_pads) {
      find(std::false_type{});
    } else {
      find(std::true_type{});
    }
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
    return side.even ? count(side.cut_runs, side.runs) : side.runs;
  }
};

/// Where a block's box begins on either side.
CT_DEVICE Offsets pack_box(const PackArgs& a, std::uint32_t n, PackLimits& limits) {
  Offsets offsets;
  const auto add = [&](const auto& axis, std::uint32_t quotient) {
    const std::int64_t times = static_cast<std::int32_t>(quotient);
    offsets.src += times * axis.src_more;
    offsets.dst += times * axis.dst_more;
  };
  // The first ones at places that are known, so that nothing waits for a counter.
  std::uint32_t quotient = n;
  CT_UNROLL
  for (int i = 0; i < PackArgs::max_cuts; ++i) {
    limits.of[i] = 0;
    if (i >= a.axes) continue;
    const std::uint32_t next = a.axis[i + 1].before.of(n);
    const std::uint32_t left = a.left(i, quotient, next);
    const std::uint32_t whole = a.cut[i].whole;
    limits.of[i] = left < whole ? left : whole;
    limits.all &= left >= whole;
    add(a.axis[i], quotient);
    quotient = next;
  }
  CT_NO_UNROLL
  for (int i = PackArgs::max_cuts; i < a.axes; ++i) add(a.axis[i], a.axis[i].before.of(n));
  if (a.wide) {
    const Offsets near = offsets;
    offsets = {};
    CT_NO_UNROLL
    for (int i = 0; i < a.axes; ++i) add(a.far[i], a.axis[i].before.of(n));
    constexpr std::int64_t unit = std::int64_t{1} << 32;
    offsets = {near.src + offsets.src * unit, near.dst + offsets.dst * unit};
  }
  return offsets;
}

}  // namespace cornerturn::kernels
