// One launch in the emulator for each type of arguments, compiled in several files.
#pragma once

#include <string>

#include "plan/gpu/plan.hpp"
#include "simt/emulator.hpp"

namespace cornerturn::simt {

struct Run {
  Emulator& emulator;
  std::string kernel;
  Mode mode;
  const Launch& launch;
  const Visitor& visitor;
};

void run(const Run& run, const kernels::CopyArgs& args);
void run(const Run& run, const kernels::RowsArgs& args);
void run(const Run& run, const kernels::BoxesArgs& args);
void run(const Run& run, const kernels::StructuresArgs& args);
void run(const Run& run, const kernels::TileArgs& args);
void run(const Run& run, const kernels::SkewArgs& args);
void run(const Run& run, const kernels::PackArgs& args);
void run(const Run& run, const kernels::GatherArgs& args);
void run(const Run& run, const kernels::RowsConvertArgs& args);
void run(const Run& run, const kernels::TileConvertArgs& args);
void run(const Run& run, const kernels::StructuresConvertArgs& args);
void run(const Run& run, const kernels::SkewConvertArgs& args);
void run(const Run& run, const kernels::PackConvertArgs& args);
void run(const Run& run, const kernels::GatherConvertArgs& args);

template <class Args>
void dispatched(const Run& run, const Args& args) {
  dispatch(args, [&]<class Kernel>() {
    run.emulator.launch(
        run.kernel, run.mode, run.launch, [&](auto& ctx) { Kernel::run(ctx, args); }, run.visitor);
  });
}

}  // namespace cornerturn::simt
