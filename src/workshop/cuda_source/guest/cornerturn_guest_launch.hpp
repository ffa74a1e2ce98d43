// The built-in variables, and what a launch <<<grid, block, bytes, stream>>> becomes.
#pragma once

#include <cstddef>
#include <new>
#include <type_traits>
#include <utility>

#include "cornerturn_guest_vectors.hpp"

// They are constant for a thread as long as it lives, so that the compiler may keep them in
// registers.
extern const __thread uint3 threadIdx __asm__("cornerturn_thread_idx");
extern const __thread uint3 blockIdx __asm__("cornerturn_block_idx");
extern const __thread dim3 blockDim __asm__("cornerturn_block_dim");
extern const __thread dim3 gridDim __asm__("cornerturn_grid_dim");
extern const __thread int warpSize __asm__("cornerturn_warp_size");

typedef struct CUstream_st* cudaStream_t;

namespace cornerturn::guest {

struct Config {
  dim3 grid, block;
  std::size_t dynamic_shared;
  const void* stream;
};

CT_GUEST_PLAIN inline Config config(dim3 grid, dim3 block, std::size_t dynamic_shared = 0,
                                    cudaStream_t stream = nullptr) {
  return {grid, block, dynamic_shared, stream};
}

// The arguments of a launch, copied once as CUDA copies them.
template <class Index, class... A>
struct Arguments;
template <std::size_t I, class T>
struct Argument {
  T value;
};
template <std::size_t... I, class... A>
struct Arguments<std::index_sequence<I...>, A...> : Argument<I, A>... {
  template <class Kernel>
  CT_GUEST_PLAIN void call(Kernel& kernel) {
    kernel(static_cast<Argument<I, A>&>(*this).value...);
  }
};

template <class Kernel, class Pack>
struct Call {
  Kernel& kernel;
  Pack arguments;
  CT_GUEST_PLAIN static void thread(void* call) {
    auto& self = *static_cast<Call*>(call);
    self.arguments.call(self.kernel);
  }
};

CT_GUEST_PLAIN inline void start(const char* kernel, Place place, const Config& c, bool cooperative,
                                 void (*thread)(void*), void* call, std::size_t bytes) {
  const Launch l{{c.grid.x, c.grid.y, c.grid.z},
                 {c.block.x, c.block.y, c.block.z},
                 c.dynamic_shared,
                 c.stream,
                 cooperative};
  launch(kernel, place, l, thread, call, bytes);
}

template <class Kernel, class... A>
CT_GUEST_PLAIN void launch_kernel(Place place, const char* name, const Config& config,
                                  Kernel kernel, A&&... a) {
  using Pack = Arguments<std::index_sequence_for<A...>, std::decay_t<A>...>;
  Call<Kernel, Pack> call{kernel, Pack{{static_cast<A&&>(a)}...}};
  start(name, place, config, false, &Call<Kernel, Pack>::thread, &call, sizeof(call));
}

// cudaLaunchKernel and cudaLaunchCooperativeKernel give a function's address, and addresses of its
// arguments.
template <class Index, class... A>
struct CallByAddress;
template <std::size_t... I, class... A>
struct CallByAddress<std::index_sequence<I...>, A...> {
  void (*kernel)(A...);
  void** arguments;
  CT_GUEST_PLAIN static void thread(void* call) {
    auto& self = *static_cast<CallByAddress*>(call);
    self.kernel(*static_cast<std::remove_reference_t<A>*>(self.arguments[I])...);
  }
};

template <class... A>
CT_GUEST_PLAIN void launch_by_pointer(Place place, const char* name, void (*kernel)(A...),
                                      const Config& config, void** arguments, bool cooperative) {
  using Calls = CallByAddress<std::index_sequence_for<A...>, A...>;
  Calls call{kernel, arguments};
  start(name, place, config, cooperative, &Calls::thread, &call, sizeof(call));
}

}  // namespace cornerturn::guest
