// Problems with lists on a GPU, in the emulator: every candidate of random problems, against plain
// loops.
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "engine_support.hpp"
#include "support/listed_changes.hpp"

namespace cornerturn::simt {
namespace {

namespace listed = test::listed;

// The emulator knows the arrays of a side, and its table.
void know(Emulator& emulator, listed::Side& side, const std::string& name, bool is_dst) {
  for (std::size_t k = 0; k < side.memory.size(); ++k) {
    const std::string array = name + std::to_string(k);
    if (is_dst) {
      emulator.update(array, side.memory[k].data(), side.memory[k].size());
    } else {
      emulator.input(array, side.memory[k].data(), side.memory[k].size());
    }
  }
  const auto entries =
      static_cast<std::size_t>(side.shape[static_cast<std::size_t>(side.list.axis)]);
  if (side.list.places == Places::strides) return;
  emulator.input(name + ".table", side.list.table,
                 entries * (side.list.places == Places::i32 ? 4 : 8));
}

TEST(ListsInEmulator, EveryCandidateOfRandomProblems) {
  listed::Cases cases(20261201);
  std::set<std::string> kernels;
  int moved = 0;
  for (int n = 0; n < 250; ++n) {
    listed::Case one = listed::random_case(cases, false);
    if (!one.has_list()) continue;
    const Buffers buffers = one.buffers();
    listed::copy_plainly(one.dst, one.src, static_cast<std::size_t>(one.size));
    const auto wanted = one.dst.memory;
    Plan plan =
        plan::make_plan(one.problem, some_device(),
                        {1, "", {true, listed::aligned(one.src), listed::aligned(one.dst)}});
    for (const Candidate& candidate : Candidates(plan.candidates)) {
      plan.choose(candidate, plan::Choice::forced);
      kernels.emplace(candidate.row->name);
      listed::fill(one.dst, listed::poison);
      Emulator emulator;
      know(emulator, one.src, "src", false);
      know(emulator, one.dst, "dst", true);
      execute(emulator, plan, buffers, Mode::recording);
      for (const Finding& finding : emulator.findings()) {
        ADD_FAILURE() << finding.message();
      }
      ASSERT_EQ(one.dst.memory, wanted)
          << "problem " << n << ": " << to_string(one.problem) << " by " << to_string(plan);
      ++moved;
    }
  }
  EXPECT_GT(moved, 200);
  EXPECT_EQ(kernels, (std::set<std::string>{"list_rows", "pages"}));
}

TEST(ListsInEmulator, EveryCandidateOfConversions) {
  listed::Cases cases(20261202);
  std::set<std::string> kernels;
  for (int n = 0; n < 60; ++n) {
    listed::ChangingCase one = listed::random_changing_case(cases);
    const auto before = one.dst.memory;
    listed::convert_plainly(one);
    const auto wanted = one.dst.memory;
    Plan plan =
        plan::make_plan(one.problem, some_device(),
                        {1, "", {true, listed::aligned(one.src), listed::aligned(one.dst)}});
    for (const Candidate& candidate : Candidates(plan.candidates)) {
      plan.choose(candidate, plan::Choice::forced);
      kernels.emplace(candidate.row->name);
      for (std::size_t k = 0; k < before.size(); ++k) {
        std::copy(before[k].begin(), before[k].end(), one.dst.memory[k].begin());
      }
      Emulator emulator;
      know(emulator, one.src, "src", false);
      know(emulator, one.dst, "dst", true);
      emulator.input("scale", one.numbers.data(), one.numbers.size() * sizeof(float));
      execute(emulator, plan, one.buffers(), Mode::recording);
      for (const Finding& finding : emulator.findings()) ADD_FAILURE() << finding.message();
      ASSERT_EQ(one.dst.memory, wanted)
          << "problem " << n << ": " << to_string(one.problem) << " by " << to_string(plan);
    }
  }
  EXPECT_EQ(kernels, (std::set<std::string>{"gather", "list_rows", "pages"}));
}

}  // namespace
}  // namespace cornerturn::simt
