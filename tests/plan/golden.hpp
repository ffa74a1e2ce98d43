// Plans as lines of text, compared with the files of tests/plan/golden, or written to them.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

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

}  // namespace cornerturn::test
