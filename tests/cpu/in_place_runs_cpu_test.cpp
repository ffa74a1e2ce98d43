// Runs that change places on several threads, within workspaces that are small.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <numeric>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "core/in_place.hpp"
#include "plan/cpu/passes.hpp"
#include "plan/cpu/planned_passes.hpp"
#include "support/kernel_named.hpp"

namespace cornerturn {
namespace {

// Every run has other bytes than its neighbours, and every part of it other bytes than the next.
std::vector<std::byte> counted(std::int64_t bytes) {
  std::vector<std::byte> data(static_cast<std::size_t>(bytes));
  for (std::size_t i = 0; i < data.size(); ++i) {
    data[i] = static_cast<std::byte>((i * 2654435761U) >> 11);
  }
  return data;
}

// The runs of each matrix, moved one by one.
std::vector<std::byte> moved(const std::vector<std::byte>& before, const in_place::Step& step) {
  std::vector<std::byte> after(before.size());
  const in_place::RunMap map(step.rows, step.columns);
  const std::int64_t matrix = map.count() * step.element;
  for (std::int64_t at = 0; at < step.batch * matrix; at += matrix) {
    for (std::int64_t k = 0; k < map.count(); ++k) {
      std::memcpy(&after[static_cast<std::size_t>(at + map.target(k) * step.element)],
                  &before[static_cast<std::size_t>(at + k * step.element)],
                  static_cast<std::size_t>(step.element));
    }
  }
  return after;
}

// A transposition of whole runs, each of which is an element of the step.
plan::PassesConfig runs_of(const in_place::Step& step, const in_place::Limits& limits) {
  auto all = std::make_shared<plan::PlannedPasses>();
  all->limits = limits;
  const in_place::Way way{step, {in_place::Factors::Side::rows, step.rows, 1, 0}};
  all->workspace = workspace_of(way.step, way.factors, limits);
  EXPECT_LE(all->workspace, limits.workspace);
  const in_place::Passes passes = in_place::passes(way.step, way.factors);
  plan::PlannedStep planned{way, passes.batch, passes.matrix_bytes, {}};
  for (const in_place::Pass& pass : passes.passes) {
    EXPECT_TRUE(std::holds_alternative<in_place::RunPass>(pass));
    planned.passes.push_back({pass, 1, 0, {}});
  }
  all->steps.push_back(planned);
  return {std::move(all)};
}

void expect_moved(const in_place::Step& step, const in_place::Limits& limits, int threads) {
  const std::vector<std::byte> before = counted(step.bytes());
  std::vector<std::byte> data = before;
  test::kernel_named("passes").run_whole(runs_of(step, limits), threads,
                                         {data.data(), data.data()});
  EXPECT_TRUE(data == moved(before, step))
      << to_string(step) << " in " << limits.workspace << " bytes, " << limits.workers
      << " workers, parts of " << limits.part << ", " << threads << " threads";
}

in_place::Step transposition(std::int64_t batch, std::int64_t rows, std::int64_t columns,
                             std::int64_t element) {
  return {in_place::Step::Kind::transpose, batch, rows, columns, 1, element};
}

TEST(InPlaceRunsOnCpu, MoveInPartsOnAnyNumberOfThreads) {
  std::mt19937 random(5);
  const auto uniform = [&](int low, int high) {
    return std::uniform_int_distribution<int>(low, high)(random);
  };
  for (const auto& [workers, threads] :
       {std::pair{1, 1}, {1, 2}, {2, 2}, {64, 64}, {64, 2}, {2, 64}}) {
    for (int i = 0; i < 40; ++i) {
      in_place::Limits limits{uniform(1, 16) << 10, 128, 16, workers, i % 2 == 0 ? 64 : 1};
      limits.part = std::int64_t{1} << uniform(6, 13);
      expect_moved(transposition(uniform(1, 2), uniform(2, 30), uniform(2, 30), uniform(1, 5000)),
                   limits, threads);
    }
  }
}

// A single cycle that nothing cuts: of all threads, one moves it.
TEST(InPlaceRunsOnCpu, ACycleIsMovedByOneThread) {
  std::int64_t columns = 200'000;
  const auto is_one_cycle = [&] {
    const in_place::RunMap map(2, columns);
    std::int64_t at = map.source(1), length = 1;
    for (; at != 1; at = map.source(at)) ++length;
    return length == map.count() - 2;
  };
  while (!is_one_cycle()) ++columns;
  const in_place::Step step = transposition(1, 2, columns, 16);
  constexpr int workers = 4;
  // Room for marks and for what is in work, and none for cuts.
  const in_place::Limits limits{in_place::Marks::words_for(2 * columns) * 8 + 16 * workers, 128, 16,
                                workers};
  ASSERT_EQ(cuts_of({2, columns, 16}, limits, 0).size(), 0);
  for (int i = 0; i < 5; ++i) expect_moved(step, limits, workers);
}

// And the same where there are many cycles, cut or not.
TEST(InPlaceRunsOnCpu, ManyCyclesAreMovedOnceEach) {
  for (const auto& [rows, columns] : {std::pair{96, 4097}, {61, 1001}, {1024, 33}, {127, 129}}) {
    for (const std::int64_t spare : {0, 4096}) {
      const std::int64_t count = std::int64_t{rows} * columns;
      const in_place::Limits limits{in_place::Marks::words_for(count) * 8 + 8 * 8 + spare, 128, 16,
                                    8};
      EXPECT_EQ(cuts_of({rows, columns, 8}, limits, 0).size() > 0, spare > 0);
      expect_moved(transposition(1, rows, columns, 8), limits, 8);
    }
  }
}

}  // namespace
}  // namespace cornerturn
