// What a campaign against the GPU has done, and what was wrong.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

namespace cornerturn::campaign {

struct Settings {
  std::int64_t problems = 20'000;  ///< random ones, of moves; of conversions there are a quarter
  std::uint64_t seed = 1;
  double seconds = 300;  ///< after which no further random problem begins
};

/// The report of one part.
struct Report {
  explicit Report(std::string name = {}) : part(std::move(name)) {}

  std::string part;
  std::int64_t problems = 0;
  std::map<std::string, std::int64_t> runs;  ///< by kernel, or by what was done
  std::int64_t refused = 0;                  ///< calls that said why they could not work
  std::vector<std::string> wrong;            ///< what was found; empty is good
  std::string skipped;                       ///< why it was not run
  double seconds = 0;

  std::int64_t all_runs() const {
    std::int64_t sum = 0;
    for (const auto& [name, count] : runs) sum += count;
    return sum;
  }
  void expect(bool right, const std::string& what) {
    if (!right && wrong.size() < 50) wrong.push_back(what);
  }
};

/// Random moves, and random conversions: every candidate, guard zones, poisoned destinations,
/// addresses of every alignment; every third problem is planned for a GPU of few SMs.
Report moves(const Settings& settings);
Report conversions(const Settings& settings);
/// More than 2^31 and more than 2^32 elements: every candidate.
Report large_moves(const Settings& settings);
Report large_conversions(const Settings& settings);
/// Eight threads with eight streams each, and a graph a stream; and streams that are captured
/// while others plan and work.
Report graphs(const Settings& settings);
Report captures(const Settings& settings);
/// No free memory on the GPU.
Report exhausted(const Settings& settings);
/// Managed memory, and memory of the host that is registered.
Report managed(const Settings& settings);
/// Each GPU does its own work, and the current one stays the current one.
Report several_gpus(const Settings& settings);
/// These spoil the GPU for the process that runs them: the context is reset, another one comes and
/// goes, earlier work has failed.
Report reset_contexts(const Settings& settings);
Report other_contexts(const Settings& settings);
Report sticky_error(const Settings& settings);

}  // namespace cornerturn::campaign
