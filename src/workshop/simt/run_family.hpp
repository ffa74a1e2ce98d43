// The launches of a plan of a family in the emulator.
#pragma once

#include "core/buffers.hpp"
#include "plan/plan.hpp"
#include "workshop/simt/emulator.hpp"

namespace cornerturn::simt {

struct Run {
  Emulator& emulator;
  Mode mode;
  const Visitor& visitor;
};

template <class Family>
void run_family(const Run& run, const plan::Plan& plan, const Buffers& buffers);

}  // namespace cornerturn::simt
