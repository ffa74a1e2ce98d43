// The rules of a race, without a clock: what its parts are, how they are planned, and who wins.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <new>
#include <string>
#include <vector>

#include "api/race.hpp"
#include "core/validate.hpp"
#include "cornerturn/cornerturn.hpp"
#include "plan/planner.hpp"
#include "support/moves.hpp"

namespace cornerturn {
namespace {

plan::Plan plan_of(Extents shape, std::vector<int> order, int width, int threads = 1) {
  const ConstView packed(nullptr, ElementType::bytes(width), shape);
  const ConstView src = packed.permuted(order);
  const View dst(nullptr, src.type, src.shape);
  plan::Plan plan = plan::make_plan(make_problem(dst, src), plan::CpuInfo{}, {threads, ""});
  // Whoever can take part does, and nobody is expected to be faster than slices are.
  for (plan::Candidate& candidate : plan.candidates) candidate.estimate.seconds = 1;
  return plan;
}

plan::Plan turned_matrix() {
  return plan_of({4099, 2053}, {1, 0}, 4);
}

// The kernels that may race, best first.
std::vector<std::string> kernels_of(const plan::Plan& plan) {
  std::vector<std::string> kernels;
  for (const plan::Candidate& candidate : plan.candidates) {
    const std::string name(candidate.row->name);
    if (std::find(kernels.begin(), kernels.end(), name) == kernels.end()) kernels.push_back(name);
  }
  return kernels;
}

// Runs nothing, and says that kernels take so long for each element.
class Stopwatch {
 public:
  explicit Stopwatch(std::map<std::string, double> times) : times_(std::move(times)) {}

  plan::TimedRun run() {
    return [this](const plan::Plan& part) {
      if (part.kernel() == failing && asked_++ >= turns_before_it_fails) {
        ++failures;
        throw std::bad_alloc();
      }
      parts.push_back(part);
      const auto time = times_.find(std::string(part.kernel()));
      const double each = time == times_.end() ? 10 : time->second;
      return each * static_cast<double>(part.normal.bytes());
    };
  }

  std::vector<plan::Plan> parts;
  std::string failing;  // this kernel finds no memory, from some turn on
  int turns_before_it_fails = 0;
  int failures = 0;

