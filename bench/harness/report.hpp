// Results as JSON, as a table, and compared with each other.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "harness/runner.hpp"

namespace cornerturn::bench {

/// What was measured, with what, where.
struct Report {
  std::string subject;
  std::string version;
  std::map<std::string, std::string> details;
  std::string device = "cpu";  ///< or "gpu"
  int threads = 1;
  nlohmann::ordered_json provenance;
  std::vector<Result> results;
};

nlohmann::ordered_json to_json(const Report& report);

/// The time of what was chosen, as a candidate: timed in turn with the others, so that what ran
/// just before is the same for all. Where it is none of them, its own time.
double chosen_seconds(const Result& r);

/// How many of the cases whose candidates were timed chose one within 3 % of the fastest.
struct ChoiceScore {
  int good = 0;
  int cases = 0;
};
ChoiceScore score_choices(const std::vector<Result>& results);

/// Reads what to_json wrote. Throws Error naming the field that is missing or wrong.
Report report_from_json(const nlohmann::json& json, const std::string& origin);

/// Reads a report's file. Throws Error.
Report load_report(const std::string& path);

/// Writes `report` to `path`: the whole file or none, under a temporary name first.
void save_report(const Report& report, const std::string& path);

/// The header of the table on a device, "cpu" or "gpu", and the lines for a result.
std::string table_header(const std::string& device);
std::string table_line(const Result& result);

/// Geometric means of Result::share(), by class and element size, and the slowest case; where
/// candidates were timed, how often the chosen one is as good as the best.
std::string summary(const std::vector<Result>& results);

/// Case by case and by class, how the speed of `b` (as Result::share()) relates to that of `a`. A
/// case counts as changed when it differs by more than twice the noise of both and by over 3 %.
std::string compare(const Report& a, const Report& b);

}  // namespace cornerturn::bench
