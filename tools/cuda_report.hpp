// What `cornerturn check` says of a CUDA source that has run.
#pragma once

#include <limits>
#include <nlohmann/json.hpp>
#include <string>

namespace cornerturn::cli {

/// How many times as much as is needed at least a line may take.
struct ReportLimits {
  double wavefronts = std::numeric_limits<double>::infinity();
  double sectors = std::numeric_limits<double>::infinity();
  std::string set_by = {};  ///< who allows no more, where no option of the command does
};

/// Adds to a report what is over a limit ("over"), hints ("hints"), and whether it has "failed".
void judge(nlohmann::ordered_json& report, const ReportLimits& limits);

/// A finding for people: what is wrong, and its places with the lines that stand there.
std::string finding_text(const nlohmann::ordered_json& finding);

/// The report for people.
std::string report_text(const nlohmann::ordered_json& report);

}  // namespace cornerturn::cli
