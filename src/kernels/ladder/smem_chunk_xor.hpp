// 16-byte accesses on all four legs. A thread owns a block of V x V elements, V = 16 bytes /
// element: it loads V rows of the block, turns them in its registers and stores V rows of the
// turned tile. The tile holds chunks of V elements; chunk c of row r lies at c ^ (r / V), so
// that eight lanes that store V rows apart, and eight lanes that read one row, both touch all 32
// banks once.
//
//   turned row   chunks in memory (V = 4)
//   0 - 3        0 1 2 3 4 5 6 7
//   4 - 7        1 0 3 2 5 4 7 6
//   8 - 11       2 3 0 1 6 7 4 5
#pragma once

#include "kernels/ladder/matrix.hpp"
#include "maps/proofs.hpp"
#include "maps/tile_maps.hpp"

namespace cornerturn::ladder {

/// Turns a block of V x V elements, held as V rows of 16 bytes: swaps its two off-diagonal
/// quarters, then those of each quarter. Quarters of whole words only change names; smaller ones
/// are permuted.
template <class T, int V>
CT_DEVICE void turn(Vec<T, V> (&v)[V]) {
  using Words = Vec<std::uint32_t, 4>;
  using Row = Vec<T, V>;
  Words w[V];
  CT_UNROLL
  for (int i = 0; i < V; ++i) w[i] = __builtin_bit_cast(Words, v[i]);
  CT_UNROLL
  for (int s = V / 2; s >= 1; s /= 2) {
    const int bytes = s * static_cast<int>(sizeof(T));
    CT_UNROLL
    for (int i = 0; i < V; ++i) {
      if ((i & s) != 0) continue;
      CT_UNROLL
      for (int k = 0; k < 4; ++k) {
        if (bytes >= 4) {
          if ((k & (bytes / 4)) != 0) continue;
          const std::uint32_t upper = w[i][k | (bytes / 4)];
          w[i][k | (bytes / 4)] = w[i | s][k];
          w[i | s][k] = upper;
        } else {
          const std::uint32_t upper = w[i][k];
          const std::uint32_t lower = w[i | s][k];
          w[i][k] = byte_permute(upper, lower, bytes == 2 ? 0x5410 : 0x6240);
          w[i | s][k] = byte_permute(upper, lower, bytes == 2 ? 0x7632 : 0x7351);
        }
      }
    }
  }
  CT_UNROLL
  for (int i = 0; i < V; ++i) v[i] = __builtin_bit_cast(Row, w[i]);
}

/// One tile: what `smem_chunk_xor` and `block_order` do with it.
template <class T>
struct ChunkTile {
  static constexpr int V = vector_of<T>;
  static constexpr int side = sizeof(T) == 8 ? 32 : sizeof(T) == 4 ? 64 : 128;
  static constexpr int blocks = side / V;
  static constexpr int threads = blocks * blocks;
  using Map = ChunkXor<side, side, V>;  // of the turned tile
  static constexpr int span = static_cast<int>(Map::required_span_size());
  static_assert(conflict_free<T, Map, Access::columns, 16> &&
                conflict_free<T, Map, Access::rows, 16>);

  template <class Ctx>
  CT_DEVICE static void move(Ctx& ctx, const MatrixArgs<T>& a, const Tile& tile) {
    const auto buffer = ctx.template shared<T, span>();
    if (a.wide) {
      move_blocks(ctx, a, tile, buffer);
    } else {
      move_elements(ctx, a, tile, buffer);
    }
  }

  template <class Ctx>
  CT_DEVICE static void move_blocks(Ctx& ctx, const MatrixArgs<T>& a, const Tile& tile,
                                    SharedPointer<T> buffer) {
    const int across = ctx.thread_index() % blocks * V;
    const int down = ctx.thread_index() / blocks * V;
    Vec<T, V> v[V];
    CT_UNROLL
    for (int i = 0; i < V; ++i) {  // Load: V rows of the block at (down, across)
      const std::int64_t row = tile.row + down + i;
      const std::int64_t col = tile.col + across;
      v[i] = ctx.load_if(a.inside(row, col), as_vec<V>(a.src + a.src_at(row, col)));
    }
    turn(v);
    CT_UNROLL
    for (int i = 0; i < V; ++i) ctx.store(as_vec<V>(buffer + Map::at(across + i, down)), v[i]);

    ctx.barrier();

    CT_UNROLL
    for (int i = 0; i < V; ++i) v[i] = ctx.load(as_vec<V>(buffer + Map::at(down + i, across)));
    CT_UNROLL
    for (int i = 0; i < V;
         ++i) {  // Store: V rows of the turned block, which began at (across, down)
      const std::int64_t row = tile.row + across;
      const std::int64_t col = tile.col + down + i;
      ctx.store_if(a.inside(row, col), as_vec<V>(a.dst + a.dst_at(row, col)), v[i]);
    }
  }

  // Rows that begin anywhere: the same tile, one element at a time.
  template <class Ctx>
  CT_DEVICE static void move_elements(Ctx& ctx, const MatrixArgs<T>& a, const Tile& tile,
                                      SharedPointer<T> buffer) {
    for (int i = ctx.thread_index(); i < side * side; i += threads) {  // Load
      const bool inside = a.inside(tile.row + i / side, tile.col + i % side);
      const auto from = a.src_at(tile.row + i / side, tile.col + i % side);
      ctx.store_if(inside, buffer + Map::at(i % side, i / side), ctx.load_if(inside, a.src + from));
    }
    ctx.barrier();
    for (int i = ctx.thread_index(); i < side * side; i += threads) {  // Store
      const bool inside = a.inside(tile.row + i % side, tile.col + i / side);
      const auto to = a.dst_at(tile.row + i % side, tile.col + i / side);
      ctx.store_if(inside, a.dst + to, ctx.load_if(inside, buffer + Map::at(i / side, i % side)));
    }
  }
};

struct SmemChunkXor {
  static constexpr const char* name = "smem_chunk_xor";
  static constexpr const char* shows = "16-byte accesses on all four legs, chunks xor-ed";
  static constexpr bool transposes = true;
  template <class T>
  static constexpr bool takes = true;

  template <class T>
  static constexpr Launch launch(const MatrixArgs<T>& a) {
    using Chunks = ChunkTile<T>;
    return tiled_launch(a, Chunks::side, Chunks::side, {Chunks::threads, 1, 1});
  }

  template <class T, class Ctx>
  CT_DEVICE static void run(Ctx& ctx, const MatrixArgs<T>& a) {
    using Chunks = ChunkTile<T>;
    Chunks::move(ctx, a, tile_of(a, ctx.block_id().x, Chunks::side, Chunks::side));
  }
};

}  // namespace cornerturn::ladder
