// Every rung of the ladder for every size of element, as device code: what the test next to this
// file looks at. `entry<I, T>` is the I-th rung of the registry.
#include <cstdint>
#include <tuple>
#include <utility>

#include "kernels/gpu_context.cuh"
#include "workshop/rungs/registry.hpp"

using namespace cornerturn;

template <int I, class T>
__global__ void entry(ladder::MatrixArgs<T> args) {
  GpuContext ctx;
  std::tuple_element_t<I, ladder::Rungs>::run(ctx, args);
}

// The widths that a context offers, alone: bytes a lane through global and shared memory.
template <class V>
__global__ void access(const V* from, V* to) {
  GpuContext ctx;
  const auto tile = ctx.shared<V, 32>();
  ctx.store(tile + ctx.lane(), ctx.load(from + ctx.lane()));
  ctx.barrier();
  ctx.store(to + ctx.lane(), ctx.load(tile + (31 - ctx.lane())));
}

template <int I, class T>
const void* address() {
  if constexpr (std::tuple_element_t<I, ladder::Rungs>::template takes<T>) {
    return reinterpret_cast<const void*>(&entry<I, T>);
  }
  return nullptr;
}

template <int... I>
int used(std::integer_sequence<int, I...>, const void** out) {
  int n = 0;
  ((out[n++] = address<I, std::uint8_t>(), out[n++] = address<I, std::uint16_t>(),
    out[n++] = address<I, std::uint32_t>(), out[n++] = address<I, std::uint64_t>()),
   ...);
  out[n++] = reinterpret_cast<const void*>(&access<std::uint8_t>);
  out[n++] = reinterpret_cast<const void*>(&access<std::uint16_t>);
  out[n++] = reinterpret_cast<const void*>(&access<std::uint32_t>);
  out[n++] = reinterpret_cast<const void*>(&access<std::uint64_t>);
  out[n++] = reinterpret_cast<const void*>(&access<Vec<std::uint32_t, 4>>);
  return n;
}

int all(const void** out) {
  return used(std::make_integer_sequence<int, std::tuple_size_v<ladder::Rungs>>(), out);
}
