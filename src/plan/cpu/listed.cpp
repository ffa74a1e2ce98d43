#include "plan/cpu/listed.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/divide.hpp"
#include "plan/cpu/cpu_info.hpp"
#include "plan/cpu/planned_steps.hpp"
#include "plan/cpu/stores.hpp"
#include "plan/planner.hpp"

namespace cornerturn::plan {

bool operator==(const ListedConfig& a, const ListedConfig& b) {
  return a.planned == b.planned || *a.planned == *b.planned;
}

namespace listed {
namespace {

constexpr std::int64_t piece_bytes = 64 << 10;  // a policy: what one thread takes at a time
constexpr std::int64_t line_bytes = 64;

Problem step_of(const Problem& normal) {
  Problem step = normal;
  step.lists = nullptr;
  step.src_offset = 0;
  step.dst_offset = 0;
  return step;
}

// Bytes of a step, where it is one run on both sides and nothing changes.
std::int64_t run_of(const Problem& step) {
  if (step.operation() != Operation::move || step.rank() > 1) return 0;
  const std::int64_t size = step.dst_type.size();
  if (step.rank() == 0) return size;
  const Mode& mode = step.modes.back();
  return mode.src_stride == size && mode.dst_stride == size ? mode.extent * size : 0;
}

BoxMove planned(const Problem& problem, const CpuInfo& cpu) {
  return plan_moves(
             1, [&](int) { return problem; }, cpu)
      .of_shape.front();
}

}  // namespace

const char* Family::why_not(const Problem&, const CpuInfo&) {
  return nullptr;
}

void Family::configure(const Problem& normal, const CpuInfo& cpu, const Add<ListedConfig>& add) {
  const Problem step = step_of(normal);
  Problem zeros = step;
  for (Mode& mode : zeros.modes) mode.src_stride = 0;
  const bool is_large = past_caches(stores_for(normal, cpu));
  CpuInfo of_step = cpu;
  of_step.caches_taken = cpu.caches_taken || is_large;
  PlannedSteps steps{planned(step, of_step), planned(zeros, of_step)};
  steps.run_bytes = run_of(step);
  steps.past_caches = is_large;
  steps.steps_a_piece =
      std::max<std::int64_t>(1, piece_bytes / std::max<std::int64_t>(1, step.bytes()));
  add({std::make_shared<const PlannedSteps>(std::move(steps))});
}

double Family::cost_ns(const ListedConfig& config, const Problem& normal, const CpuInfo& cpu,
                       const Costs& c) {
  const PlannedSteps& planned = *config.planned;
  const auto steps = static_cast<double>(normal.lists->steps());
  double ns = steps * (1e9 * planned.step.chosen.seconds() + c.step_ns);
  // What a step says of caches holds for all of them where they stay there.
  if (fits_l2(planned.step.normal, cpu) && !fits_l2(normal, cpu)) {
    ns += static_cast<double>(normal.bytes()) / line_bytes * c.line_ns;
  }
  return ns;
}

std::string Family::describe(const ListedConfig& config, const Problem& normal) {
  const PlannedSteps& planned = *config.planned;
  const BoxMove& step = planned.step;
  return fmt::format("{} steps, each by {} ({}){}", normal.lists->steps(), step.chosen.row->name,
                     plan::describe(step.chosen, step.normal),
                     planned.run_bytes > 0 && planned.past_caches ? ", around the caches" : "");
}

}  // namespace listed
}  // namespace cornerturn::plan
