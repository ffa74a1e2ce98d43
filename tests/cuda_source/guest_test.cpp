// The headers that stand in for CUDA's, and its runtime: results are right, misuses are found at
// their line, and an access is one request as wide as its type.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <regex>
#include <string>
#include <vector>

#include "cuda_source/guest_program.hpp"

namespace cornerturn::cuda_source {
namespace {

using nlohmann::json;

class Guest : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (!has_compiler(GetParam())) GTEST_SKIP() << "there is no " << GetParam();
  }
};

TEST_P(Guest, DeviceFunctionsGiveWhatPlainLoopsGive) {
  const GuestProgram& program = guest_program(GetParam(), "device_functions");
  ASSERT_TRUE(program.compiles());
  const auto run = program.run("");
  EXPECT_EQ(run.output, "0 wrong\n");
  EXPECT_EQ(run.status, 0);
  EXPECT_TRUE(run.report["findings"].empty()) << run.report["findings"].dump(1);
  EXPECT_TRUE(run.report["host"].empty()) << run.report["host"].dump(1);
}

TEST_P(Guest, RuntimeCallsGiveTheirResults) {
  const GuestProgram& program = guest_program(GetParam(), "host_calls");
  ASSERT_TRUE(program.compiles());
  const auto run = program.run("right");
  EXPECT_EQ(run.output, "right\n");
  EXPECT_EQ(run.status, 0);
  EXPECT_TRUE(run.report["findings"].empty()) << run.report["findings"].dump(1);
  EXPECT_TRUE(run.report["host"].empty()) << run.report["host"].dump(1);
}

struct Misuse {
  const char* argument;
  const char* kind;
  const char* severity;
  const char* says;
};
constexpr Misuse misuses[] = {
    {"copy_too_much", "wrong_copy", "error", "copies 32 B, but the destination cannot hold them"},
    {"copy_from_too_little", "wrong_copy", "error", "copies 16 B, but the source"},
    {"wrong_direction", "wrong_copy", "error", "the copy's kind is cudaMemcpyDeviceToHost"},
    {"host_for_device", "wrong_copy", "error", "the destination is host memory"},
    {"copy_of_freed", "wrong_copy", "error", "freed"},
    {"symbol_too_small", "wrong_copy", "error", "a variable of 16 B"},
    {"set_too_much", "out_of_bounds", "error", "cudaMemset sets 17 B"},
    {"free_twice", "double_free", "error", "freed before"},
    {"free_inside", "wrong_free", "error", "inside of an array"},
    {"free_of_host", "wrong_free", "error", "no device memory"},
    {"free_pinned", "wrong_free", "error", "which cudaFree frees"},
    {"not_freed", "not_freed", "warning", "never freed"},
    {"small_pitch", "wrong_pitch", "error", "at least as large as the row"},
    {"unasked_error", "unasked_error", "warning", "cudaErrorInvalidConfiguration"},
};

TEST_P(Guest, MisusesOfTheRuntimeAreFoundAtTheirLine) {
  const GuestProgram& program = guest_program(GetParam(), "host_calls");
  ASSERT_TRUE(program.compiles());
  for (const Misuse& misuse : misuses) {
    SCOPED_TRACE(misuse.argument);
    const json report = program.run(misuse.argument).report;
    ASSERT_EQ(report["host"].size(), 1U) << report.dump(1);
    const json& found = report["host"][0];
    EXPECT_EQ(found["kind"], misuse.kind);
    EXPECT_EQ(found["severity"], misuse.severity);
    EXPECT_NE(found["message"].get<std::string>().find(misuse.says), std::string::npos)
        << found["message"];
    const unsigned line = program.line_of(misuse.argument);
    if (line != 0) {
      ASSERT_EQ(found["places"].size(), 1U);
      EXPECT_EQ(found["places"][0]["line"], line);
    }
  }
}

// The comments of widths.cpp say what each line has: "load 16, store 16".
TEST_P(Guest, AnAccessIsOneRequestAsWideAsItsType) {
  const GuestProgram& program = guest_program(GetParam(), "widths");
  ASSERT_TRUE(program.compiles());
  const auto run = program.run("");
  ASSERT_EQ(run.status, 0);
  EXPECT_TRUE(run.report["findings"].empty()) << run.report["findings"].dump(1);
  std::ifstream source(std::string(CORNERTURN_SOURCE_DIR) + "/tests/cuda_source/guests/widths.cpp");
  const std::regex access("(load|store|atomic) (\\d+)");
  int checked = 0;
  unsigned number = 0;
  for (std::string line; std::getline(source, line);) {
    ++number;
    const std::size_t comment = line.find("; ");
    const std::size_t words = line.find("// ");
    if (comment == std::string::npos || words == std::string::npos) continue;
    std::vector<std::string> wanted;
    for (auto at = std::sregex_iterator(line.begin() + static_cast<std::ptrdiff_t>(words),
                                        line.end(), access);
         at != std::sregex_iterator(); ++at) {
      wanted.push_back((*at)[0]);
    }
    std::vector<std::string> got;
    for (const json& row : run.report["kernels"][0]["lines"]) {
      if (row["line"] != number) continue;
      const std::string op = row["op"];
      const std::string word = op.find("atomic") != std::string::npos ? "atomic"
                               : op.find("load") != std::string::npos ? "load"
                                                                      : "store";
      for (int i = 0; i < row["requests"].get<int>(); ++i) {
        got.push_back(word + " " + std::to_string(row["width"].get<int>()));
      }
    }
    std::sort(wanted.begin(), wanted.end());
    std::sort(got.begin(), got.end());
    EXPECT_EQ(got, wanted) << "line " << number << ": " << line;
    ++checked;
  }
  EXPECT_EQ(checked, 17);
}

INSTANTIATE_TEST_SUITE_P(Compilers, Guest, testing::Values("g++", "clang++"),
                         [](const auto& compiler) {
                           return std::string(compiler.param).substr(0, 1);
                         });

}  // namespace
}  // namespace cornerturn::cuda_source
