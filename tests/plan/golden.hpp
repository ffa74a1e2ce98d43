// What plans offer, as lines of text: compared with the files of tests/plan/golden, or written to
// them. No line depends on what candidates are thought to cost, so that a fit changes none.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "plan/plan.hpp"

namespace cornerturn::test {

inline void compare_with_golden(const std::string& name, const std::vector<std::string>& plans) {
  const std::string path = fmt::format("{}/tests/plan/golden/{}.txt", CORNERTURN_SOURCE_DIR, name);
  if (std::getenv("CORNERTURN_UPDATE_GOLDEN") != nullptr) {
    std::ofstream file(path);
    for (const std::string& line : plans) file << line << '\n';
    ASSERT_TRUE(file.flush()) << path;
    return;
  }
  std::ifstream file(path);
  std::vector<std::string> expected;
  for (std::string line; std::getline(file, line);) expected.push_back(line);
  ASSERT_EQ(plans.size(), expected.size()) << path << " has another number of lines";
  for (std::size_t i = 0; i < plans.size(); ++i) {
    EXPECT_EQ(plans[i], expected[i]) << path << ":" << i + 1;
  }
}

/// The kernels that offer themselves, in alphabetical order.
inline std::string kernels_of(const plan::Plan& plan) {
  std::set<std::string> names;
  for (const plan::Candidate& candidate : plan.candidates) names.emplace(candidate.row->name);
  return fmt::format("{}", fmt::join(names, ", "));
}

/// The problem, and below it all configurations in alphabetical order.
inline void append_configurations(const Problem& problem, const plan::Plan& plan,
                                  std::vector<std::string>& lines) {
  std::set<std::string> texts;
  for (const plan::Candidate& candidate : plan.candidates) {
    texts.insert(fmt::format("  {}: {}", candidate.row->name, describe(candidate, plan.normal)));
  }
  lines.push_back(to_string(problem));
  lines.insert(lines.end(), texts.begin(), texts.end());
}

}  // namespace cornerturn::test
