// A file of winners, any text: it is refused with an Error and nothing of it is remembered, or it
// survives being written and read again, and plans come out of it that compute what they should.
#include <cstdint>
#include <string>

#include "cornerturn/error.hpp"
#include "cpu/cpu_info.hpp"
#include "fuzz/stop.hpp"
#include "plan/planner.hpp"
#include "plan/winners.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace cornerturn;
  plan::Winners winners;
  try {
    winners.parse(std::string(reinterpret_cast<const char*>(data), size), "winners");
  } catch (const Error&) {
    if (!winners.empty()) fuzz::stop("a refused file is remembered");
    return 0;
  }
  const std::string written = winners.to_text();
  plan::Winners again;
  again.parse(written, "winners");
  if (again.to_text() != written) fuzz::stop(written);
  Problem problem;
  problem.src_type = problem.dst_type = ElementType(Kind::f32);
  problem.modes = {{50, 4, 280}, {70, 200, 4}};
  plan::Plan plan = plan::make_plan(problem, cpu::machine());
  winners.apply(plan);
  for (const plan::Candidate& candidate : plan.candidates) {
    if (candidate == plan.chosen) return 0;
  }
  fuzz::stop("the winner is no candidate");
}
