// What a machine measured: every candidate of a case, as `cornerturn bench --all-candidates` timed
// it. Plans for that machine are judged by it without the machine.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "harness/case.hpp"
#include "plan/cpu/costs.hpp"
#include "plan/gpu/families.hpp"
#include "plan/plan.hpp"
#include "plan/planner.hpp"

namespace cornerturn::bench {

/// One candidate's time.
struct MeasuredCandidate {
  std::string kernel;
  std::string description;
  double seconds = 0;
};

/// A case whose candidates were timed, and the problem that it is.
struct MeasuredCase {
  std::string suite;
  std::string name;
  std::string group;
  int element_bytes = 1;
  bool in_graph = false;  ///< many calls in a row: times are without that of a launch
  std::vector<MeasuredCandidate> candidates;
  std::string label;  ///< "everyday/matrix_4096 4 B"
  Problem problem;
  plan::Request request;

  /// The time of a plan's candidate; none where it was not timed.
  std::optional<double> seconds_of(const plan::Candidate& candidate, const Problem& normal) const;
  double best_seconds() const;
};

/// A result file: a machine, with the standard costs of its kind, and its cases.
struct Measurement {
  plan::Machine machine;
  std::vector<MeasuredCase> cases;
};

/// Reads a result. The machine of a CPU's result is the processor that it names. That of a GPU's
/// result is `device`. `suites` are files of suites that the result names; others are built in.
/// Throws an Error where the file is no result with candidates, or one of several threads.
Measurement measurement(const std::string& path, const plan::gpu::DeviceInfo& device,
                        const std::vector<std::string>& suites = {});

/// What a stored result calls a kernel or a candidate, in the words of today.
std::string name_today(std::string stored);

/// The machine with other costs; those of a GPU outlive what is returned.
plan::Machine with_costs(const plan::Machine& machine, const plan::gpu::Costs& costs);
plan::Machine with_costs(const plan::Machine& machine, const plan::CpuCosts& costs);

/// The problem of a case, and the alignment of its pointers: that of the benchmark's buffers, as
/// far as the case's offsets leave it.
Problem problem_of(const Case& c);
Alignment alignment_of(const Case& c);

}  // namespace cornerturn::bench
