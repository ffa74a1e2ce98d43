// fine: tiles of 32 x 32 elements or fewer. Each thread moves one vector of at most four elements
// from a row of the source into shared memory, and one from there to a row of the destination.
// Where arrays lie in the L2 and are small, there is little to wait for but the chain of one
// thread's accesses: blocks are many, and this chain is short.
//
//   source          shared memory        destination
//   row r           row r, padded        row c
//   k-th vector     k-th vector          k-th vector, its elements from
//   of a row                             as many rows of shared memory
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/elements.hpp"
#include "kernels/walk.hpp"
#include "maps/fast_divide.hpp"

namespace cornerturn::kernels {

/// Each line of 64 bytes of the arguments that a block needs is a miss of the constant cache, and
/// they begin 16 bytes behind such a line. What a thread needs before it loads fills the first one.
struct FineArgs {
  const std::byte* src = nullptr;
  std::byte* dst = nullptr;
  std::int64_t row_step = 0;  ///< bytes from a row of the source to the next
  std::uint32_t rows = 1;     ///< those of TileMatrix
  std::uint32_t cols = 1;
  FastDivide down;  ///< tiles of a column
  std::uint32_t matrices = 1;
  std::int64_t col_step = 0;  ///< bytes from a row of the destination to the next
  FastDivide tiles;           ///< of a matrix
  int element_bytes = 1;
  Walk rest;
};

static_assert(offsetof(FineArgs, col_step) == 48);

/// Elements of a vector, and of a side of a tile, which eight vectors fill.
constexpr int fine_vector(int element_bytes) {
  return element_bytes <= 4 ? 4 : 2;
}
constexpr int fine_side(int element_bytes) {
  return 8 * fine_vector(element_bytes);
}

template <class T>
struct Fine {
  static constexpr int size = static_cast<int>(sizeof(T));
  static constexpr int V = fine_vector(size);
  static constexpr int side = fine_side(size);
  static constexpr int threads = 8 * side;
  static constexpr int min_blocks = 2048 / threads;
  /// A pad of an element, or of the bank that smaller ones share.
  static constexpr int pitch = side + (size < 4 ? 4 / size : 1);
  static constexpr unsigned shared_bytes = side * pitch * size;
  using Vector = Vec<T, V>;

  template <class Ctx>
  CT_DEVICE static void run(Ctx& ctx, const FineArgs& a) {
    const auto tile = ctx.template dynamic_shared<T>();
    const auto [first_row, first_col, rest] = place(ctx.block_id().x, a);
    const int thread = thread_of(ctx);
    const int line = thread / 8, first = thread % 8 * V;  // of both legs
    {
      const std::uint32_t row = first_row + static_cast<unsigned>(line);
      const std::uint32_t col = first_col + static_cast<unsigned>(first);
      const std::byte* const from = a.src + rest.src + row * a.row_step + std::int64_t{col} * size;
      const bool inside = row < a.rows && col < a.cols;
      put(ctx, tile + (line * pitch + first),
          ctx.load_if(inside, reinterpret_cast<const Vector*>(from)));
    }
    ctx.barrier();
    Vector v;
    CT_UNROLL
    for (int i = 0; i < V; ++i) v[i] = ctx.load(tile + ((first + i) * pitch + line));
    const std::uint32_t row = first_row + static_cast<unsigned>(first);
    const std::uint32_t col = first_col + static_cast<unsigned>(line);
    std::byte* const to = a.dst + rest.dst + col * a.col_step + std::int64_t{row} * size;
    ctx.store_if(row < a.rows && col < a.cols, reinterpret_cast<Vector*>(to), v);
  }

 private:
  struct Place {
    std::uint32_t row, col;
    Offsets rest;
  };
  // Blocks that follow each other write the same rows of the destination.
  CT_DEVICE static Place place(std::uint32_t block, const FineArgs& a) {
    std::uint32_t tile = block;
    Offsets rest;
    if (a.matrices > 1) {
      const std::uint32_t matrix = a.tiles.quotient(block);
      tile -= matrix * a.tiles.divisor;
      rest = a.rest.at(matrix);
    }
    const std::uint32_t across = a.down.quotient(tile);
    return {(tile - across * a.down.divisor) * side, across * side, rest};
  }

  // Smaller elements go as words, which the pitch leaves aligned.
  template <class Ctx>
  CT_DEVICE static void put(Ctx& ctx, SharedPointer<T> to, const Vector& v) {
    if constexpr (size < 4) {
      using Words = Vec<std::uint32_t, V * size / 4>;
      const auto words = __builtin_bit_cast(Words, v);
      CT_UNROLL
      for (int i = 0; i < V * size / 4; ++i) {
        ctx.store(cast<std::uint32_t>(to) + i, words[i]);
      }
    } else {
      CT_UNROLL
      for (int i = 0; i < V; ++i) ctx.store(to + i, v[i]);
    }
  }
};

template <class Visit>
void dispatch(const FineArgs& a, Visit&& visit) {
  with_element(a.element_bytes, [&]<class T>(T) {
    if constexpr (sizeof(T) <= 8) visit.template operator()<Fine<T>>();
  });
}

}  // namespace cornerturn::kernels
