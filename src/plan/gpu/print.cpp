#include <fmt/format.h>

#include <algorithm>

#include "plan/gpu/plan.hpp"
#include "plan/text.hpp"

namespace cornerturn::plan::gpu {

std::string describe(const Candidate& candidate, const Problem& normal) {
  return candidate.row->describe(candidate.config, normal);
}

std::string why(const Plan& plan) {
  const auto other = std::find_if(plan.candidates.begin(), plan.candidates.end(),
                                  [&](const Candidate& c) { return c.row != plan.chosen.row; });
  const bool none = other == plan.candidates.end();
  return why_text(plan.chosen.row->idea, plan.choice, none ? "" : other->row->name,
                  none ? 1.0 : other->cost_seconds / std::max(plan.chosen.cost_seconds, 1e-9));
}

std::string to_string(const Plan& plan) {
  return fmt::format("{}: {}; {} on {}, about {}", plan.kernel(),
                     describe(plan.chosen, plan.normal), bytes_text(plan.problem.bytes()),
                     plan.device.name, time_text(plan.predicted_seconds() * 1e9));
}

namespace {

// What keeps the device busy for longest.
std::string_view bound_of(const Estimate& e) {
  const std::pair<double, std::string_view> parts[] = {{e.memory_seconds, "memory"},
                                                       {e.issue_seconds, "issue of instructions"},
                                                       {e.shared_seconds, "shared memory"},
                                                       {e.rounds_seconds, "rounds of blocks"}};
  return std::max_element(std::begin(parts), std::end(parts))->second;
}

std::string estimate_text(const Estimate& e) {
  const auto time = [](double seconds) { return time_text(seconds * 1e9); };
  const auto bytes = [](double count) { return bytes_text(static_cast<std::int64_t>(count)); };
  std::string text = fmt::format("estimate    {}: bound by {}\n", time(e.seconds), bound_of(e));
  text += fmt::format("            {:>9}  memory: {} read, {} written, in whole sectors\n",
                      time(e.memory_seconds), bytes(e.src_bytes), bytes(e.dst_bytes));
  text += fmt::format("            {:>9}  issue: {:.3g} instructions of warps\n",
                      time(e.issue_seconds), e.instructions / 32);
  text += fmt::format("            {:>9}  shared memory: {:.3g} wavefronts\n",
                      time(e.shared_seconds), e.wavefronts);
  text += fmt::format("            {:>9}  rounds of blocks that are resident together\n",
                      time(e.rounds_seconds));
  text += fmt::format("            {:>9}  start: launch, first and last block\n",
                      time(e.start_seconds));
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

}  // namespace

std::string explain(const Plan& plan) {
  std::vector<std::string> steps;
  normalise(plan.problem, plan.alignment, &steps);
  std::string text = fmt::format("problem     {}\n", to_string(plan.problem));
  for (const std::string& step : steps) text += fmt::format("            - {}\n", step);
  text += fmt::format("normalised  {}\n", to_string(plan.normal));
  text += fmt::format("plan        {}\n", to_string(plan));
  text += fmt::format("why         {}\n", why(plan));
  text += estimate_text(plan.chosen.estimate);
  const Launch& launch = plan.ready.launch;
  text += fmt::format("launch      {} blocks of {} threads, {} B of shared memory\n",
                      launch.grid.count(), launch.block.count(), launch.dynamic_shared);
  const char* label = "candidates";
  for (const Row& row : registry()) {
    bool listed = false;
    for (const Candidate& candidate : plan.candidates) {
      if (candidate.row != &row) continue;
      text += fmt::format(
          "{:<11} {} {:<10} {:>9}  {}\n", label, candidate == plan.chosen ? '*' : ' ', row.name,
          time_text(candidate.cost_seconds * 1e9), describe(candidate, plan.normal));
      listed = true;
      label = "";
    }
    if (listed) continue;
    const char* rule = why_not(row, plan.normal, plan.device);
    text += fmt::format("{:<11}   {:<10} {:>9}  {}\n", label, row.name, "-",
                        rule != nullptr ? rule
                        : plan.choice == Choice::forced
                            ? "not asked for"
                            : "it has no configuration for these strides and addresses");
    label = "";
  }
  return text;
}

std::string to_json(const Plan& plan) {
  nlohmann::json candidates = nlohmann::json::array();
  for (const Candidate& candidate : plan.candidates) {
    candidates.push_back({{"kernel", candidate.row->name},
                          {"config", describe(candidate, plan.normal)},
                          {"predicted_ns", candidate.cost_seconds * 1e9}});
  }
  nlohmann::json refused = nlohmann::json::array();
  for (const Row& row : registry()) {
    if (const char* rule = why_not(row, plan.normal, plan.device)) {
      refused.push_back({{"kernel", row.name}, {"rule", rule}});
    }
  }
  std::vector<std::string> steps;
  normalise(plan.problem, plan.alignment, &steps);
  const Launch& launch = plan.ready.launch;
  const nlohmann::json json = {
      {"device", plan.device.name},
      {"kernel", plan.kernel()},
      {"config", describe(plan.chosen, plan.normal)},
      {"choice", choice_text(plan.choice)},
      {"why", why(plan)},
      {"bytes", plan.problem.bytes()},
      {"predicted_ns", plan.predicted_seconds() * 1e9},
      {"estimate", estimate_json(plan.chosen.estimate)},
      {"alignment", {{"src", plan.alignment.src}, {"dst", plan.alignment.dst}}},
      {"launch",
       {{"blocks", launch.grid.count()},
        {"threads", launch.block.count()},
        {"shared_bytes", launch.dynamic_shared}}},
      {"problem", modes_json(plan.problem)},
      {"normalised", modes_json(plan.normal)},
      {"steps", steps},
      {"candidates", candidates},
      {"refused", refused}};
  return json.dump(2);
}

}  // namespace cornerturn::plan::gpu
