// Plans in place for processors that are described: every permutation has one, within the workspace
// that is documented.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <string>
#include <variant>
#include <vector>

#include "core/in_place.hpp"
#include "plan/cpu/passes.hpp"
#include "plan/cpu/planned_passes.hpp"
#include "plan/cpu/swap.hpp"
#include "plan/gpu/device_files.hpp"
#include "plan/planner.hpp"
#include "plan/swap_split.hpp"

namespace cornerturn::plan {
namespace {

struct Permutation {
  Extents shape;
  std::vector<int> perm;
  int element;

  Problem problem() const {
    const View array(nullptr, ElementType::bytes(element), shape);
    return in_place::problem_in_place(array, perm).problem;
  }
  std::string text() const {
    return testing::PrintToString(shape) + " -> " + testing::PrintToString(perm) + " of " +
           std::to_string(element);
  }
};

// Draws one of up to `most` elements: an axis or two may be long, what stays together too.
Permutation random_permutation(std::mt19937_64& random, std::int64_t most) {
  const auto uniform = [&](std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random);
  };
  constexpr int elements[] = {1, 2, 3, 4, 8, 12, 16, 100, 256};
  Permutation one;
  one.element = elements[uniform(0, 8)];
  std::int64_t left = most;
  const std::int64_t rank = uniform(2, 5);
  for (std::int64_t axis = 0; axis < rank; ++axis) {
    const std::int64_t extent =
        uniform(1, uniform(0, 1) == 0 ? 9 : std::max<std::int64_t>(left, 1));
    one.shape.push_back(std::min(extent, std::max<std::int64_t>(left, 1)));
    left /= one.shape.back();
  }
  one.perm.resize(one.shape.size());
  std::iota(one.perm.begin(), one.perm.end(), 0);
  std::shuffle(one.shape.begin(), one.shape.end(), random);
  std::shuffle(one.perm.begin(), one.perm.end(), random);
  if (uniform(0, 1) == 0) {  // the last axis stays
    std::swap(*std::find(one.perm.begin(), one.perm.end(), rank - 1), one.perm.back());
  }
  return one;
}

// The last of the first ones has primes: fewer workers leave room for longer runs.
std::vector<Permutation> permutations(int count) {
  std::vector<Permutation> all = {{{8, 3, 400, 400}, {1, 0, 2, 3}, 4},
                                  {{16, 3, 1024, 1024}, {1, 0, 2, 3}, 4},
                                  {{7, 3, 1057485}, {1, 0, 2}, 1},
                                  {{2, 5, 250539}, {1, 0, 2}, 8},
                                  {{2, 3, 1'000'000'007}, {1, 0, 2}, 16},
                                  {{3, 5, 7, 99991}, {2, 1, 0, 3}, 256},
                                  {{14983, 6659}, {1, 0}, 1}};
  std::mt19937_64 random(11);
  for (int i = 0; i < count; ++i) {
    all.push_back(random_permutation(random, std::int64_t{1} << (i % 27 + 8)));
  }
  return all;
}

CpuInfo described(int cores, std::int64_t l2_bytes) {
  CpuInfo cpu;
  cpu.cores = cores;
  cpu.l2_bytes = l2_bytes;
  return cpu;
}

// What a step needs at once, counted from its passes alone.
std::int64_t bytes_at_once(const PlannedStep& step, const in_place::Limits& limits) {
  std::int64_t saved = 0, most = 0;
  for (const PlannedPass& pass : step.passes) {
    if (const auto* p = std::get_if<in_place::SavePass>(&pass.pass)) saved += p->bytes();
    if (const auto* p = std::get_if<in_place::PanelPass>(&pass.pass)) {
      const std::int64_t row = std::max(p->columns * p->element, pass.pitch);
      most = std::max(most, limits.workers * pass.group * p->rows * row);
    }
    if (const auto* p = std::get_if<in_place::RunPass>(&pass.pass)) {
      const std::int64_t runs = cuts_of(*p, limits, saved).size() + limits.workers;
      most = std::max(most, runs * part_of(*p, limits, saved) +
                                8 * in_place::Marks::words_for(p->rows * p->columns));
    }
  }
  return saved + most;
}

TEST(InPlacePlans, EveryPermutationFitsTheWorkspace) {
  int in_parts = 0, at_a_pitch = 0;
  for (const Permutation& one : permutations(270)) {
    const Problem problem = one.problem();
    for (const int cores : {1, 2, 64}) {
      for (const std::int64_t l2 : {64 << 10, 512 << 10, 4 << 20}) {
        SCOPED_TRACE(one.text() + ", " + std::to_string(cores) + " cores, L2 " +
                     std::to_string(l2));
        const Plan plan = make_plan(problem, described(cores, l2), {cores, "passes"});
        const PlannedPasses& all = *plan.chosen.config.as<PassesConfig>().planned;
        EXPECT_LE(all.workspace, in_place::usual_workspace(problem.bytes()));
        EXPECT_GE(all.limits.workers, 1);
        EXPECT_LE(all.limits.workers, cores);
        for (const PlannedStep& step : all.steps) {
          EXPECT_LE(bytes_at_once(step, all.limits), all.workspace);
          for (const PlannedPass& pass : step.passes) at_a_pitch += pass.pitch != 0 ? 1 : 0;
        }
        if (explain(plan).find("in parts of") != std::string::npos) ++in_parts;
      }
    }
  }
  EXPECT_GT(in_parts, 100);
  EXPECT_GT(at_a_pitch, 100);
}

TEST(InPlacePlans, SayInWhichPartsRunsMove) {
  const Plan plan = make_plan(Permutation{{8, 3, 400, 400}, {1, 0, 2, 3}, 4}.problem(),
                              described(2, 1 << 20), {2, ""});
  EXPECT_NE(explain(plan).find("8 x 3 runs of 640000 bytes, in parts of 32.8 kB"),
            std::string::npos)
      << explain(plan);
}

// Many panels are copied together, whole lines of them at an odd number of lines, as far as the
// workspace has room for all workers beside what is saved of the rest.
TEST(InPlacePlans, CopiesOfPanelsFitTheWorkspaceOfAllWorkers) {
  for (const int cores : {2, 16, 64}) {
    for (const std::int64_t rows : {64, 1000, 1009, 8192, 10007, 100003}) {
      for (const std::int64_t columns : {7, 61, 128, 509, 512, 1009, 2048}) {
        for (const int element : {1, 4, 16}) {
          const Permutation one{{rows, columns}, {1, 0}, element};
          const Plan plan =
              make_plan(one.problem(), described(cores, 128 << 10), {cores, "passes"});
          const PlannedPasses& all = *plan.chosen.config.as<PassesConfig>().planned;
          EXPECT_LE(all.workspace, in_place::usual_workspace(one.problem().bytes()))
              << one.text() << ", " << cores << " cores";
          for (const PlannedStep& step : all.steps) {
            EXPECT_LE(bytes_at_once(step, all.limits), all.workspace)
                << one.text() << ", " << cores << " cores";
          }
        }
      }
    }
  }
}

TEST(InPlacePlans, EveryPermutationFitsTheWorkspaceOfGpus) {
  for (const Permutation& one : permutations(100)) {
    const Problem problem = one.problem();
    SCOPED_TRACE(one.text());
    const Plan plan = make_plan(problem, gpu::device_named("h200"), {1, ""});
    EXPECT_LE(plan.workspace(), in_place::usual_workspace(problem.bytes()));
  }
}

// ---- which problems are one exchange of two modes ----

std::optional<SwapSplit> split_of(ModeList modes) {
  Problem problem;
  problem.src_type = problem.dst_type = ElementType::bytes(4);
  problem.modes = std::move(modes);
  problem.in_place = true;
  return split_swap(problem);
}

TEST(InPlaceSwaps, AreOneExchangeOfTwoEqualModes) {
  const Mode row{9, 36, 4}, column{9, 4, 36};
  const auto split = split_of({{5, 324, 324}, row, column});
  ASSERT_TRUE(split.has_value());
  EXPECT_EQ(split->extent, 9);
  EXPECT_EQ(split->row_stride, 36);
  EXPECT_EQ(split->column_stride, 4);
  EXPECT_EQ(split->element, 4);
  EXPECT_EQ(split->batch.size(), 1U);
  const auto together = split_of({{9, 108, 12}, {9, 12, 108}, {3, 4, 4}});
  ASSERT_TRUE(together.has_value());
  EXPECT_EQ(together->element, 12);
}

TEST(InPlaceSwaps, AreNoOtherProblems) {
  const Mode row{9, 36, 4}, column{9, 4, 36};
  EXPECT_FALSE(split_of({}).has_value());
  EXPECT_FALSE(split_of({{9, 36, 36}, {9, 4, 4}}).has_value()) << "nothing moves";
  EXPECT_FALSE(split_of({row, {9, 4, 4}}).has_value()) << "one mode moves";
  EXPECT_FALSE(split_of({row, {8, 4, 36}}).has_value()) << "other extents";
  EXPECT_FALSE(split_of({row, {9, 4, 40}}).has_value()) << "other rows";
  EXPECT_FALSE(split_of({row, {9, 8, 36}}).has_value()) << "other columns";
  EXPECT_FALSE(split_of({row, column, {9, 400, 8}}).has_value()) << "three modes move";
  EXPECT_FALSE(split_of({row, column, row, column}).has_value()) << "four modes move";
}

}  // namespace
}  // namespace cornerturn::plan
