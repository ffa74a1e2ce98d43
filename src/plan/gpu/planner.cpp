#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "cornerturn/error.hpp"
#include "plan/gpu/plan.hpp"

namespace cornerturn::plan::gpu {
namespace {

const Row& forced_row(const std::string& name, const Problem& normal, const DeviceInfo& device) {
  std::string known;
  for (const Row& row : registry()) {
    known += known.empty() ? "" : ", ";
    known += row.name;
    if (row.name != name) continue;
    if (const char* rule = why_not(row, normal, device)) {
      throw Error(Status::invalid_argument,
                  fmt::format("kernel = '{}' does not take this problem on {}: {}", name,
                              device.name, rule));
    }
    return row;
  }
  throw Error(Status::invalid_argument,
              fmt::format("kernel = '{}' is unknown on a GPU: use one of {}", name, known));
}

}  // namespace

namespace {

// Of the first element's address: that of the pointer, unless the offset breaks it.
std::int64_t alignment_after(std::int64_t pointer, std::int64_t offset) {
  return std::gcd(std::gcd(pointer, offset), std::int64_t{16});
}

}  // namespace

const char* why_not(const Row& row, const Problem& normal, const DeviceInfo& device) {
  if (row.converts && !normal.converts()) return "no value is changed";
  if (!row.converts && normal.converts()) return "values are changed";
  if (normal.elements() == 0 && row.name.substr(0, 6) != "gather") {
    return "there is nothing to move";
  }
  return row.why_not(normal, device);
}

void Plan::choose(const Candidate& candidate, Choice how) {
  chosen = candidate;
  choice = how;
  ready = chosen.row->prepare(chosen.config, normal);
}

Plan make_plan(const Problem& problem, const Alignment& alignment, const DeviceInfo& device,
               const std::string& forced_kernel, const Costs& costs) {
  Plan plan;
  plan.problem = problem;
  plan.alignment = {true, alignment.src, alignment.dst};
  plan.normal = normalise(problem, plan.alignment);
  plan.device = device;
  const Alignment start{true, alignment_after(alignment.src, plan.normal.src_offset),
                        alignment_after(alignment.dst, plan.normal.dst_offset)};
  const Model model{plan.device, costs, least_traffic(plan.normal)};
  if (forced_kernel.empty()) {
    for (const Row& row : registry()) {
      if (why_not(row, plan.normal, device) == nullptr) {
        row.configure(row, plan.normal, start, model, plan.candidates);
      }
    }
  } else {
    const Row& row = forced_row(forced_kernel, plan.normal, device);
    row.configure(row, plan.normal, start, model, plan.candidates);
  }
  if (plan.candidates.empty()) {
    throw Error(Status::unsupported,
                fmt::format("no kernel takes {} on {}", to_string(plan.normal), device.name));
  }
  std::stable_sort(
      plan.candidates.begin(), plan.candidates.end(),
      [](const Candidate& a, const Candidate& b) { return a.cost_seconds < b.cost_seconds; });
  plan.choose(plan.candidates.front(), forced_kernel.empty() ? Choice::estimated : Choice::forced);
  return plan;
}

}  // namespace cornerturn::plan::gpu
