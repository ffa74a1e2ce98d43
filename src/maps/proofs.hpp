// Proofs at compile time that a warp's accesses to a tile meet no bank conflict:
//
//   static_assert(conflict_free<float, ChunkXor<64, 64, 4>, Access::columns, 16>);
//
// Where it is false the compiler's message shows a BankConflict<Request<..>, LaneA<..>, LaneB<..>,
// Bank<..>, WordA<..>, WordB<..>>: in that request these two lanes want two words of one bank.
#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <utility>

#include "maps/banks.hpp"
#include "maps/tile_maps.hpp"

namespace cornerturn {

/// How the lanes of the warps walk over a tile, V elements an access.
enum class Access {
  rows,     ///< one after the other along the rows, as a tile is filled
  columns,  ///< each lane has a V x V block, lanes go down the rows of blocks (V = 1: a column)
  diagonal  ///< as columns, but of 8 x 8 blocks quarter-warp q takes (k, k ^ q), k = 0 .. 7
};

struct TilePoint {
  int row = 0;
  int column = 0;
  bool inside = true;
};

namespace detail {

template <class Map, Access A, int V>
struct TileAccess {
  static_assert(Map::columns % V == 0 && (A == Access::rows || Map::rows % V == 0),
                "the tile is no whole number of accesses");
  static_assert(A != Access::diagonal || (Map::columns % (8 * V) == 0 && Map::rows % (8 * V) == 0),
                "the tile is no whole number of 8 x 8 blocks");

  static constexpr int block_rows = Map::rows / V;
  static constexpr int block_columns = Map::columns / V;
  static constexpr int vectors =
      A == Access::rows ? Map::rows * block_columns : block_rows * block_columns;
  static constexpr int warps = (vectors + warp_lanes - 1) / warp_lanes;
  static constexpr int requests = A == Access::rows ? warps : warps * V;
  static constexpr bool linear = is_power_of_two(Map::rows) && is_power_of_two(Map::columns) &&
                                 is_power_of_two(V) && vectors >= warp_lanes;

  static constexpr TilePoint at(int request, int lane) {
    if constexpr (A == Access::rows) {
      const int vector = request * warp_lanes + lane;
      return {vector / block_columns, vector % block_columns * V, vector < vectors};
    } else {
      const int vector = request / V * warp_lanes + lane;
      int k = vector % block_rows;
      int c = vector / block_rows;
      if constexpr (A == Access::diagonal) {
        const int group = vector / 64;
        k = group % (block_rows / 8) * 8 + vector % 8;
        c = group / (block_rows / 8) * 8 + (vector % 8 ^ vector % 64 / 8);
      }
      return {k * V + request % V, c * V, vector < vectors};
    }
  }
};

template <class T, class Map, Access A, int VectorBytes>
struct TileProof {
  static_assert(VectorBytes % sizeof(T) == 0, "an access is no whole number of elements");
  using Lanes = TileAccess<Map, A, VectorBytes / static_cast<int>(sizeof(T))>;

  static constexpr std::uint64_t address(int request, int lane) {
    const TilePoint point = Lanes::at(request, lane);
    return static_cast<std::uint64_t>(Map::at(point.row, point.column)) * sizeof(T);
  }

  /// Stores: what is clean as a store is clean as a load too.
  static constexpr SharedCost cost(int request) {
    WarpRequest warp;
    warp.width = VectorBytes;
    for (int lane = 0; lane < warp_lanes; ++lane) {
      if (Lanes::at(request, lane).inside) {
        warp.address[static_cast<std::size_t>(lane)] = address(request, lane);
      } else {
        warp.active &= ~(1U << lane);
      }
    }
    return shared_cost(warp, SharedOp::store);
  }

  static constexpr bool aligned(int request) {
    for (int lane = 0; lane < warp_lanes; ++lane) {
      if (Lanes::at(request, lane).inside && address(request, lane) % VectorBytes != 0)
        return false;
    }
    return true;
  }

