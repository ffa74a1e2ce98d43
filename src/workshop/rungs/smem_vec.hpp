// A tile of 32 x 32 elements of 4 bytes with 16-byte accesses to global memory. Shared memory is
// still touched one element at a time, as neighbours there are not neighbours in the other order:
//
//   smem_pad_vec   row * 33 + col           the second row begins at byte 132, which no 16-byte
//                                           access can reach
//   smem_xor_vec   row * 32 + (col ^ row)   nothing is lost, but neighbours are scattered
//
// Where rows do not begin at multiples of 16 bytes, the same threads move the same elements singly.
#pragma once

#include "workshop/rungs/smem.hpp"

namespace cornerturn::ladder {

template <class Map>
struct VectorTile {
  static constexpr bool transposes = true;
  template <class T>
  static constexpr bool takes = sizeof(T) == 4;
  template <class T>
  using SharedMap = Map;

  static constexpr int side = 32;
  static constexpr int V = 4;
  static constexpr int threads = side * side / V;
  static constexpr int span = static_cast<int>(Map::required_span_size());

  template <class T>
  static constexpr Launch launch(const MatrixArgs<T>& a) {
    return tiled_launch(a, side, side, {threads, 1, 1});
  }

  template <class T, class Ctx>
  CT_DEVICE static void run(Ctx& ctx, const MatrixArgs<T>& a) {
    const Tile tile = tile_of(a, ctx.block_id().x, side, side);
    const auto buffer = ctx.template shared<T, span>();
    const int across = ctx.thread_index() % (side / V) * V;
    const int down = ctx.thread_index() / (side / V);

    Vec<T, V> v{};  // Load: a vector of a source row
    if (a.wide) {
      const bool inside = a.inside(tile.row + down, tile.col + across);
      v = ctx.load_if(inside, as_vec<V>(a.src + a.src_at(tile.row + down, tile.col + across)));
    } else {
      CT_UNROLL
      for (int i = 0; i < V; ++i) {
        const bool inside = a.inside(tile.row + down, tile.col + across + i);
        v[i] = ctx.load_if(inside, a.src + a.src_at(tile.row + down, tile.col + across + i));
      }
    }
    CT_UNROLL
    for (int i = 0; i < V; ++i) ctx.store(buffer + Map::at(down, across + i), v[i]);

    ctx.barrier();

    CT_UNROLL
    for (int i = 0; i < V; ++i) v[i] = ctx.load(buffer + Map::at(across + i, down));
    if (a.wide) {  // Store: a vector of a destination row
      const bool inside = a.inside(tile.row + across, tile.col + down);
      ctx.store_if(inside, as_vec<V>(a.dst + a.dst_at(tile.row + across, tile.col + down)), v);
    } else {
      CT_UNROLL
      for (int i = 0; i < V; ++i) {
        const bool inside = a.inside(tile.row + across + i, tile.col + down);
        ctx.store_if(inside, a.dst + a.dst_at(tile.row + across + i, tile.col + down), v[i]);
      }
    }
  }
};

struct SmemPadVec : VectorTile<Padded<32, 32, 1>> {
  static constexpr const char* name = "smem_pad_vec";
  static constexpr const char* shows = "16-byte global accesses; padding forbids them in the tile";
};

struct SmemXorVec : VectorTile<ChunkXor<32, 32, 1>> {
  static constexpr const char* name = "smem_xor_vec";
  static constexpr const char* shows = "16-byte global accesses; element (row, col) at col ^ row";
};

}  // namespace cornerturn::ladder
