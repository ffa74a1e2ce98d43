#include "plan/planner.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/normalise.hpp"
#include "cornerturn/error.hpp"

namespace cornerturn::plan {
namespace {

constexpr std::int64_t bytes_per_thread = 512 << 10;

const Row& forced_row(const std::string& name, const Problem& normal, const CpuInfo& cpu) {
  std::string known;
  for (const Row& row : registry()) {
    known += known.empty() ? "" : ", ";
    known += row.name;
    if (row.name != name) continue;
    if (const char* rule = why_not(row, normal, cpu)) {
      throw Error(Status::invalid_argument,
                  fmt::format("kernel = '{}' does not take this problem: {}", name, rule));
    }
    return row;
  }
  throw Error(Status::invalid_argument,
              fmt::format("kernel = '{}' is unknown: use one of {}", name, known));
}

}  // namespace

const char* why_not(const Row& row, const Problem& normal, const CpuInfo& cpu) {
  if (normal.converts() && !row.converts) return "values are converted";
  return row.why_not(normal, cpu);
}

bool stores_bypass_cache(const Problem& normal, const CpuInfo& cpu) {
  return normal.bytes() * 4 > cpu.l3_bytes;
}

int useful_threads(const Problem& problem) {
  const std::int64_t bytes =
      problem.elements() * std::max(problem.src_type.size(), problem.dst_type.size());
  return static_cast<int>(std::clamp<std::int64_t>(bytes / bytes_per_thread, 1, 1024));
}

Plan make_plan(const Problem& problem, const CpuInfo& cpu, const Request& request) {
  Plan plan;
  plan.problem = problem;
  plan.normal = normalise(problem);
  plan.candidates.reserve(16);
  if (request.kernel.empty()) {
    for (const Row& row : registry()) {
      if (why_not(row, plan.normal, cpu) == nullptr) {
        row.configure(row, plan.normal, cpu, plan.candidates);
      }
    }
  } else {
    const Row& row = forced_row(request.kernel, plan.normal, cpu);
    row.configure(row, plan.normal, cpu, plan.candidates);
    plan.choice = Choice::forced;
  }
  std::stable_sort(plan.candidates.begin(), plan.candidates.end(),
                   [](const Candidate& a, const Candidate& b) { return a.cost_ns < b.cost_ns; });
  plan.chosen = plan.candidates.front();
  plan.threads = std::clamp(useful_threads(plan.normal), 1, request.threads);
  return plan;
}

}  // namespace cornerturn::plan
