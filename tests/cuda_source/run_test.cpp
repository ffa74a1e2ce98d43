// Programs that are linked with the run library: what is planted is found with its lines, and
// nothing is found in what is right.
#include <gtest/gtest.h>

#include <fstream>
#include <regex>
#include <string>
#include <tuple>

#include "cuda_source/guest_program.hpp"

namespace cornerturn::cuda_source {
namespace {

using nlohmann::json;

struct Fault {
  const char* name;
  const char* kind;
  const char* severity;
  const char* says;  // in the message
  bool both = false;
  bool host = false;
  const char* program = "faults";
};

constexpr Fault faults[] = {
    {"missing_barrier", "race", "error", "no barrier between them", true},
    {"missing_second_barrier", "race", "error", "no barrier between them", true},
    {"missing_warp_barrier", "race", "error", "no barrier between them", true},
    {"warp_in_step", "race", "warning", "__syncwarp()", true},
    {"blocks_race", "race", "error", "nothing orders two blocks", true},
    {"read_then_written", "race", "error", "nothing orders two blocks", true},
    {"plain_histogram", "race", "error", "no barrier between them", true},
    {"mixed_atomic", "race", "error", "no barrier between them", true},
    {"same_value", "race", "warning", "both store the same value", true},
    {"flag_without_fence", "race", "error", "nothing orders two blocks", true},
    {"copy_in_flight", "race", "error", "still in flight", true},
    {"unwritten_shared", "unwritten_read", "error", "nobody has written it"},
    {"unwritten_global", "unwritten_read", "error", "nobody has written it"},
    {"stray_load", "out_of_bounds", "error", "at byte 1024 of memory of 1024 B"},
    {"stray_store", "out_of_bounds", "error", "4 B before memory of 1024 B"},
    {"stray_dynamic", "out_of_bounds", "error",
     "at byte 64 of dynamic shared memory, which has 64"},
    {"misaligned_vector", "misaligned", "error", "multiple of 16"},
    {"barriers_in_branches", "divergent_barrier", "error", "different barriers", true},
    {"barrier_for_some", "divergent_barrier", "warning", "not all threads of the block"},
    {"wrong_mask", "divergent_barrier", "error", "0xffffffff", true},
    {"mask_of_others", "divergent_barrier", "error", "does not name the lane itself"},
    {"mask_of_a_half", "divergent_barrier", "error", "does not name the lane itself"},
    {"two_masks", "divergent_barrier", "error", "0x0001ffff and 0xffff8000", true},
    {"shuffles_in_branches", "divergent_barrier", "error", "at different places", true},
    {"mask_of_ended", "divergent_barrier", "warning", "names lane 20, which has ended"},
    {"short_block", "divergent_barrier", "warning", "lane 16, which the block does not have"},
    {"tile_of_ended", "divergent_barrier", "warning", "names lane 5, which has ended"},
    {"misaligned_store", "misaligned", "error", "multiple of 16"},
    {"misaligned_tile", "misaligned", "error", "multiple of 16"},
    {"use_after_free", "use_after_free", "error", "freed before"},
    {"host_pointer", "host_memory", "error", "memory of the host"},
    {"null_pointer", "out_of_bounds", "error", "null pointer"},
    {"endless", "never_ends", "error", "and not ended"},
    {"trapped", "trap", "error", "__trap()"},
    {"wide", "launch", "error", "2048 threads"},
    {"host_reads_device", "host_access", "error", "host code reads device memory", false, true},
    {"crash", "crash", "error", "divides an integer by zero", false, true},
    {"null_on_host", "crash", "error", "where there is no memory", false, true},
    {"no_grid_barrier", "race", "error", "nothing orders two blocks", true, false, "grids"},
    {"one_grid_barrier", "race", "error", "nothing orders two blocks", true, false, "grids"},
    {"after_the_grid_barrier", "race", "error", "nothing orders two blocks", true, false, "grids"},
    {"block_stays_away", "divergent_barrier", "error", "not all blocks of the grid", false, false,
     "grids"},
    {"threads_stay_away", "divergent_barrier", "error", "not all threads of the block", false,
     false, "grids"},
    {"grid_or_block", "divergent_barrier", "error", "different barriers", true, false, "grids"},
    {"two_grid_barriers", "divergent_barrier", "error", "different barriers", true, false, "grids"},
    {"alone", "launch", "error", "needs a cooperative launch", false, false, "grids"},
    {"crowded", "launch", "error", "has 5 blocks; the device holds 4", false, false, "grids"},
    {"crowded_shared", "launch", "error", "has 11 blocks; the device holds 10", false, false,
     "grids"},
    {"no_room", "never_ends", "error", "and not ended", false, false, "grids"},
    {"nobody_comes", "never_ends", "error", "and not ended", false, false, "grids"},
};

using Case = std::tuple<const char*, Fault>;

class PlantedFaults : public testing::TestWithParam<Case> {};

// Places come in any order: which of two threads runs first decides who collides with whom.
bool has_lines(const json& finding, unsigned first, unsigned second) {
  const json& places = finding.at("places");
  const auto line = [&](std::size_t i) { return places.at(i).value("line", 0U); };
  if (second == 0) return !places.empty() && line(0) == first;
  return places.size() == 2 &&
         ((line(0) == first && line(1) == second) || (line(0) == second && line(1) == first));
}

TEST_P(PlantedFaults, IsFoundAtItsLines) {
  const auto& [compiler, fault] = GetParam();
  if (!has_compiler(compiler)) GTEST_SKIP() << compiler << " is not here";
  if (std::string(compiler) == "clang++" && std::string(fault.says) == "multiple of 16") {
    GTEST_SKIP() << "clang copies 16 bytes by memcpy, which may begin anywhere";
  }
  const GuestProgram& program = guest_program(compiler, fault.program);
  ASSERT_TRUE(program.compiles());
  const auto run = program.run(fault.name, {{"steps", 100000}, {"device", {{"sms", 2}}}});
  ASSERT_TRUE(run.report.is_object());
  const json& all = run.report.at(fault.host ? "host" : "findings");
  const std::string name = fault.name;
  const unsigned first = program.line_of(name + ".1");
  const unsigned second = fault.both ? program.line_of(name + ".2") : 0;
  ASSERT_NE(first, 0U);
  bool found = false;
  for (const json& finding : all) {
    // One fault shows in one way, whichever threads collide.
    EXPECT_EQ(finding.at("kind"), fault.kind) << finding;
    EXPECT_EQ(finding.at("severity"), fault.severity) << finding;
    EXPECT_EQ(finding.at("kernel"), fault.host ? "" : name);
    found =
        found || (finding.at("message").get<std::string>().find(fault.says) != std::string::npos &&
                  has_lines(finding, first, second));
  }
  EXPECT_TRUE(found) << first << " " << second << " " << run.report.dump(1);
}

std::string case_name(const testing::TestParamInfo<Case>& info) {
  const std::string compiler = std::get<0>(info.param);
  return (compiler == "g++" ? "gcc_" : "clang_") + std::string(std::get<1>(info.param).name);
}

INSTANTIATE_TEST_SUITE_P(Run, PlantedFaults,
                         testing::Combine(testing::Values("g++", "clang++"),
                                          testing::ValuesIn(faults)),
                         case_name);

std::string compiler_name(const testing::TestParamInfo<const char*>& info) {
  return std::string(info.param) == "g++" ? "gcc" : "clang";
}

class SoundPrograms : public testing::TestWithParam<const char*> {};

TEST_P(SoundPrograms, HaveNoFinding) {
  if (!has_compiler(GetParam())) GTEST_SKIP() << GetParam() << " is not here";
  const GuestProgram& program = guest_program(GetParam(), "sound");
  ASSERT_TRUE(program.compiles());
  const auto run = program.run("");
  EXPECT_EQ(run.status, 0) << run.output;
  ASSERT_TRUE(run.report.is_object());
  EXPECT_TRUE(run.report.at("findings").empty()) << run.report.at("findings").dump(1);
  EXPECT_TRUE(run.report.at("host").empty()) << run.report.at("host").dump(1);
}

TEST_P(SoundPrograms, MayHaveBlocksThatWaitForEachOther) {
  if (!has_compiler(GetParam())) GTEST_SKIP() << GetParam() << " is not here";
  const GuestProgram& program = guest_program(GetParam(), "grids");
  ASSERT_TRUE(program.compiles());
  const auto run = program.run("right");
  EXPECT_EQ(run.output, "all right\n");
  ASSERT_TRUE(run.report.is_object());
  EXPECT_TRUE(run.report.at("findings").empty()) << run.report.at("findings").dump(1);
  EXPECT_TRUE(run.report.at("host").empty()) << run.report.at("host").dump(1);
}

INSTANTIATE_TEST_SUITE_P(Run, SoundPrograms, testing::Values("g++", "clang++"), compiler_name);

class CountedLines : public testing::TestWithParam<const char*> {
 protected:
  const GuestProgram& program() const { return guest_program(GetParam(), "transpositions"); }
  static json line(const json& report, const char* kernel, const char* op) {
    for (const json& one : report.at("kernels")) {
      if (one.at("name") != kernel) continue;
      for (const json& line : one.at("lines")) {
        if (line.at("op") == op) return line;
      }
    }
    return {};
  }
};

TEST_P(CountedLines, HaveTheModelsSectorsAndWavefronts) {
  if (!has_compiler(GetParam())) GTEST_SKIP() << GetParam() << " is not here";
  ASSERT_TRUE(program().compiles());
  const auto run = program().run("");
  ASSERT_EQ(run.status, 0) << run.output;
  EXPECT_TRUE(run.report.at("findings").empty()) << run.report.at("findings").dump(1);
  // 128 x 128 floats: 512 requests of 128 bytes.
  const json naive = line(run.report, "naive", "global_store");
  EXPECT_EQ(naive.at("requests"), 512);
  EXPECT_EQ(naive.at("lanes"), 512 * 32);
  EXPECT_EQ(naive.at("sectors").at("actual"), 512 * 32);
  EXPECT_EQ(naive.at("sectors").at("ideal"), 512 * 4);
  EXPECT_EQ(naive.at("worst").at("sectors"), 32);
  EXPECT_EQ(naive.at("line"), program().line_of("naive"));
  const json plain = line(run.report, "tiled", "shared_load");
  EXPECT_EQ(plain.at("wavefronts").at("actual"), 512 * 32);
  EXPECT_EQ(plain.at("wavefronts").at("ideal"), 512);
  EXPECT_EQ(plain.at("memory"), "tile");
  EXPECT_EQ(plain.at("worst").at("bank"), 0);
  EXPECT_EQ(plain.at("line"), program().line_of("tiled"));
  const json padded = line(run.report, "padded", "shared_load");
  EXPECT_EQ(padded.at("wavefronts").at("actual"), 512);
  const json wide = line(run.report, "copy_vectors", "global_load");
  EXPECT_EQ(wide.at("width"), 16);
  EXPECT_EQ(wide.at("requests"), 128);
  EXPECT_EQ(wide.at("sectors").at("actual"), 128 * 16);
}

TEST_P(CountedLines, AreThoseOfAsManyBlocksAsWereAskedFor) {
  if (!has_compiler(GetParam())) GTEST_SKIP() << GetParam() << " is not here";
  ASSERT_TRUE(program().compiles());
  const auto run = program().run("", {{"blocks", 4}});
  ASSERT_EQ(run.status, 0) << run.output;
  for (const json& kernel : run.report.at("kernels")) {
    EXPECT_EQ(kernel.at("blocks"), 16);
    EXPECT_EQ(kernel.at("counted_blocks"), 4);
  }
  EXPECT_EQ(line(run.report, "naive", "global_store").at("requests"), 128);
}

// The comments of conflicts.cpp say what each line costs.
TEST_P(CountedLines, NameWhatEachRequestCosts) {
  if (!has_compiler(GetParam())) GTEST_SKIP() << GetParam() << " is not here";
  const GuestProgram& program = guest_program(GetParam(), "conflicts");
  ASSERT_TRUE(program.compiles());
  const auto run = program.run("");
  ASSERT_EQ(run.status, 0) << run.output;
  EXPECT_TRUE(run.report.at("findings").empty()) << run.report.at("findings").dump(1);
  std::ifstream source(std::string(CORNERTURN_SOURCE_DIR) +
                       "/tests/cuda_source/guests/conflicts.cpp");
  const std::regex cost("(load|store) (wavefronts|sectors) (\\d+)");
  int checked = 0;
  unsigned number = 0;
  for (std::string text; std::getline(source, text);) {
    ++number;
    if (text.find("; ") == std::string::npos) continue;
    for (auto at = std::sregex_iterator(text.begin(), text.end(), cost);
         at != std::sregex_iterator(); ++at, ++checked) {
      int found = 0;
      for (const json& row : run.report.at("kernels").at(0).at("lines")) {
        const std::string op = row.at("op");
        if (row.at("line") != number || op.find((*at)[1]) == std::string::npos ||
            row.find((*at)[2]) == row.end()) {
          continue;
        }
        ++found;
        EXPECT_EQ(row.at((*at)[2]).at("actual"), std::stoi((*at)[3])) << text;
        EXPECT_EQ(row.at("requests"), 1) << text;
      }
      EXPECT_EQ(found, 1) << number << ": " << text;
    }
  }
  EXPECT_EQ(checked, 31);
}

INSTANTIATE_TEST_SUITE_P(Run, CountedLines, testing::Values("g++", "clang++"), compiler_name);

}  // namespace
}  // namespace cornerturn::cuda_source
