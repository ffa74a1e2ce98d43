// The context of a GPU thread in a launch in which several problems take turns: block n works on
// problem n % count, as if it were block n / count of a launch of its own, or another one that
// turns.hpp names.
#pragma once

#include "kernels/gpu_context.cuh"
#include "kernels/turns.hpp"

namespace cornerturn {

class TurnsContext : public GpuContext {
 public:
  CT_DEVICE explicit TurnsContext(const Turns& turns) : count_(static_cast<unsigned>(turns.count)) {
    const unsigned number = blockIdx.x / count_;
    const unsigned which = blockIdx.x - number * count_;
    block_ = turns.tile(number);
    src_ = turns.src[which];
    dst_ = turns.dst[which];
  }

  CT_DEVICE Dim3 block_id() const { return {block_, 0, 0}; }
  CT_DEVICE Dim3 grid_dim() const { return {gridDim.x / count_, 1, 1}; }

  using GpuContext::copy_async;
  using GpuContext::copy_async_if;
  using GpuContext::copy_line_async_if;
  using GpuContext::load;
  using GpuContext::load_if;
  using GpuContext::load_line_if;
  using GpuContext::store;
  using GpuContext::store_if;

  template <class V>
  CT_DEVICE V load(const V* from) {
    return GpuContext::load(source(from));
  }
  template <class V>
  CT_DEVICE V load_if(bool active, const V* from) {
    return GpuContext::load_if(active, source(from));
  }
  template <class V>
  CT_DEVICE V load_line_if(bool active, const V* from) {
    return GpuContext::load_line_if(active, source(from));
  }
  template <class V>
  CT_DEVICE void copy_async(SharedPointer<V> to, const V* from) {
    GpuContext::copy_async(to, source(from));
  }
  template <class V>
  CT_DEVICE void copy_async_if(bool active, SharedPointer<V> to, const V* from) {
    GpuContext::copy_async_if(active, to, source(from));
  }
  template <class V>
  CT_DEVICE void copy_line_async_if(bool active, bool through_l1, SharedPointer<V> to,
                                    const V* from) {
    GpuContext::copy_line_async_if(active, through_l1, to, source(from));
  }
  template <class V>
  CT_DEVICE void store(V* to, const V& value) {
    GpuContext::store(destination(to), value);
  }
  template <class V>
  CT_DEVICE void store_if(bool active, V* to, const V& value) {
    GpuContext::store_if(active, destination(to), value);
  }
  CT_DEVICE void prefetch(std::byte* p) { GpuContext::prefetch(destination(p)); }

 private:
  template <class V>
  CT_DEVICE const V* source(const V* p) const {
    return reinterpret_cast<const V*>(reinterpret_cast<const unsigned char*>(p) + src_);
  }
  template <class V>
  CT_DEVICE V* destination(V* p) const {
    return reinterpret_cast<V*>(reinterpret_cast<unsigned char*>(p) + dst_);
  }

  unsigned count_;
  unsigned block_;
  std::int64_t src_;
  std::int64_t dst_;
};

}  // namespace cornerturn
