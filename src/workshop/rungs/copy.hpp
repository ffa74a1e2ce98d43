// The ceiling: the same bytes through the same registers, 16 at a time, without a transposition.
#pragma once

#include "workshop/rungs/matrix.hpp"

namespace cornerturn::ladder {

struct Copy {
  static constexpr const char* name = "copy";
  static constexpr const char* shows = "16-byte vectors through registers: the ceiling";
  static constexpr bool transposes = false;
  template <class T>
  static constexpr bool takes = true;

  static constexpr int threads = 256;

  template <class T>
  static constexpr Launch launch(const MatrixArgs<T>& a) {
    const std::int64_t vectors = tiles_of(a.rows * a.cols, vector_of<T>);
    return {grid_of(tiles_of(vectors, threads)), {threads, 1, 1}};
  }

  template <class T, class Ctx>
  CT_DEVICE static void run(Ctx& ctx, const MatrixArgs<T>& a) {
    constexpr int V = vector_of<T>;
    const std::int64_t count = a.rows * a.cols;
    const std::int64_t first = (std::int64_t{ctx.block_id().x} * threads + ctx.thread_index()) * V;
    const auto phase =
        (reinterpret_cast<std::uintptr_t>(a.src) | reinterpret_cast<std::uintptr_t>(a.dst)) % 16;
    const bool whole = phase == 0 && first + V <= count;
    const auto v = ctx.load_if(whole, as_vec<V>(a.src + first));
    ctx.store_if(whole, as_vec<V>(a.dst + first), v);
    if (whole) return;
    for (int i = 0; i < V; ++i) {  // the matrix's last elements, or pointers that begin anywhere
      const bool inside = first + i < count;
      const T one = ctx.load_if(inside, a.src + first + i);
      ctx.store_if(inside, a.dst + first + i, one);
    }
  }
};

}  // namespace cornerturn::ladder
