// The way to cpy_transpose, a loop at a time. Each goes source -> tile -> destination; the tile is
// 32 x 33 slots of 4 bytes. (x, y) is the thread.
//
//   cpy_one_element   one matrix, 32 x 32 threads   tile[y][x]                   no loop
//   cpy_rows          one matrix, 32 x 8 threads    tile[y + 0, 8, 16, 24][x]    rows looped
//   cpy_transpose     8 matrices a block            the same, matrix by matrix   matrices looped
//   cpy_by_hand       cpy_rows as one thread meets it: the loops written out
#pragma once

#include <cstdint>

#include "workshop/rungs/cpy_transpose.hpp"

namespace cornerturn::ladder {

template <int height>
struct CpyStep {
  static constexpr bool transposes = true;
  template <class T>
  static constexpr bool takes = sizeof(T) <= 4;

  static constexpr int side = CpyTranspose::side;
  using Slots = CpyTranspose::Slots;
  template <class T>
  using SharedMap = Slots;
  static constexpr int slot_bytes = CpyTranspose::slot_bytes;

  template <class T>
  static constexpr Launch launch(const MatrixArgs<T>& a) {
    return tiled_launch(a, side, side, {side, height, 1});
  }
};

struct CpyOneElement : CpyStep<32> {
  static constexpr const char* name = "cpy_one_element";
  static constexpr const char* shows = "ggml's tile without a loop: a thread an element";

  template <class T, class Ctx>
  CT_DEVICE static void run(Ctx& ctx, const MatrixArgs<T>& a) {
    const auto tile = ctx.template shared<std::uint32_t, Slots::size>();
    const Tile at = tile_of(a, ctx.block_id().x, side, side);
    const int x = static_cast<int>(ctx.thread_id().x);
    const int y = static_cast<int>(ctx.thread_id().y);

    const bool reads = a.inside(at.row + y, at.col + x);
    const T in = ctx.load_if(reads, a.src + a.src_at(at.row + y, at.col + x));
    ctx.store_if(reads, cast<T>(tile + Slots::at(y, x)), in);
    ctx.barrier();
    const bool writes = a.inside(at.row + x, at.col + y);
    const T out = ctx.load_if(writes, cast<T>(tile + Slots::at(x, y)));
    ctx.store_if(writes, a.dst + a.dst_at(at.row + x, at.col + y), out);
  }
};

struct CpyRows : CpyStep<8> {
  static constexpr const char* name = "cpy_rows";
  static constexpr const char* shows = "ggml's tile, rows looped: a thread four elements";

  template <class T, class Ctx>
  CT_DEVICE static void run(Ctx& ctx, const MatrixArgs<T>& a) {
    const auto tile = ctx.template shared<std::uint32_t, Slots::size>();
    const Tile at = tile_of(a, ctx.block_id().x, side, side);
    const int x = static_cast<int>(ctx.thread_id().x);
    const int y = static_cast<int>(ctx.thread_id().y);

    CT_UNROLL
    for (int j = 0; j < side; j += 8) {
      const bool reads = a.inside(at.row + y + j, at.col + x);
      const T in = ctx.load_if(reads, a.src + a.src_at(at.row + y + j, at.col + x));
      ctx.store_if(reads, cast<T>(tile + Slots::at(y + j, x)), in);
    }
    ctx.barrier();
    CT_UNROLL
    for (int j = 0; j < side; j += 8) {
      const bool writes = a.inside(at.row + x, at.col + y + j);
      const T out = ctx.load_if(writes, cast<T>(tile + Slots::at(x, y + j)));
      ctx.store_if(writes, a.dst + a.dst_at(at.row + x, at.col + y + j), out);
    }
  }
};

struct CpyByHand : CpyStep<8> {
  static constexpr const char* name = "cpy_by_hand";
  static constexpr const char* shows = "ggml's tile, the loops of one thread written out";

  template <class T, class Ctx>
  CT_DEVICE static void run(Ctx& ctx, const MatrixArgs<T>& a) {
    const auto tile = ctx.template shared<std::uint32_t, Slots::size>();
    const Tile at = tile_of(a, ctx.block_id().x, side, side);
    const int x = static_cast<int>(ctx.thread_id().x);
    const int y = static_cast<int>(ctx.thread_id().y);

    // This thread's column of the source tile: rows y, y + 8, y + 16, y + 24.
    const std::int64_t col = at.col + x;
    const T in0 = ctx.load_if(a.inside(at.row + y, col), a.src + a.src_at(at.row + y, col));
    const T in1 = ctx.load_if(a.inside(at.row + y + 8, col), a.src + a.src_at(at.row + y + 8, col));
    const T in2 =
        ctx.load_if(a.inside(at.row + y + 16, col), a.src + a.src_at(at.row + y + 16, col));
    const T in3 =
        ctx.load_if(a.inside(at.row + y + 24, col), a.src + a.src_at(at.row + y + 24, col));
    ctx.store(cast<T>(tile + Slots::at(y, x)), in0);
    ctx.store(cast<T>(tile + Slots::at(y + 8, x)), in1);
    ctx.store(cast<T>(tile + Slots::at(y + 16, x)), in2);
    ctx.store(cast<T>(tile + Slots::at(y + 24, x)), in3);
    ctx.barrier();
    // Row x of the tile is column x of the destination: columns y, y + 8, y + 16, y + 24 of it are
    // elements of four destination rows.
    const std::int64_t row = at.row + x;
    const bool writes0 = a.inside(row, at.col + y);
    const bool writes1 = a.inside(row, at.col + y + 8);
    const bool writes2 = a.inside(row, at.col + y + 16);
    const bool writes3 = a.inside(row, at.col + y + 24);
    const T out0 = ctx.load_if(writes0, cast<T>(tile + Slots::at(x, y)));
    const T out1 = ctx.load_if(writes1, cast<T>(tile + Slots::at(x, y + 8)));
    const T out2 = ctx.load_if(writes2, cast<T>(tile + Slots::at(x, y + 16)));
    const T out3 = ctx.load_if(writes3, cast<T>(tile + Slots::at(x, y + 24)));
    ctx.store_if(writes0, a.dst + a.dst_at(row, at.col + y), out0);
    ctx.store_if(writes1, a.dst + a.dst_at(row, at.col + y + 8), out1);
    ctx.store_if(writes2, a.dst + a.dst_at(row, at.col + y + 16), out2);
    ctx.store_if(writes3, a.dst + a.dst_at(row, at.col + y + 24), out3);
  }
};

}  // namespace cornerturn::ladder
