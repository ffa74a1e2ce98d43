#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "core/normalise.hpp"
#include "plan/plan.hpp"
#include "plan/text.hpp"

namespace cornerturn::plan {

double Plan::predicted_ns() const {
  return chosen.cost_ns / threads;
}

std::string describe(const Candidate& candidate, const Problem& normal) {
  return candidate.row->describe(candidate.config, normal);
}

std::string why(const Plan& plan) {
  const auto other = std::find_if(plan.candidates.begin(), plan.candidates.end(),
                                  [&](const Candidate& c) { return c.row != plan.chosen.row; });
  const bool none = other == plan.candidates.end();
  return why_text(plan.chosen.row->idea, plan.choice, none ? "" : other->row->name,
                  none ? 1.0 : other->cost_ns / std::max(plan.chosen.cost_ns, 1.0));
}

std::string to_string(const Plan& plan) {
  return fmt::format("{}: {}; {} on {} thread{}, about {}", plan.kernel(),
                     describe(plan.chosen, plan.normal), bytes_text(plan.problem.bytes()),
                     plan.threads, plan.threads == 1 ? "" : "s", time_text(plan.predicted_ns()));
}

std::string explain(const Plan& plan, const CpuInfo& cpu) {
  std::vector<std::string> steps;
  normalise(plan.problem, {}, &steps);
  std::string text = fmt::format("problem     {}\n", to_string(plan.problem));
  for (const std::string& step : steps) text += fmt::format("            - {}\n", step);
  text += fmt::format("normalised  {}\n", to_string(plan.normal));
  text += fmt::format("plan        {}\n", to_string(plan));
  text += fmt::format("why         {}\n", why(plan));
  const char* label = "candidates";
  for (const Row& row : registry()) {
    bool listed = false;
    for (const Candidate& candidate : plan.candidates) {
      if (candidate.row != &row) continue;
      text += fmt::format(
          "{:<11} {} {:<7} {:>9}  {}\n", label, candidate == plan.chosen ? '*' : ' ', row.name,
          time_text(candidate.cost_ns / plan.threads), describe(candidate, plan.normal));
      listed = true;
      label = "";
    }
    if (listed) continue;
    const char* rule = why_not(row, plan.normal, cpu);
    text += fmt::format("{:<11}   {:<7} {:>9}  {}\n", label, row.name, "-",
                        rule != nullptr ? rule : "not asked for");
    label = "";
  }
  return text;
}

std::string to_json(const Plan& plan, const CpuInfo& cpu) {
  nlohmann::json candidates = nlohmann::json::array();
  for (const Candidate& candidate : plan.candidates) {
    candidates.push_back({{"kernel", candidate.row->name},
                          {"config", describe(candidate, plan.normal)},
                          {"predicted_ns", candidate.cost_ns / plan.threads}});
  }
  nlohmann::json refused = nlohmann::json::array();
  for (const Row& row : registry()) {
    if (const char* rule = why_not(row, plan.normal, cpu)) {
      refused.push_back({{"kernel", row.name}, {"rule", rule}});
    }
  }
  std::vector<std::string> steps;
  normalise(plan.problem, {}, &steps);
  const nlohmann::json json = {{"device", "cpu"},
                               {"kernel", plan.kernel()},
                               {"config", describe(plan.chosen, plan.normal)},
                               {"choice", choice_text(plan.choice)},
                               {"why", why(plan)},
                               {"threads", plan.threads},
                               {"bytes", plan.problem.bytes()},
                               {"predicted_ns", plan.predicted_ns()},
                               {"problem", modes_json(plan.problem)},
                               {"normalised", modes_json(plan.normal)},
                               {"steps", steps},
                               {"candidates", candidates},
                               {"refused", refused}};
  return json.dump(2);
}

}  // namespace cornerturn::plan
