// amax: the largest magnitude of an array of any strides, in the order of its memory. Magnitudes
// are compared as whole numbers (values/magnitude.hpp). Each block leaves one; which is the largest
// of those is for the caller to see.
//
//   vectors    the fastest axis has no gaps: a thread takes the aligned 16 bytes of a row, of those
//              at its ends the elements inside
//   elements   everything else, and rows of less than four vectors
#pragma once

#include <cstdint>
#include <type_traits>

#include "kernels/casts.hpp"
#include "kernels/unaligned.hpp"
#include "kernels/walk.hpp"
#include "values/magnitude.hpp"

namespace cornerturn::kernels {

using values::Magnitude;

struct AmaxAxis {
  FastDivide64 count;
  std::int64_t step = 0;  ///< bytes
};

struct AmaxArgs {
  const std::byte* src = nullptr;  ///< the lowest element
  std::uint64_t* found = nullptr;  ///< one for each block
  int element_bytes = 4;
  Magnitude rule = Magnitude::signless;
  bool swapped = false;        ///< the bytes of elements stand in the other order
  std::int64_t pieces = 0;     ///< vectors, or elements
  std::int64_t row_bytes = 0;  ///< 0: elements
  FastDivide64 row_vectors;    ///< as many as the row needs that lies worst
  int rank = 0;
  AmaxAxis axis[max_axes];  ///< of rows, or of elements: the fastest first

  /// Where row, or element, number `n` begins.
  CT_HOST_DEVICE constexpr std::int64_t at(std::uint64_t n) const {
    std::int64_t offset = 0;
    for (int i = 0; i < rank; ++i) {
      const std::uint64_t rest = axis[i].count.quotient(n);
      offset += static_cast<std::int64_t>(n - rest * axis[i].count.divisor) * axis[i].step;
      n = rest;
    }
    return offset;
  }
};

/// The largest magnitude of what a thread has seen of elements of one size, in words: four bytes,
/// two halves, one of 4 bytes, or half of one of 8.
template <int size, Magnitude rule>
struct LargestMagnitude {
  /// Bytes are kept as two halves.
  using Most = std::conditional_t<size == 8, std::uint64_t, std::uint32_t>;
  static constexpr Most element = static_cast<Most>(~std::uint64_t{0} >> (64 - 8 * size));
  static constexpr Most ones = static_cast<Most>(~Most{0} / element);  // 1 in each element
  static constexpr Most signs = ones << (8 * size - 1);

  Most most = 0;

  CT_DEVICE static Most magnitudes(Most x) {
    if constexpr (rule == Magnitude::signless) {
      return x & ~signs;
    } else if constexpr (rule == Magnitude::absolute) {
      const Most negative = (x & signs) >> (8 * size - 1);
      return (x ^ (negative * element)) + negative;
    } else {
      return x;
    }
  }
  CT_DEVICE static Most larger(Most a, Most b) {
    if constexpr (size == 1) {
      return larger_halves(larger_halves(a, b & 0x00ff00ffU), b >> 8 & 0x00ff00ffU);
    } else if constexpr (size == 2) {
      return larger_halves(a, b);
    } else {
      return a > b ? a : b;
    }
  }

  CT_DEVICE void take(Most x) { most = larger(most, magnitudes(x)); }
  CT_DEVICE void take(const Words& words) {
    CT_UNROLL
    for (int i = 0; i < 4; i += size == 8 ? 2 : 1) {
      if constexpr (size == 8) {
        take(std::uint64_t{words[i + 1]} << 32 | words[i]);
      } else {
        take(words[i]);
      }
    }
  }
  CT_DEVICE Most result() const {
    if constexpr (size > 2) {
      return most;
    } else {
      return most >> 16 > (most & 0xffffU) ? most >> 16 : most & 0xffffU;
    }
  }
};

template <int size, Magnitude rule, bool vectors>
struct Amax {
  using Raw = typename BitsOf<size>::type;
  using Largest = LargestMagnitude<size, rule>;
  using Most = typename Largest::Most;
  static constexpr int threads = 256;
  static constexpr int min_blocks = 4;
  static constexpr int of_thread = 4;  ///< pieces in flight

