// A kernel of one's own: `cornerturn check my_kernel.hpp` compiles it, runs it in the emulator of a
// GPU and says what is wrong with it (docs/your-own-kernel.md).
#include <cornerturn_emulator.hpp>

struct MyKernel {
  static constexpr int side = 32;
  static constexpr int height = 8;

  template <class T>
  static Launch launch(const MatrixArgs<T>& a) {
    return tiled_launch(a, side, side, {side, height, 1});
  }

  template <class T, class Ctx>
  CT_DEVICE static void run(Ctx& ctx, const MatrixArgs<T>& a) {
    const auto buffer = ctx.template shared<T, side*(side + 1)>();
    const Tile tile = tile_of(a, ctx.block_id().x, side, side);
    const int x = static_cast<int>(ctx.thread_id().x);
    for (int y = static_cast<int>(ctx.thread_id().y); y < side; y += height) {
      const bool inside = a.inside(tile.row + y, tile.col + x);
      const T v = ctx.load_if(inside, a.src + a.src_at(tile.row + y, tile.col + x));
      ctx.store_if(inside, buffer + (y * (side + 1) + x), v);
    }
    ctx.barrier();
    for (int y = static_cast<int>(ctx.thread_id().y); y < side; y += height) {
      const bool inside = a.inside(tile.row + x, tile.col + y);
      const T v = ctx.load_if(inside, buffer + (x * (side + 1) + y));
      ctx.store_if(inside, a.dst + a.dst_at(tile.row + x, tile.col + y), v);
    }
  }
};