  static constexpr bool linear = Map::linear && Lanes::linear;
};

/// The rank of the vectors' bits [low, high) over the field of two elements.
constexpr int f2_rank(std::array<std::uint64_t, 5> vectors, int count, int low, int high) {
  const std::uint64_t mask =
      (high >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << high) - 1) >> low << low;
  int rank = 0;
  for (int i = 0; i < count; ++i) {
    const std::uint64_t pivot = vectors[static_cast<std::size_t>(i)] & mask;
    if (pivot == 0) continue;
    ++rank;
    const std::uint64_t bit = pivot & (~pivot + 1);
    for (int j = i + 1; j < count; ++j) {
      if ((vectors[static_cast<std::size_t>(j)] & bit) != 0) {
        vectors[static_cast<std::size_t>(j)] ^= vectors[static_cast<std::size_t>(i)];
      }
    }
  }
  return rank;
}

/// Linear maps: the lanes of a group reach 2^rank(word bits) words in 2^rank(bank bits) banks, in
/// every request and every group alike.
template <class Proof, int VectorBytes>
constexpr bool clean_by_rank() {
  std::array<std::uint64_t, 5> lane_bits = {};
  int count = 0;
  for (int lane = 1; lane < warp_lanes && lane * VectorBytes < bank_count * bank_bytes; lane *= 2) {
    lane_bits[static_cast<std::size_t>(count++)] = Proof::address(0, lane) ^ Proof::address(0, 0);
  }
  const int low =
      std::countr_zero(static_cast<unsigned>(VectorBytes > bank_bytes ? VectorBytes : bank_bytes));
  return f2_rank(lane_bits, count, low, 64) == f2_rank(lane_bits, count, low, 7);
}

// One constant each: compilers limit what a single one may cost.
template <class Proof, int Request>
inline constexpr SharedCost request_cost = Proof::cost(Request);

/// The first request that is not clean, or -1.
template <class Proof, int... Request>
constexpr int first_conflict(std::integer_sequence<int, Request...>) {
  int first = -1;
  (void)((request_cost<Proof, Request>.clean() ? false : (first = Request, true)) || ...);
  return first;
}

template <class Proof>
constexpr int first_conflict() {
  return first_conflict<Proof>(std::make_integer_sequence<int, Proof::Lanes::requests>());
}

}  // namespace detail

/// The two ways to decide; for linear maps they agree, and the first is much less work.
template <class T, class Map, Access A, int VectorBytes = sizeof(T)>
constexpr bool conflict_free_by_rank() {
  using Proof = detail::TileProof<T, Map, A, VectorBytes>;
  static_assert(Proof::linear, "the map or the access is not linear over bits");
  return detail::clean_by_rank<Proof, VectorBytes>();
}
template <class T, class Map, Access A, int VectorBytes = sizeof(T)>
constexpr bool conflict_free_by_enumeration() {
  return detail::first_conflict<detail::TileProof<T, Map, A, VectorBytes>>() < 0;
}

template <int>
struct Request;
template <int>
struct LaneA;
template <int>
struct LaneB;
template <int>
struct Bank;
template <std::uint64_t>
struct WordA;
template <std::uint64_t>
struct WordB;

/// What a failed proof shows.
template <class Request, class LaneA, class LaneB, class Bank, class WordA, class WordB>
struct BankConflict;
struct NoBankConflict;

namespace detail {

template <class Proof, int R>
struct Report {
  static constexpr Collision c = request_cost<Proof, R>.collision;
  using type = BankConflict<Request<R>, LaneA<c.lane_a>, LaneB<c.lane_b>, Bank<c.bank>,
                            WordA<c.word_a>, WordB<c.word_b>>;
};
template <class Proof>
struct Report<Proof, -1> {
  using type = NoBankConflict;
};

template <class Proof, int VectorBytes>
constexpr int conflicting_request() {
  if constexpr (Proof::linear) {
    return clean_by_rank<Proof, VectorBytes>() ? -1 : 0;
  } else {
    return first_conflict<Proof>();
  }
}

template <class Finding>
concept nothing_found = std::same_as<Finding, NoBankConflict>;

}  // namespace detail

/// NoBankConflict, or the first BankConflict.
template <class T, class Map, Access A, int VectorBytes = sizeof(T)>
using bank_conflict = typename detail::Report<
    detail::TileProof<T, Map, A, VectorBytes>,
    detail::conflicting_request<detail::TileProof<T, Map, A, VectorBytes>, VectorBytes>()>::type;

/// No two lanes of a group meet in a bank, whatever the request, for loads and for stores of
/// VectorBytes by warps that walk over the tile of T as A says.
template <class T, class Map, Access A, int VectorBytes = sizeof(T)>
concept conflict_free = detail::nothing_found<bank_conflict<T, Map, A, VectorBytes>>;

namespace detail {

template <class Finding>
struct Proven {
  static_assert(
      std::same_as<Finding, NoBankConflict>,
      "two lanes want different words of one bank; the BankConflict in this message names "
      "them");
  static constexpr bool value = true;
};

}  // namespace detail

/// conflict_free, or a compile error that names the lanes whichever the compiler: nvcc says of a
/// concept only that it is false.
template <class T, class Map, Access A, int VectorBytes = sizeof(T)>
constexpr bool proven_conflict_free() {
  return detail::Proven<bank_conflict<T, Map, A, VectorBytes>>::value;
}

/// Is every access a multiple of its width?
template <class T, class Map, Access A, int VectorBytes = sizeof(T)>
constexpr bool is_aligned() {
  using Proof = detail::TileProof<T, Map, A, VectorBytes>;
  for (int request = 0; request < Proof::Lanes::requests; ++request) {
    if (!Proof::aligned(request)) return false;
  }
  return true;
}

}  // namespace cornerturn
