// pages: the tiles of each step of a list. A block looks up where its step lies and is a block of
// the kernel tile from there on: what it reads and writes is shifted to the step's place.
#pragma once

#include <cstdint>

#include "kernels/context.hpp"
#include "kernels/lists.hpp"
#include "kernels/tile.hpp"

namespace cornerturn::kernels {

struct PagesArgs {
  TileArgs page;      ///< of a step, from the first elements of both sides
  FastDivide blocks;  ///< of a step
  ListSide from;
  ListSide to;
  bool leaves_missing = false;
};

/// The context of a block of a kernel that moves one step: a source where there is nothing reads as
/// zeros. The kernel loads its source by load_line_if() alone: what it loads otherwise of global
/// memory are a scale and a bias, which lie where they are for all steps.
template <class Ctx>
class PageContext {
 public:
  CT_DEVICE PageContext(Ctx& ctx, std::uint32_t block, std::int64_t src, std::int64_t dst)
      : ctx_(ctx), block_(block), there_(src != ListSide::nothing), src_(src), dst_(dst) {}

  CT_DEVICE Dim3 thread_id() const { return ctx_.thread_id(); }
  CT_DEVICE Dim3 block_id() const { return {block_, 0, 0}; }
  CT_DEVICE int thread_index() const { return ctx_.thread_index(); }
  template <class T>
  CT_DEVICE SharedPointer<T> dynamic_shared() {
    return ctx_.template dynamic_shared<T>();
  }
  CT_DEVICE void barrier() { ctx_.barrier(); }

  template <class V>
  CT_DEVICE V load(SharedPointer<V> from) {
    return ctx_.load(from);
  }
  template <class V>
  CT_DEVICE V load_if(bool active, SharedPointer<V> from) {
    return ctx_.load_if(active, from);
  }
  template <class V>
  CT_DEVICE void store(SharedPointer<V> to, const V& value) {
    ctx_.store(to, value);
  }
  template <class V>
  CT_DEVICE void store_if(bool active, SharedPointer<V> to, const V& value) {
    ctx_.store_if(active, to, value);
  }

  template <class V>
  CT_DEVICE V load(const V* of_vector) {
    return ctx_.load(of_vector);
  }
  template <class V>
  CT_DEVICE V load_if(bool active, const V* of_vector) {
    return ctx_.load_if(active, of_vector);
  }
  template <class V>
  CT_DEVICE V load_line_if(bool active, const V* from) {
    return ctx_.load_line_if(active && there_, ListSide::behind(from, src_));
  }
  template <class V>
  CT_DEVICE void store_if(bool active, V* to, const V& value) {
    ctx_.store_if(active, ListSide::behind(to, dst_), value);
  }
  CT_DEVICE void prefetch(const void* p) {
    ctx_.prefetch(ListSide::behind(static_cast<const std::byte*>(p), dst_));
  }

 private:
  Ctx& ctx_;
  std::uint32_t block_;
  bool there_;
  std::int64_t src_;
  std::int64_t dst_;
};

template <class Kernel>
struct OfPages {
  static constexpr int threads = Kernel::threads;
  static constexpr int min_blocks = Kernel::min_blocks;

  template <class Ctx>
  CT_DEVICE static void run(Ctx& ctx, const PagesArgs& a) {
    const std::uint32_t block = ctx.block_id().x;
    const std::uint32_t step = a.blocks.quotient(block);
    const std::int64_t src = a.from.offset(ctx, step);
    const std::int64_t dst = a.to.offset(ctx, step);
    if (dst == ListSide::nothing || (a.leaves_missing && src == ListSide::nothing)) return;
    PageContext<Ctx> page(ctx, block - step * a.blocks.divisor, src, dst);
    Kernel::run(page, a.page);
  }
};

template <class Visit>
void dispatch(const PagesArgs& a, Visit&& visit) {
  dispatch(a.page, [&]<class Kernel>() { visit.template operator()<OfPages<Kernel>>(); });
}

}  // namespace cornerturn::kernels