  template <class Ctx>
  CT_DEVICE static void run(Ctx& ctx, const AmaxArgs& a) {
    const auto pieces = static_cast<std::uint64_t>(a.pieces);
    constexpr std::uint64_t of_block = threads * of_thread;
    Largest largest;
    for (std::uint64_t first = ctx.block_id().x * of_block; first < pieces;
         first += ctx.grid_dim().x * of_block) {
      std::conditional_t<vectors, Words, Raw> v[of_thread];
      CT_UNROLL
      for (int i = 0; i < of_thread; ++i) {
        v[i] = load(ctx, a, first + static_cast<std::uint64_t>(thread_of(ctx) + i * threads));
      }
      if (a.swapped) {
        CT_UNROLL
        for (int i = 0; i < of_thread; ++i) v[i] = swapped(v[i]);
      }
      CT_UNROLL
      for (int i = 0; i < of_thread; ++i) largest.take(v[i]);
    }

    Most most = largest.result();
    CT_UNROLL
    for (int mask = 1; mask < 32; mask *= 2) most = max(most, ctx.shuffle_xor(most, mask));
    const auto of_warps = ctx.template shared<Most, threads / 32>();
    ctx.store_if(ctx.lane() == 0, of_warps + ctx.warp(), most);
    ctx.barrier();
    if (thread_of(ctx) != 0) return;
    for (int warp = 1; warp < threads / 32; ++warp) most = max(most, ctx.load(of_warps + warp));
    ctx.store(a.found + ctx.block_id().x, std::uint64_t{most});
  }

 private:
  CT_DEVICE static Raw swapped(Raw element) {
    return static_cast<Raw>(values::bytes_swapped(element, size));
  }
  // Elements of a word change places, which a maximum does not see.
  CT_DEVICE static Words swapped(const Words& words) {
    Words to;
    CT_UNROLL
    for (int i = 0; i < 4; ++i) {
      const auto word = static_cast<std::uint32_t>(values::bytes_swapped(words[i], 4));
      to[size == 8 ? i ^ 1 : i] = size == 1 ? words[i] : word;
    }
    return to;
  }
  CT_DEVICE static Most max(Most a, Most b) { return a > b ? a : b; }

  // Beyond the last piece: 0, which is no more than any other.
  template <class Ctx>
  CT_DEVICE static auto load(Ctx& ctx, const AmaxArgs& a, std::uint64_t n) {
    const bool inside = n < static_cast<std::uint64_t>(a.pieces);
    if constexpr (vectors) {
      const std::uint64_t row = a.rank == 0 ? 0 : a.row_vectors.quotient(n);
      const std::byte* const from = a.src + a.at(row);
      const auto k = static_cast<std::int64_t>(n - row * a.row_vectors.divisor);
      const std::byte* const vector = from - phase_of(from) + 16 * k;
      const Span span{from, from + a.row_bytes};
      return load_inside<Raw>(ctx, inside && vector < span.high, vector, span);
    } else {
      return ctx.load_if(inside, reinterpret_cast<const Raw*>(a.src + a.at(inside ? n : 0)));
    }
  }
};

template <class Visit>
void dispatch(const AmaxArgs& a, Visit&& visit) {
  const auto of_rule = [&]<int size, Magnitude rule>() {
    a.row_bytes > 0 ? visit.template operator()<Amax<size, rule, true>>()
                    : visit.template operator()<Amax<size, rule, false>>();
  };
  const auto of_size = [&]<int size>() {
    switch (a.rule) {
      case Magnitude::same:
        return of_rule.template operator()<size, Magnitude::same>();
      case Magnitude::signless:
        return of_rule.template operator()<size, Magnitude::signless>();
      default:
        return of_rule.template operator()<size, Magnitude::absolute>();
    }
  };
  switch (a.element_bytes) {
    case 1:
      return of_size.template operator()<1>();
    case 2:
      return of_size.template operator()<2>();
    case 4:
      return of_size.template operator()<4>();
    default:
      return of_size.template operator()<8>();
  }
}

}  // namespace cornerturn::kernels
