#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/normalise.hpp"
#include "plan/plan.hpp"
#include "plan/text.hpp"

namespace cornerturn::plan {
namespace {

std::string time_of(double seconds) {
  return time_text(seconds * 1e9);
}

// "2 threads", the name of the GPU, or where a link leads.
std::string place_text(const Plan& plan) {
  if (const link::LinkInfo* link = plan.machine.link()) {
    return fmt::format(
        "the link {} {} memory, with {} thread{}",
        link->into_gpu() ? "to " + link->gpu.name + " from" : "from " + link->gpu.name + " to",
        link->crossing.pinned ? "pinned" : "pageable", link->threads,
        link->threads == 1 ? "" : "s");
  }
  if (plan.machine.gpu() != nullptr) return plan.machine.name();
  return fmt::format("{} thread{}", plan.threads, plan.threads == 1 ? "" : "s");
}

// What keeps a GPU busy for longest.
std::string_view bound_of(const Estimate& e) {
  const std::pair<double, std::string_view> parts[] = {{e.memory_seconds, "memory"},
                                                       {e.issue_seconds, "issue of instructions"},
                                                       {e.shared_seconds, "shared memory"},
                                                       {e.rounds_seconds, "rounds of blocks"}};
  return std::max_element(std::begin(parts), std::end(parts))->second;
}

std::string estimate_text(const Estimate& e) {
  // Estimates of the largest problems pass 2^63 bytes.
  const auto bytes = [](double count) {
    constexpr double largest = 0x1.fffffffffffffp62;
    return bytes_text(static_cast<std::int64_t>(std::min(count, largest)));
  };
  std::string text = fmt::format("estimate    {}: bound by {}\n", time_of(e.seconds), bound_of(e));
  text += fmt::format("            {:>9}  memory: {} read, {} written, in whole sectors\n",
                      time_of(e.memory_seconds), bytes(e.src_bytes), bytes(e.dst_bytes));
  text += fmt::format("            {:>9}  issue: {:.3g} instructions of warps\n",
                      time_of(e.issue_seconds), e.instructions / 32);
  text += fmt::format("            {:>9}  shared memory: {:.3g} wavefronts\n",
                      time_of(e.shared_seconds), e.wavefronts);
  text += fmt::format("            {:>9}  rounds of blocks that are resident together\n",
                      time_of(e.rounds_seconds));
  text += fmt::format("            {:>9}  start: launch, first and last block\n",
                      time_of(e.start_seconds));
  return text;
}

nlohmann::json estimate_json(const Estimate& e) {
  return {{"bound", bound_of(e)},
          {"src_bytes", e.src_bytes},
          {"dst_bytes", e.dst_bytes},
          {"instructions", e.instructions},
          {"wavefronts", e.wavefronts},
          {"memory_ns", e.memory_seconds * 1e9},
          {"issue_ns", e.issue_seconds * 1e9},
          {"shared_ns", e.shared_seconds * 1e9},
          {"rounds_ns", e.rounds_seconds * 1e9},
          {"start_ns", e.start_seconds * 1e9}};
}

// This launch or the next one that has blocks: where other plans do the work, one has none.
const Prepared* with_blocks(const Prepared* ready) {
  while (ready != nullptr && ready->launch.grid.count() == 0) ready = ready->then.get();
  return ready;
}

std::string launches_text(const Prepared& ready) {
  std::string text;
  for (const Prepared* one = with_blocks(&ready); one != nullptr;
       one = with_blocks(one->then.get())) {
    text += fmt::format("{:<11} {} blocks of {} threads, {} B of shared memory\n",
                        text.empty() ? "launch" : "then", one->launch.grid.count(),
                        one->launch.block.count(), one->launch.dynamic_shared);
  }
  return text;
}

// Null: it has no launch of its own.
nlohmann::json launch_json(const Prepared* ready) {
  ready = with_blocks(ready);
  if (ready == nullptr) return nullptr;
  nlohmann::json json = {{"blocks", ready->launch.grid.count()},
                         {"threads", ready->launch.block.count()},
                         {"shared_bytes", ready->launch.dynamic_shared}};
  if (auto then = launch_json(ready->then.get()); !then.is_null()) json["then"] = std::move(then);
  return json;
}

nlohmann::json alignment_json(const Plan& plan) {
  const Alignment& a = plan.alignment;
  nlohmann::json json = {{"src", a.src}, {"dst", a.dst}};
  if (plan.problem.blocks == nullptr) return json;
  json["scales"] = a.scales;
  json["second"] = a.second;
  json["second_scales"] = a.second_scales;
  return json;
}

std::vector<std::string> steps_of(const Plan& plan) {
  std::vector<std::string> steps;
  normalise(plan.problem, plan.alignment, &steps);
  return steps;
}

// Kernels of lists are no kernels that a problem without one could have had.
bool is_beside(const Row& row, const Plan& plan) {
  return row.lists == Row::ListRule::only && plan.normal.lists == nullptr;
}

// Every row of the registry: its candidates, or why it has none.
std::string candidates_text(const Plan& plan) {
  const Candidates candidates = candidates_of(plan);
  std::string text;
  const auto add = [&](char mark, const Row& row, const std::string& time, std::string_view what) {
    text += fmt::format("{:<11} {} {:<10} {:>9}  {}\n", text.empty() ? "candidates" : "", mark,
                        row.name, time, what);
  };
  for (const Row& row : registry_of(plan.machine)) {
    bool listed = false;
    for (const Candidate& candidate : candidates) {
      if (candidate.row != &row) continue;
      add(candidate == plan.chosen ? '*' : ' ', row, time_of(plan.seconds_of(candidate)),
          describe(candidate, plan.normal));
      listed = true;
    }
    if (listed || is_beside(row, plan)) continue;
    const char* rule = why_not(row, plan.normal, plan.machine);
    add(' ', row, "-",
        rule != nullptr                 ? rule
        : plan.choice == Choice::forced ? "not asked for"
                                        : no_config);
  }
  return text;
}

}  // namespace

std::string describe(const Candidate& candidate, const Problem& normal) {
  return candidate.row->describe(candidate.config, normal);
}

std::string why(const Plan& plan) {
  const Candidates candidates = candidates_of(plan);
  const auto other = std::find_if(candidates.begin(), candidates.end(),
                                  [&](const Candidate& c) { return c.row != plan.chosen.row; });
  const bool none = other == candidates.end();
  return why_text(plan.chosen.row->idea, plan.choice, none ? "" : other->row->name,
                  none ? 1.0 : other->seconds() / std::max(plan.chosen.seconds(), 1e-9));
}

std::string to_string(const Plan& plan) {
  return fmt::format("{}: {}; {} on {}, about {}", plan.kernel(),
                     describe(plan.chosen, plan.normal), bytes_text(plan.problem.bytes()),
                     place_text(plan), time_of(plan.predicted_seconds()));
}

std::string explain(const Plan& plan) {
  std::string text = fmt::format("problem     {}\n", to_string(plan.problem));
  for (const std::string& step : steps_of(plan)) text += fmt::format("            - {}\n", step);
  text += fmt::format("normalised  {}\n", to_string(plan.normal));
  text += fmt::format("plan        {}\n", to_string(plan));
  const Row& row = *plan.chosen.row;
  if (row.details != nullptr) text += row.details(plan.chosen.config);
  text += fmt::format("why         {}\n", why(plan));
  if (!plan.turns.empty()) text += fmt::format("{:<11} {}\n", "learned", plan.turns);
  if (plan.machine.gpu() != nullptr) {
    text += estimate_text(plan.chosen.estimate) + launches_text(plan.ready);
  }
  return text + candidates_text(plan);
}

std::string to_json(const Plan& plan) {
  nlohmann::json candidates = nlohmann::json::array();
  for (const Candidate& candidate : candidates_of(plan)) {
    candidates.push_back({{"kernel", candidate.row->name},
                          {"config", describe(candidate, plan.normal)},
                          {"predicted_ns", plan.seconds_of(candidate) * 1e9}});
  }
  nlohmann::json refused = nlohmann::json::array();
  for (const Row& row : registry_of(plan.machine)) {
    if (is_beside(row, plan)) continue;
    if (const char* rule = why_not(row, plan.normal, plan.machine)) {
      refused.push_back({{"kernel", row.name}, {"rule", rule}});
    }
  }
  nlohmann::json json = {{"device", plan.machine.name()},
                         {"operation", name_of(plan.problem.operation())},
                         {"kernel", plan.kernel()},
                         {"config", describe(plan.chosen, plan.normal)},
                         {"choice", choice_text(plan.choice)},
                         {"why", why(plan)},
                         {"bytes", plan.problem.bytes()},
                         {"predicted_ns", plan.predicted_seconds() * 1e9},
                         {"problem", modes_json(plan.problem)},
                         {"normalised", modes_json(plan.normal)},
                         {"steps", steps_of(plan)},
                         {"candidates", candidates},
                         {"refused", refused}};
  if (!plan.turns.empty()) json["learned"] = plan.turns;
  if (const link::LinkInfo* link = plan.machine.link()) {
    json["link"] = {{"way", link->into_gpu() ? "into the GPU" : "out of the GPU"},
                    {"host_memory", link->crossing.pinned ? "pinned" : "pageable"},
                    {"threads", link->threads}};
    return json.dump(2);
  }
  if (plan.machine.cpu() != nullptr) {
    json["threads"] = plan.threads;
    return json.dump(2);
  }
  json["estimate"] = estimate_json(plan.chosen.estimate);
  json["alignment"] = alignment_json(plan);
  json["launch"] = launch_json(&plan.ready);
  return json.dump(2);
}

}  // namespace cornerturn::plan
