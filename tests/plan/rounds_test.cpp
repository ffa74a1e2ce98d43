// Who is fastest of several, of whom some fail.
#include "plan/rounds.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <new>
#include <stdexcept>
#include <utility>
#include <vector>

namespace cornerturn::plan {
namespace {

using TurnsOfRounds = std::vector<std::pair<int, std::size_t>>;

TEST(Rounds, EveryoneHasATurnInEachAndTheBestCounts) {
  TurnsOfRounds turns;
  const auto best = best_of_rounds(3, 2, [&](int round, std::size_t which) {
    turns.emplace_back(round, which);
    return which == 0 ? 5.0 - round : 1.0 + round;
  });
  EXPECT_EQ(turns, (TurnsOfRounds{{0, 0}, {0, 1}, {1, 0}, {1, 1}, {2, 0}, {2, 1}}));
  EXPECT_EQ(best, (std::vector{3.0, 1.0}));
}

TEST(Rounds, WhoFailsHasNoOtherTurnAndIsNotTheBest) {
  for (const int failing_round : {0, 1, 2}) {
    TurnsOfRounds turns;
    const auto best = best_of_rounds(3, 3, [&](int round, std::size_t which) {
      turns.emplace_back(round, which);
      if (which == 1 && round == failing_round) throw std::bad_alloc();
      return which == 1 ? 0.5 : 1.0;
    });
    EXPECT_EQ(turns.size(), 9U - static_cast<std::size_t>(2 - failing_round));
    EXPECT_EQ(best, (std::vector<double>{1, HUGE_VAL, 1}));
  }
}

TEST(Rounds, FailWhereEveryoneFailsAsTheFirstOneDid) {
  const auto fail = [](int, std::size_t which) -> double {
    if (which == 0) throw std::bad_alloc();
    throw std::runtime_error("another one");
  };
  EXPECT_THROW(best_of_rounds(3, 2, fail), std::bad_alloc);
}

}  // namespace
}  // namespace cornerturn::plan
