// The rungs in the order of the climb: one row each. What runs a rung (the emulator, a GPU, a
// report) goes over this list and needs nothing else.
#pragma once

#include <tuple>

#include "workshop/rungs/block_order.hpp"
#include "workshop/rungs/copy.hpp"
#include "workshop/rungs/cpy_flat.hpp"
#include "workshop/rungs/cpy_steps.hpp"
#include "workshop/rungs/cpy_transpose.hpp"
#include "workshop/rungs/naive.hpp"
#include "workshop/rungs/shuffle.hpp"
#include "workshop/rungs/smem.hpp"
#include "workshop/rungs/smem_chunk_xor.hpp"
#include "workshop/rungs/smem_vec.hpp"

namespace cornerturn::ladder {

/// A row has: name, shows (one line), transposes, takes<T>, launch(args), run(ctx, args); and where
/// it has a tile in shared memory SharedMap<T>, where an element lies in it. One that can change
/// the type of the elements has of_matrix<S, D>(src, dst, rows, cols), arguments for its run().
using Rungs = std::tuple<        //
    Copy,                        //
    NaiveRead<16>,               //
    NaiveRead<8>,                //
    NaiveRead<32>,               //
    NaiveWrite,                  //
    Smem,                        //
    SmemPad,                     //
    SmemPadVec,                  //
    SmemXorVec,                  //
    SmemRotate,                  //
    SmemChunkXor,                //
    Shuffle,                     //
    BlockOrder<Order::rows>,     //
    BlockOrder<Order::columns>,  //
    BlockOrder<Order::grouped>,  //
    BlockOrder<Order::morton>,   //
    BlockOrder<Order::hilbert>,  //
    CpyFlat,                     //
    CpyOneElement,               //
    CpyRows,                     //
    CpyTranspose,                //
    CpyByHand>;

template <class Rung>
concept Converts = requires {
  Rung::template of_matrix<float, float>(nullptr, nullptr, std::int64_t{}, std::int64_t{});
};

/// Calls `visit(rung)` with a value of each rung's type.
template <class Visit>
constexpr void for_each_rung(Visit&& visit) {
  std::apply([&](auto... rung) { (visit(rung), ...); }, Rungs{});
}

}  // namespace cornerturn::ladder
