#include "support/run_case.hpp"

#include <fmt/format.h>

#include <cstring>

#include "core/validate.hpp"
#include "cpu/cpu_info.hpp"
#include "cpu/engine.hpp"
#include "plan/planner.hpp"
#include "support/reference.hpp"
#include "support/without_caches.hpp"

namespace cornerturn::test {
namespace {

std::string first_difference(const std::byte* got, const std::byte* expected, std::size_t size) {
  for (std::size_t i = 0; i < size; ++i) {
    if (got[i] == expected[i]) continue;
    return fmt::format("byte {} of {} is {:#x}, not {:#x}", i, size, static_cast<int>(got[i]),
                       static_cast<int>(expected[i]));
  }
  return "";
}

}  // namespace

CaseRunner::CaseRunner(std::size_t capacity) : src_(capacity), dst_(capacity), expected_(capacity) {
  // Random bytes that no case writes: each case reads some stretch of them.
  std::byte* bytes = src_.place(src_.capacity(), GuardedBuffer::Touching::front);
  for (std::size_t i = 0; i + 8 <= src_.capacity(); i += 8) {
    const std::uint64_t value = random_();
    std::memcpy(bytes + i, &value, sizeof value);
  }
}

std::string CaseRunner::run(const Problem& problem, const std::string& kernel, int threads,
                            GuardedBuffer::Touching touching) {
  static const plan::Machine no_caches = without_caches();
  const bool as_large = ++runs_ % 4 >= 2;  // of front and back one, in turns
  const std::string wrong =
      run_on(as_large ? no_caches : cpu::machine(), problem, kernel, threads, touching);
  if (wrong.empty() || !as_large) return wrong;
  return wrong + ", planned for a processor without caches";
}

std::string CaseRunner::run_on(const plan::Machine& machine, const Problem& problem,
                               const std::string& kernel, int threads,
                               GuardedBuffer::Touching touching,
                               const std::function<bool(const plan::Plan&)>& wanted) {
  const Reach from = src_reach(problem);
  const Reach to = dst_reach(problem);
  const auto src_bytes = static_cast<std::size_t>(from.high - from.low);
  const auto dst_bytes = static_cast<std::size_t>(to.high - to.low);
  if (src_bytes > src_.capacity() || dst_bytes > dst_.capacity()) {
    return "the case is larger than the buffers: " + to_string(problem);
  }
  const std::byte* src = src_.place(src_bytes, touching);
  std::byte* dst = dst_.place(dst_bytes, touching);
  std::byte* expected = expected_.place(dst_bytes, touching);
  std::memset(dst, 0xA5, dst_bytes);
  std::memset(expected, 0xA5, dst_bytes);
  reference_copy(problem, src - from.low, expected - to.low);

  plan::Plan plan = plan::make_plan(problem, machine, {threads, kernel});
  plan.threads = threads;  // small cases too
  for (const plan::Candidate& candidate : plan.candidates) {
    plan.chosen = candidate;
    if (wanted && !wanted(plan)) continue;
    cpu::execute(plan, {dst - to.low, src - from.low});
    if (std::memcmp(dst, expected, dst_bytes) != 0) {
      return fmt::format("{}\n  {}\n  normalised {}\n  by {} ({})",
                         first_difference(dst, expected, dst_bytes), to_string(problem),
                         to_string(plan.normal), candidate.row->name,
                         plan::describe(candidate, plan.normal));
    }
    std::memset(dst, 0xA5, dst_bytes);
  }
  return "";
}

std::string CaseRunner::run_all(const Problem& problem, int threads) {
  for (const auto touching : {GuardedBuffer::Touching::front, GuardedBuffer::Touching::back}) {
    // No kernel is forced: every candidate of every kernel that applies is run.
    const std::string wrong = run(problem, "", threads, touching);
    if (!wrong.empty()) return wrong;
  }
  return "";
}

}  // namespace cornerturn::test
