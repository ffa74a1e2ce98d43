// Where things lie that are counted through several modes, as blocks and elements are.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <type_traits>

#include "kernels/context.hpp"
#include "maps/fast_divide.hpp"

namespace cornerturn::kernels {

/// Modes of extent 2 or more that any memory has room for.
inline constexpr int max_axes = 40;

/// This thread's number in its block of one dimension, where the compiler sees that it is not
/// negative: divisions by powers of two are shifts then.
template <class Ctx>
CT_DEVICE int thread_of(Ctx& ctx) {
  return static_cast<int>(ctx.thread_id().x);
}

/// Bytes from the first element of either side.
struct Offsets {
  std::int64_t src = 0;
  std::int64_t dst = 0;
};

/// Where things lie that are counted through several modes, the fastest first. The indices of the
/// modes are the digits of a number, and a place is a sum without remainders, so that no quotient
/// waits for another one: the number times the first mode's step, and for each other mode, as often
/// as the count has been carried to it, its own step less what all indices of the mode before it
/// have added. Unsigned sums may wrap around on the way.
template <class Number, class Step, int most_carries>
struct BasicWalk {
  struct Carry {
    Reciprocal<Number> after;  ///< numbers from one to the next
    Step src = 0;              ///< bytes
    Step dst = 0;
  };
  static constexpr int max_rank = most_carries + 1;

  Step src_step = 0;
  Step dst_step = 0;
  int rank = 0;
  Carry carry[most_carries];  ///< those beyond the rank add nothing

  /// The offsets of number `n`.
  CT_HOST_DEVICE constexpr Offsets at(Number n) const {
    const Number numbers[] = {n};
    Offsets offsets[1];
    at(numbers, offsets);
    return offsets[0];
  }

  /// Those of several numbers: what a carry needs is read once for all of them.
  template <int N>
  CT_HOST_DEVICE constexpr void at(const Number (&n)[N], Offsets (&offsets)[N]) const {
    Step from[N] = {};
    Step to[N] = {};
    CT_UNROLL
    for (int k = 0; k < N; ++k) {
      from[k] = static_cast<Step>(n[k]) * src_step;
      to[k] = static_cast<Step>(n[k]) * dst_step;
    }
    add<1>(0, n, from, to);
    if (rank > 2) add<together>(1, n, from, to);
    if (rank > 2 + together) add<together>(1 + together, n, from, to);
    if constexpr (most_carries > 1 + 2 * together) {
      CT_NO_UNROLL
      for (int i = 1 + 2 * together; i + 1 < rank; i += together) add<together>(i, n, from, to);
    }
    using Signed = std::make_signed_t<Step>;
    CT_UNROLL
    for (int k = 0; k < N; ++k) {
      offsets[k] = {static_cast<Signed>(from[k]), static_cast<Signed>(to[k])};
    }
  }

 private:
  // Each line of 64 bytes of the arguments that a block needs is a miss of the constant cache, one
  // after the other.
  static constexpr int together = static_cast<int>(64 / sizeof(Carry));
  static_assert((most_carries - 1) % together == 0);

  // What some carries add, from number `first` on.
  template <int count, int N>
  CT_HOST_DEVICE constexpr void add(int first, const Number (&n)[N], Step (&from)[N],
                                    Step (&to)[N]) const {
    CT_UNROLL
    for (int i = 0; i < count; ++i) {
      const Carry& each = carry[first + i];
      CT_UNROLL
      for (int k = 0; k < N; ++k) {
        const auto times = static_cast<Step>(each.after.quotient(n[k]));
        from[k] += times * each.src;
        to[k] += times * each.dst;
      }
    }
  }
};

/// Walks blocks, or what blocks take: fewer than 2^31.
using Walk = BasicWalk<std::uint32_t, std::uint64_t, 29>;

/// Makes a walk, mode by mode.
template <class Walk>
struct WalkMaker {
  Walk walk;

  /// Bytes from an index to the next. A mode of extent 1 adds nothing.
  constexpr void add(std::int64_t extent, std::int64_t src_step, std::int64_t dst_step) {
    if (extent == 1) return;
    if (walk.rank == Walk::max_rank) throw std::logic_error("more modes than a walk has room for");
    const auto src = static_cast<std::uint64_t>(src_step);
    const auto dst = static_cast<std::uint64_t>(dst_step);
    if (walk.rank == 0) {
      walk.src_step = static_cast<Step>(src);
      walk.dst_step = static_cast<Step>(dst);
    } else {
      walk.carry[walk.rank - 1] = {Reciprocal(static_cast<Number>(numbers_)),
                                   static_cast<Step>(src - src_added_),
                                   static_cast<Step>(dst - dst_added_)};
    }
    ++walk.rank;
    const auto count = static_cast<std::uint64_t>(extent);
    numbers_ *= count;
    src_added_ = count * src;
    dst_added_ = count * dst;
  }

 private:
  using Step = decltype(Walk::src_step);
  using Number = decltype(decltype(Walk::Carry::after)::magic);

  std::uint64_t numbers_ = 1;    // of the modes so far
  std::uint64_t src_added_ = 0;  // by all indices of the last one
  std::uint64_t dst_added_ = 0;
};

}  // namespace cornerturn::kernels
