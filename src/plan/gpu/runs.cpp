#include "plan/gpu/runs.hpp"

namespace cornerturn::plan::gpu {

Run run_of(const Problem& problem, std::int64_t Mode::*stride) {
  Run run;
  std::int64_t next = element_size(problem, stride);
  for (bool found = true; found;) {
    found = false;
    for (int i = 0; i < problem.rank() && !found; ++i) {
      const Mode& mode = problem.modes[i];
      if (mode.*stride != next || run.has(i)) continue;
      run.mode[static_cast<std::size_t>(run.size++)] = static_cast<std::uint8_t>(i);
      next *= mode.extent;
      found = true;
    }
  }
  return run;
}

std::int64_t elements_of(const Problem& problem, const Run& run, int modes) {
  std::int64_t elements = 1;
  for (int i = 0; i < modes; ++i) elements *= problem.modes[run[i]].extent;
  return elements;
}

}  // namespace cornerturn::plan::gpu