 private:
  std::map<std::string, double> times_;
  int asked_ = 0;
};

TEST(RaceRules, PartsAreTheProblem) {
  const std::vector<plan::Plan> plans = {
      plan_of({1031, 1033}, {1, 0}, 16), plan_of({40, 163, 167}, {0, 2, 1}, 16),
      plan_of({3, 5, 7, 11, 13, 73}, {4, 1, 5, 3, 0, 2}, 16), plan_of({1031, 1033}, {1, 0}, 16, 2)};
  for (const plan::Plan& plan : plans) {
    Stopwatch stopwatch({});
    ASSERT_TRUE(raced(plan, stopwatch.run())) << to_string(plan.normal);
    std::vector<Problem> parts;
    for (const plan::Plan& part : stopwatch.parts) parts.push_back(part.normal);
    EXPECT_GT(parts.size(), 5);
    EXPECT_EQ(test::moves_of(parts), test::moves_of({plan.normal})) << to_string(plan.normal);
  }
}

TEST(RaceRules, PartsArePlannedForDataThatIsNotInCaches) {
  const plan::Plan plan = plan_of({1031, 1033}, {1, 0}, 16, 2);
  Stopwatch stopwatch({});
  ASSERT_TRUE(raced(plan, stopwatch.run()));
  plan::CpuInfo taken = *plan.machine.cpu();
  taken.caches_taken = true;
  for (const plan::Plan& part : stopwatch.parts) {
    EXPECT_EQ(part.machine, plan::Machine(taken));
    EXPECT_EQ(part.threads, 2);
    // What it does depends on it.
    const plan::Plan again = plan::make_plan(part.problem, taken, {2, std::string(part.kernel())});
    EXPECT_EQ(part.chosen, again.chosen);
  }
}

TEST(RaceRules, PartsArePlannedForWhereTheDestinationBegins) {
  const plan::Plan plan = plan_of({1040, 1032}, {1, 0}, 16);
  std::vector<double> estimates;
  for (const int phase : {0, 16}) {
    Stopwatch stopwatch({});
    ASSERT_TRUE(raced(plan, stopwatch.run(), phase));
    double sum = 0;
    for (const plan::Plan& part : stopwatch.parts) {
      plan::Request request{1, std::string(part.kernel())};
      request.dst_phase = phase;
      EXPECT_EQ(part.chosen, plan::make_plan(part.problem, part.machine, request).chosen);
      sum += part.predicted_seconds();
    }
    estimates.push_back(sum);
  }
  EXPECT_NE(estimates[0], estimates[1]);
}

std::string winner_of(const plan::Plan& plan, const std::map<std::string, double>& times) {
  Stopwatch stopwatch(times);
  const auto won = raced(plan, stopwatch.run());
  if (!won) return "nobody";
  EXPECT_EQ(won->plan.choice, plan::Choice::raced);
  EXPECT_EQ(won->plan.kernel(), stopwatch.parts.back().kernel()) << "another one does the rest";
  return std::string(won->plan.kernel());
}

TEST(RaceRules, WhoIsClearlyFasterWins) {
  const plan::Plan plan = turned_matrix();
  const std::vector<std::string> kernels = kernels_of(plan);
  ASSERT_GE(kernels.size(), 2U);
  const std::string& preferred = kernels[0];
  const std::string& other = kernels[1];
  EXPECT_EQ(winner_of(plan, {{preferred, 1.0}, {other, 0.5}}), other);
  EXPECT_EQ(winner_of(plan, {{preferred, 1.0}, {other, 0.75}}), other);
  EXPECT_EQ(winner_of(plan, {{preferred, 1.0}, {other, 0.85}}), preferred);
  EXPECT_EQ(winner_of(plan, {{preferred, 1.0}, {other, 1.05}}), preferred);
  EXPECT_EQ(winner_of(plan, {{preferred, 1.0}, {other, 2.0}}), preferred);
}

// A recipe for lines is made for every slice, and once for the whole.
TEST(RaceRules, WhatASliceBeginsWithIsNoPartOfTheWhole) {
  const ConstView packed(nullptr, ElementType::bytes(8), {103, 8, 64, 58}, {8, 824, 6592, 0});
  const View dst(nullptr, packed.type, packed.shape);
  plan::CpuInfo cpu;
  cpu.isa = "AVX3_DL";
  plan::Plan plan = plan::make_plan(make_problem(dst, packed), cpu, {1, ""});
  const auto lines = std::find_if(plan.candidates.begin(), plan.candidates.end(),
                                  [](const auto& one) { return one.row->name == "pack_lines"; });
  ASSERT_NE(lines, plan.candidates.end());
  std::rotate(plan.candidates.begin(), lines, lines + 1);
  plan.chosen = plan.candidates.front();
  const double whole = plan.chosen.seconds();
  for (plan::Candidate& candidate : plan.candidates) {
    if (candidate.row != plan.chosen.row) candidate.estimate.seconds = 2 * whole;
  }
  double slices = 0;
  // Lines take as long as the model says, others twice as long for what they move.
  const auto run = [&](const plan::Plan& part) {
    const double share =
        static_cast<double>(part.normal.bytes()) / static_cast<double>(plan.normal.bytes());
    const double seconds =
        part.kernel() == "pack_lines" ? part.predicted_seconds() : 2 * whole * share;
    if (part.kernel() == "pack_lines" && share < 0.5) slices = std::max(slices, seconds / share);
    return seconds;
  };
  const auto won = raced(plan, run);
  ASSERT_TRUE(won);
  EXPECT_GT(slices, 4 * whole) << "by itself it is far behind";
  EXPECT_EQ(won->plan.kernel(), "pack_lines") << won->plan.race;
  // By slices alone another one is ahead: whole calls will tell.
  EXPECT_GT(won->close.size(), 1U);
}

// The whole is for it, as the model says, and no slice is: nothing is known of it.
TEST(RaceRules, WhoCannotTakePartIsNotBeaten) {
  plan::Plan plan = turned_matrix();
  const auto copy = std::find_if(plan::cpu_registry().begin(), plan::cpu_registry().end(),
                                 [](const plan::Row& row) { return row.name == "copy"; });
  plan::Candidate favourite = plan.candidates.front();
  favourite.row = &*copy;
  plan.candidates.insert(plan.candidates.begin(), favourite);
  plan.chosen = favourite;
  Stopwatch stopwatch({});
  const auto won = raced(plan, stopwatch.run());
  ASSERT_TRUE(won);
  EXPECT_EQ(won->plan.kernel(), "copy");
  EXPECT_EQ(won->plan.choice, plan::Choice::estimated);
  EXPECT_EQ(won->plan.race, "");
}

TEST(RaceRules, SaysWhoTookPart) {
  const plan::Plan plan = turned_matrix();
  const std::vector<std::string> kernels = kernels_of(plan);
  Stopwatch stopwatch({{kernels[0], 1.0}, {kernels[1], 0.5}});
  const auto won = raced(plan, stopwatch.run());
  ASSERT_TRUE(won);
  EXPECT_EQ(won->plan.race.find(kernels[0] + " 2.00, " + kernels[1] + " 1.00"), 0U)
      << won->plan.race;
}

TEST(RaceRules, SaysWhichKernelsWereClose) {
  const plan::Plan plan = turned_matrix();
  const std::vector<std::string> kernels = kernels_of(plan);
  const auto close_at = [&](double seconds) {
    Stopwatch stopwatch({{kernels[0], 1.0}, {kernels[1], seconds}});
    const auto won = raced(plan, stopwatch.run());
    std::vector<std::string> close;
    for (const plan::Row* row : won->close) close.emplace_back(row->name);
    return close;
  };
  EXPECT_EQ(close_at(1.4), (std::vector{kernels[0], kernels[1]}));
  EXPECT_EQ(close_at(1.6), (std::vector{kernels[0]}));
  EXPECT_EQ(close_at(0.6), (std::vector{kernels[1]}));
}

// Whoever fails, and whenever: the others do its part and go on.
TEST(RaceRules, WhoFindsNoMemoryLeavesTheRace) {
  const plan::Plan plan = plan_of({263, 257}, {1, 0}, 256);
  const std::vector<std::string> kernels = kernels_of(plan);
  ASSERT_GE(kernels.size(), 2U);
  const auto whole = test::moves_of({plan.normal});
  for (const std::string& failing : kernels) {
    for (const int turns : {0, 1, 2, 3}) {
      SCOPED_TRACE(failing + " in turn " + std::to_string(turns));
      Stopwatch stopwatch({{failing, 1.0}});  // the fastest, as long as it takes part
      stopwatch.failing = failing;
      stopwatch.turns_before_it_fails = turns;
      const auto won = raced(plan, stopwatch.run());
      ASSERT_TRUE(won);
      std::vector<Problem> parts;
      for (const plan::Plan& part : stopwatch.parts) parts.push_back(part.normal);
      EXPECT_EQ(test::moves_of(parts), whole);
      EXPECT_LE(stopwatch.failures, 1) << "who has left is not asked again";
      if (turns > 0 && failing != kernels[0] && failing != kernels[1]) continue;  // had no turn
      EXPECT_NE(won->plan.kernel(), failing);
      EXPECT_EQ(won->plan.choice, plan::Choice::raced);
      for (const plan::Row* row : won->close) EXPECT_NE(row->name, failing);
      EXPECT_EQ(won->plan.race.find(failing + " "), std::string::npos) << won->plan.race;
    }
  }
}

TEST(RaceRules, FailsWhereEveryoneFails) {
  const plan::Plan plan = turned_matrix();
  int turns = 0;
  const auto fail = [&](const plan::Plan&) -> double {
    ++turns;
    throw std::bad_alloc();
  };
  EXPECT_THROW(raced(plan, fail), std::bad_alloc);
  EXPECT_GE(turns, 2) << "another one tried as well";
}

// A part that was added to the destination cannot be done again.
TEST(RaceRules, FailsAtOnceWhereTheDestinationIsReadAsWell) {
  plan::Plan plan = turned_matrix();
  plan.normal.values.beta = 1;
  int turns = 0;
  const auto fail = [&](const plan::Plan&) -> double {
    ++turns;
    throw std::bad_alloc();
  };
  EXPECT_THROW(raced(plan, fail), std::bad_alloc);
  EXPECT_EQ(turns, 1);
}

TEST(RaceRules, LeavesAloneWhatIsNotWorthIt) {
  Stopwatch stopwatch({});
  EXPECT_FALSE(raced(plan_of({1000, 1000}, {1, 0}, 4), stopwatch.run()));
  plan::Plan forced = turned_matrix();
  forced.choice = plan::Choice::forced;
  EXPECT_FALSE(raced(forced, stopwatch.run()));
  plan::Plan alone = turned_matrix();
  alone.candidates.resize(1);
  EXPECT_FALSE(raced(alone, stopwatch.run()));
  EXPECT_TRUE(stopwatch.parts.empty());
}

}  // namespace
}  // namespace cornerturn
