// The cycles of runs: where runs go, who moves which cycle, and where cycles are cut.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <vector>

#include "core/in_place.hpp"

namespace cornerturn::in_place {
namespace {

TEST(InPlaceRuns, GoWhereTheTranspositionSays) {
  for (const auto& [rows, columns] :
       {std::pair{1, 7}, {7, 1}, {2, 3}, {6, 4}, {13, 13}, {64, 96}}) {
    const RunMap map(rows, columns);
    for (std::int64_t k = 0; k < map.count(); ++k) {
      const std::int64_t row = k / columns, column = k % columns;
      EXPECT_EQ(map.target(k), column * rows + row);
      EXPECT_EQ(map.source(map.target(k)), k);
      std::int64_t at = k;
      for (int times = 0; times < 5; ++times, at = map.target(at)) {
        EXPECT_EQ(map.target_after(k, times), at) << rows << " x " << columns;
      }
    }
  }
}

TEST(InPlaceRuns, NumbersBeyond64BitsDoNotOverflow) {
  const RunMap map(3'000'000'019, 3'000'000'037);  // a product of 63 bits
  const std::int64_t k = 8'999'999'999'999'999'999;
  EXPECT_EQ(map.source(map.target(k)), k);
  EXPECT_EQ(map.target_after(k, 1), map.target(k));
  EXPECT_EQ(map.target_after(k, 3), map.target(map.target(map.target(k))));
}

TEST(InPlaceRuns, CyclesCoverEveryRunOnce) {
  for (const auto& [rows, columns] : {std::pair{1, 9}, {6, 4}, {8, 8}, {17, 31}, {100, 3}}) {
    const RunMap map(rows, columns);
    std::vector<std::uint64_t> words(static_cast<std::size_t>(Marks::words_for(map.count())));
    std::vector<std::pair<std::int64_t, std::int64_t>> marked, walked;
    for_each_cycle(map, words, [&](std::int64_t k, std::int64_t n) { marked.emplace_back(k, n); });
    for_each_cycle(map, {}, [&](std::int64_t k, std::int64_t n) { walked.emplace_back(k, n); });
    EXPECT_EQ(marked, walked);
    std::multiset<std::int64_t> seen;
    for (const auto& [leader, length] : marked) {
      std::int64_t at = leader;
      for (std::int64_t i = 0; i < length; ++i, at = map.target(at)) {
        EXPECT_GE(at, leader);
        seen.insert(at);
      }
      EXPECT_EQ(at, leader);
    }
    for (std::int64_t k = 0; k < map.count(); ++k) {
      EXPECT_EQ(seen.count(k), map.target(k) == k ? 0U : 1U)
          << rows << " x " << columns << ", " << k;
    }
  }
}

TEST(InPlaceRuns, CutsAreWhereTheySay) {
  const Cuts cuts(1000, 10);
  EXPECT_GT(cuts.size(), 5);
  EXPECT_LE(cuts.size(), 10);
  for (std::int64_t i = 0; i < cuts.size(); ++i) {
    EXPECT_TRUE(cuts.at(cuts.run(i)));
    EXPECT_EQ(cuts.number(cuts.run(i)), i);
    EXPECT_LT(cuts.run(i), 1000);
  }
  EXPECT_EQ(Cuts(1000, 0).size(), 0);
  EXPECT_FALSE(Cuts(1000, 0).at(16));
  EXPECT_EQ(Cuts(16, 10).size(), 0);
  EXPECT_FALSE(Cuts(16, 10).at(5));
}

// A cycle stays within the runs that have one greatest common divisor with the last one.
TEST(InPlaceRuns, SpacingsOfCutsHaveNoDivisorInCommonWithTheLastRun) {
  for (std::int64_t count = 2; count < 1500; ++count) {
    for (const std::int64_t most : {1, 3, 10, 64, 1000}) {
      const Cuts cuts(count, most);
      EXPECT_LE(cuts.size(), most);
      if (cuts.size() == 0) continue;
      EXPECT_EQ(std::gcd(cuts.spacing(), count - 1), 1) << count << " runs, " << most << " cuts";
      EXPECT_GE(cuts.spacing(), 16);
      EXPECT_LT(cuts.run(cuts.size() - 1), count);
      EXPECT_GE(cuts.run(cuts.size()), count - 1);
    }
  }
}

// Who has a range of the runs begins the cycles whose smallest run is in it, and no others: what
// those who have the other ranges mark may not be seen in time.
TEST(InPlaceRuns, EveryCycleIsBegunInOneRange) {
  for (const auto& [rows, columns] : {std::pair{1, 9}, {6, 4}, {8, 8}, {17, 31}, {100, 3}}) {
    const RunMap map(rows, columns);
    std::vector<std::int64_t> leaders;
    for_each_cycle(map, {}, [&](std::int64_t k, std::int64_t) { leaders.push_back(k); });
    for (const std::int64_t range : {1, 2, 7, 64, 1000}) {
      std::vector<std::uint64_t> words(static_cast<std::size_t>(Marks::words_for(map.count())));
      std::vector<std::int64_t> begun;
      for (std::int64_t first = 0; first < map.count(); first += range) {
        for_each_leader(map, Marks(words), first, std::min(first + range, map.count()),
                        [&](std::int64_t k) { begun.push_back(k); });
      }
      EXPECT_EQ(begun, leaders) << rows << " x " << columns << " in ranges of " << range;
      for (const std::int64_t k : leaders) Marks(words).mark(k);
      for_each_leader(map, Marks(words), 0, map.count(),
                      [&](std::int64_t k) { ADD_FAILURE() << k << " is marked"; });
    }
  }
}

// Runs of an odd number keep their parity from place to place: cuts at even runs alone would leave
// half of them in cycles that nothing cuts.
TEST(InPlaceRuns, CutsReachMostCycles) {
  for (const auto& [rows, columns] : {std::pair{97, 1021}, {127, 129}, {256, 96}}) {
    const RunMap map(rows, columns);
    const Cuts cuts(map.count(), map.count() / 64);
    std::vector<std::uint64_t> words(static_cast<std::size_t>(Marks::words_for(map.count())));
    const Marks marks(words);
    for (std::int64_t i = 0; i < cuts.size(); ++i) {
      walk(
          map, cuts.run(i), [&](std::int64_t k) { return cuts.at(k); },
          [&](std::int64_t, std::int64_t to) { marks.mark(to); });
    }
    std::int64_t left = 0;
    for_each_cycle(map, words, [&](std::int64_t, std::int64_t length) { left += length; });
    EXPECT_LT(left, map.count() / 4) << rows << " x " << columns;
  }
}

}  // namespace
}  // namespace cornerturn::in_place
