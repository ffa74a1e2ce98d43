// One kernel of the kernel form, run in the emulator over matrices of some shapes: what
// `cornerturn check KERNEL.hpp` compiles a program of, and what anybody can call who links
// cornerturn::emulator.
//
//   struct MyKernel {
//     template <class T> static Launch launch(const MatrixArgs<T>& a);
//     template <class T, class Ctx> CT_DEVICE static void run(Ctx& ctx, const MatrixArgs<T>& a);
//     static constexpr bool transposes = true;         // optional; false: it copies
//     static constexpr const char* name = "my_kernel";  // optional
//     template <class T> using SharedMap = ...;         // optional: where elements lie in its tile
//   };
#pragma once

#include <cstdint>
#include <vector>

#include "workshop/ladder/make_body.hpp"
#include "workshop/ladder/rung.hpp"
#include "workshop/simt/emulator.hpp"

namespace cornerturn::ladder {

struct CheckedShape {
  std::int64_t rows = 0;
  std::int64_t cols = 0;
};

/// What the kernel does, as JSON: for each shape what was found; the accesses at the last one,
/// counted; and under "text" the same for a reader. A thread that makes more accesses and waits
/// than `steps` is stopped. Throws Error where the launch is impossible, or has more than `blocks`.
std::string check_kernel(const Rung& kernel, int bytes, const std::vector<CheckedShape>& shapes,
                         std::uint64_t steps, std::uint64_t blocks = std::uint64_t{1} << 20);

/// The arguments are the file that takes the report (the kernel may print), the steps, the blocks,
/// and rows and columns of each shape.
int check_main(const Rung& kernel, int bytes, int argc, char** argv);

template <class Kernel, class T>
Rung kernel_of(const char* name) {
  using Args = MatrixArgs<T>;
  static_assert(
      requires(const Args& args) { Launch(Kernel::launch(args)); },
      "a kernel has: template <class T> static Launch launch(const MatrixArgs<T>& a)");
  Rung rung;
  rung.name = name;
  if constexpr (requires { Kernel::name; }) rung.name = Kernel::name;
  if constexpr (requires { Kernel::transposes; }) rung.transposes = Kernel::transposes;
  rung.bodies.push_back(body_of<Kernel, T>());
  return rung;
}

}  // namespace cornerturn::ladder
