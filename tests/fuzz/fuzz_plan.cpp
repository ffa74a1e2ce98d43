// Any problem on any processor: every kernel that takes it, in every configuration that the planner
// offers, makes the bytes of the reference and touches no others. So does the plan's text hold.
#include <algorithm>
#include <cstdint>

#include "core/normalise.hpp"
#include "core/validate.hpp"
#include "fuzz/problem.hpp"
#include "fuzz/stop.hpp"
#include "plan/planner.hpp"
#include "support/run_case.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace cornerturn;
  constexpr std::size_t capacity = 1 << 20;
  static test::CaseRunner runner(capacity);
  fuzz::Input input(data, size);
  fuzz::choose_target(input);
  const plan::Machine machine(fuzz::processor_of(input));
  const int threads = static_cast<int>(input.uniform(1, 3));
  const auto touching =
      input.one_in(2) ? test::GuardedBuffer::Touching::front : test::GuardedBuffer::Touching::back;
  const Problem problem = fuzz::problem_of(input);
  const Reach from = src_reach(problem), to = dst_reach(problem);
  if (std::max(from.high - from.low, to.high - to.low) > static_cast<std::int64_t>(capacity)) {
    return 0;
  }
  const std::string wrong = runner.run_on(machine, problem, "", threads, touching);
  if (!wrong.empty()) fuzz::stop(wrong);
  const plan::Plan plan = plan::make_plan(problem, machine, {threads, ""});
  if (explain(plan).empty() || to_json(plan).empty()) fuzz::stop("a plan without words");
  if (!(normalise(plan.normal) == plan.normal)) {
    fuzz::stop("normalised twice: " + to_string(problem));
  }
  return 0;
}
