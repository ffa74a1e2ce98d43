#include "plan/planner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>

#include "core/normalise.hpp"
#include "core/visible.hpp"
#include "cornerturn/error.hpp"
#include "plan/gpu/families.hpp"

namespace cornerturn::plan {
namespace {

constexpr std::int64_t bytes_per_thread = 512 << 10;
constexpr std::int64_t values_in_blocks_per_thread = 64 << 10;

// So much work there is, where a thread is worth starting for each 1.
std::int64_t work_for_threads(const Problem& problem) {
  if (problem.blocks != nullptr) return problem.elements() / values_in_blocks_per_thread;
  if (problem.reduces) return problem.bytes() / bytes_per_thread;
  const int size = std::max(problem.src_type.size(), problem.dst_type.size());
  return problem.elements() * size / bytes_per_thread;
}

// "kernel = 'tile'"
std::string label_of_kernel(const Request& request) {
  return fmt::format("{} = '{}'", request.kernel_of_environment ? "CORNERTURN_KERNEL" : "kernel",
                     visible(request.kernel));
}

[[noreturn]] void refuse_forced(const Request& request, const Machine& machine, const char* rule) {
  const std::string on = machine.cpu() == nullptr ? " on " + machine.name() : "";
  throw Error(Status::invalid_argument, fmt::format("{} does not take this problem{}: {}",
                                                    label_of_kernel(request), on, rule));
}

const Row& forced_row(const Request& request, const Problem& normal, const Machine& machine) {
  std::string known;
  for (const Row& row : registry_of(machine)) {
    known += known.empty() ? "" : ", ";
    known += row.name;
    if (row.name != request.kernel) continue;
    if (const char* rule = why_not(row, normal, machine)) refuse_forced(request, machine, rule);
    return row;
  }
  throw Error(Status::invalid_argument,
              fmt::format("{} is unknown{}: use one of {}", label_of_kernel(request),
                          machine.link() != nullptr  ? " as a route across the link"
                          : machine.gpu() != nullptr ? " on a GPU"
                                                     : "",
                          known));
}

// The alignment of the first element's address: that of the pointer, unless the offset breaks it.
std::int64_t alignment_after(std::int64_t pointer, std::int64_t offset) {
  return std::gcd(std::gcd(pointer, offset), std::int64_t{16});
}

Alignment start_of(const Plan& plan) {
  Alignment start = plan.alignment;
  start.src = alignment_after(start.src, plan.normal.src_offset);
  start.dst = alignment_after(start.dst, plan.normal.dst_offset);
  return start;
}

// What a kernel says to a problem whose operation it does not know.
const char* rule_against(Operation operation) {
  switch (operation) {
    case Operation::convert:
      return "values are converted";
    case Operation::quantise:
      return "values are quantised";
    case Operation::dequantise:
      return "values are dequantised";
    case Operation::reduce:
      return "values are reduced to one number";
    case Operation::in_place:
      return "the array is permuted in place";
    case Operation::move:
      break;
  }
  return "values are only moved";
}

// Why no kernel takes a problem: the rules of those that take its operation.
std::string rules_of(const Plan& plan) {
  std::string rules;
  for (const Row& row : registry_of(plan.machine)) {
    if (!row.operations.has(plan.normal.operation())) continue;
    if (row.lists == Row::ListRule::only && plan.normal.lists == nullptr) continue;
    const char* rule = why_not(row, plan.normal, plan.machine);
    rules += fmt::format("; {}: {}", row.name, rule != nullptr ? rule : no_config);
  }
  return rules;
}

void configure(const Request& request, const Setting& setting, Candidates& candidates) {
  if (!request.kernel.empty()) {
    const Row& row = forced_row(request, setting.normal, setting.machine);
    return row.configure(row, setting, candidates);
  }
  for (const Row& row : registry_of(setting.machine)) {
    if (why_not(row, setting.normal, setting.machine) == nullptr) {
      row.configure(row, setting, candidates);
    }
  }
}

// The best first; equals stay in order. Candidates are large: each is moved once at most.
void sort(Candidates& candidates) {
  if (candidates.size() == 1) return;
  std::vector<std::size_t> from(candidates.size());
  std::iota(from.begin(), from.end(), std::size_t{0});
  std::stable_sort(from.begin(), from.end(), [&](std::size_t a, std::size_t b) {
    return comes_before(candidates[a], candidates[b]);
  });
  Candidates sorted;
  sorted.reserve(candidates.size());
  for (const std::size_t i : from) sorted.push_back(std::move(candidates[i]));
  candidates = std::move(sorted);
}

Plan planned(const Problem& problem, const Machine& machine, const Request& request, bool quick) {
  Alignment alignment;
  if (machine.cpu() == nullptr) {
    alignment = request.alignment;
    alignment.required = true;
  }
  Plan plan{.problem = problem,
            .normal = normalise(problem, alignment),
            .machine = machine,
            .alignment = alignment};
  if (machine.cpu() != nullptr) {
    plan.threads = std::clamp(useful_threads(plan.normal), 1, std::max(request.threads, 1));
  }
  plan.candidates.reserve(quick ? 1 : 16);
  std::optional<gpu::Model> model;
  if (const gpu::DeviceInfo* gpu = machine.gpu()) {
    model.emplace(gpu::Model{*gpu, machine.gpu_costs().shared, gpu::least_traffic(plan.normal)});
  }
  const Setting setting{plan.normal,
                        plan.machine,
                        start_of(plan),
                        model ? &*model : nullptr,
                        dst_phase_of(request, plan.normal),
                        quick};
  configure(request, setting, plan.candidates);
  if (plan.candidates.empty()) {
    if (!request.kernel.empty()) refuse_forced(request, machine, no_config);
    throw Error(Status::unsupported,
                fmt::format("no kernel takes {} on {}{}", to_string(plan.normal), machine.name(),
                            rules_of(plan)));
  }
  sort(plan.candidates);
  const Candidate& best = plan.candidates.front();
  plan.choose(best, request.kernel.empty() ? Choice::estimated : Choice::forced);
  if (quick) plan.candidates = {};
  return plan;
}

}  // namespace

bool comes_before(const Candidate& a, const Candidate& b) {
  if (a.row->assumed != b.row->assumed) return b.row->assumed;
  return a.seconds() < b.seconds();
}

const char* why_not(const Row& row, const Problem& normal, const Machine& machine) {
  if (machine.cpu() == nullptr && normal.elements() == 0) {
    return row.takes_empty ? nullptr : "there is nothing to move";
  }
  const Operation operation = normal.operation();
  if (!row.operations.has(operation)) return rule_against(operation);
  if (normal.lists == nullptr && row.lists == Row::ListRule::only) {
    return "no mode's places come from a table";
  }
  if (normal.lists != nullptr && row.lists == Row::ListRule::none) {
    return "a mode's places come from a table";
  }
  return row.why_not(normal, machine);
}

int dst_phase_of(const Request& request, const Problem& normal) {
  constexpr std::int64_t line_bytes = 64;
  return static_cast<int>((request.dst_phase + normal.dst_offset) & (line_bytes - 1));
}

int useful_threads(const Problem& problem) {
  return static_cast<int>(std::clamp<std::int64_t>(work_for_threads(problem), 1, 1024));
}

void Plan::choose(const Candidate& candidate, Choice how) {
  chosen = candidate;
  choice = how;
  if (chosen.row->prepare != nullptr) ready = chosen.row->prepare(chosen.config, normal);
}

Plan make_plan(const Problem& problem, const Machine& machine, const Request& request) {
  return planned(problem, machine, request, false);
}

Plan make_quick_plan(const Problem& problem, const Machine& machine, const Request& request) {
  return planned(problem, machine, request, machine.gpu() != nullptr && request.kernel.empty());
}

Candidates candidates_of(const Plan& plan) {
  if (!plan.candidates.empty()) return plan.candidates;
  return make_plan(plan.problem, plan.machine, {1, "", plan.alignment}).candidates;
}

}  // namespace cornerturn::plan
