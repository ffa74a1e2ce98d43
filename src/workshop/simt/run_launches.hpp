// What run_family does: compiled for one family at a time, from run_family.cpp.in.
#pragma once

#include <string>

#include "plan/gpu/bind.hpp"
#include "workshop/simt/run_family.hpp"

namespace cornerturn::simt {

template <class Family>
void run_family(const Run& run, const plan::Plan& plan, const Buffers& buffers) {
  plan::gpu::for_each_launch<Family>(plan, buffers, [&](const auto& all, const Launch& launch) {
    dispatch(all, [&]<class Kernel>() {
      const auto& args = plan::gpu::args_for<Kernel>(all);
      run.emulator.launch(
          std::string(Family::name), run.mode, launch, [&](auto& ctx) { Kernel::run(ctx, args); },
          run.visitor);
    });
  });
}

}  // namespace cornerturn::simt
