// 16-byte accesses on all four legs. Blocks of V x V elements (V = 16 bytes / element) are
// transposed in registers, a block by one lane or, where it has more than 64 bytes, by two lanes
// together; then a row of the transposed block is one chunk of V elements of the transposed tile.
// Chunk c of row r lies at c ^ (r / V), so that eight lanes that store V rows apart, and eight
// lanes that read one row, both touch all 32 banks once. Rows of the tile have 256 bytes: a block
// then moves whole runs of two lines of the source and of the destination.
//
//   transposed row chunks in memory (V = 4)
//   0 - 3        0 1 2 3 4 5 6 7
//   4 - 7        1 0 3 2 5 4 7 6
//   8 - 11       2 3 0 1 6 7 4 5
#pragma once

#include "maps/proofs.hpp"
#include "maps/tile_maps.hpp"
#include "workshop/rungs/matrix.hpp"
#include "workshop/rungs/transpose_block.hpp"

namespace cornerturn::ladder {

/// One tile: what `smem_chunk_xor` and `block_order` do with it.
template <class T>
struct ChunkTile {
  static constexpr int V = vector_of<T>;
  static constexpr int Q = V > 4 ? 2 : 1;  // lanes of a block
  static constexpr int R = V / Q;          // rows of a lane
  static constexpr int side = 256 / static_cast<int>(sizeof(T));
  static constexpr int blocks = side / V;  // along a row; neighbouring lanes have neighbours
  static constexpr int threads = blocks * (side / R);
  static_assert(32 % (blocks * Q) == 0, "the lanes of a block are in one warp");
  using Map = ChunkXor<side, side, V>;  // of the transposed tile
  static constexpr int span = static_cast<int>(Map::required_span_size());
  static constexpr unsigned bytes = span * sizeof(T);
  static_assert(conflict_free<T, Map, Access::columns, 16> &&
                conflict_free<T, Map, Access::rows, 16>);

  template <class Ctx>
  CT_DEVICE static void move(Ctx& ctx, const MatrixArgs<T>& a, const Tile& tile) {
    const auto buffer = ctx.template dynamic_shared<T>();
    if (a.wide) {
      move_blocks(ctx, a, tile, buffer);
    } else {
      move_elements(ctx, a, tile, buffer);
    }
  }

  template <class Ctx>
  CT_DEVICE static void move_blocks(Ctx& ctx, const MatrixArgs<T>& a, const Tile& tile,
                                    SharedPointer<T> buffer) {
    const int across = ctx.thread_index() % blocks * V;  // this lane's columns
    const int down = ctx.thread_index() / blocks * R;    // and its R rows
    Vec<T, V> v[R];
    CT_UNROLL
    for (int i = 0; i < R; ++i) {  // Load
      const std::int64_t row = tile.row + down + i;
      const std::int64_t col = tile.col + across;
      v[i] = ctx.load_if(a.inside(row, col), as_vec<V>(a.src + a.src_at(row, col)));
    }
    transpose_block<T>(ctx, v, blocks);
    const int turned_row = across + down % V;
    const int turned_col = down / V * V;
    CT_UNROLL
    for (int i = 0; i < R; ++i) {
      ctx.store(as_vec<V>(buffer + Map::at(turned_row + i, turned_col)), v[i]);
    }

    ctx.barrier();

    CT_UNROLL
    for (int i = 0; i < R; ++i) v[i] = ctx.load(as_vec<V>(buffer + Map::at(down + i, across)));
    CT_UNROLL
    for (int i = 0; i < R; ++i) {  // Store: the tile's rows are the destination's
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
  using SharedMap = typename ChunkTile<T>::Map;

  template <class T>
  static constexpr Launch launch(const MatrixArgs<T>& a) {
    using Chunks = ChunkTile<T>;
    return tiled_launch(a, Chunks::side, Chunks::side, {Chunks::threads, 1, 1}, Chunks::bytes);
  }

  template <class T, class Ctx>
  CT_DEVICE static void run(Ctx& ctx, const MatrixArgs<T>& a) {
    using Chunks = ChunkTile<T>;
    Chunks::move(ctx, a, tile_of(a, ctx.block_id().x, Chunks::side, Chunks::side));
  }
};

}  // namespace cornerturn::ladder
