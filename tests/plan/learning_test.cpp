// What calls learn, without a clock: who has a turn, and who wins.
#include "plan/learning.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "learning_support.hpp"
#include "plan/gpu/device_files.hpp"

namespace cornerturn::plan {
namespace {

using namespace of_learning;

// Turns that every call may have.
class UnpaidLearning : public testing::Test {
  const UnpaidTurns unpaid_;
};
class UnpaidLearningOnGpu : public UnpaidLearning {};

using TimedRun = std::function<double(const Plan& plan)>;

std::shared_ptr<const Plan> solve(Learning& learning, const Plan& plan, const TimedRun& run) {
  return call(learning, plan,
              Solver{[&](const Plan& one) { run(one); },
                     [&](const Plan& one) -> Timing {
                       return [took = run(one)] { return std::optional(took); };
                     }});
}

// After the calls that come before the first turn.
std::shared_ptr<Learning> learning_of(const Plan& plan) {
  const auto learning = Learning::of(plan, {});
  for (int call = 0; learning != nullptr && call < calls_before_turns(plan); ++call) {
    const auto learned = solve(*learning, plan, [&](const Plan& one) {
      EXPECT_EQ(one.chosen, plan.chosen);
      return 1e-9;  // which tells nothing
    });
    EXPECT_EQ(learned, nullptr);
  }
  return learning;
}

struct Learned {
  std::vector<std::size_t> turns;  // the candidates that calls ran
  std::shared_ptr<const Plan> plan;
};

// Calls, each with a turn, until one has returned the winner or there have been too many.
// `seconds` says how long a candidate takes in its first, second, ... turn.
Learned learn(const Plan& plan, const std::vector<std::vector<double>>& seconds) {
  Learned result;
  const auto learning = learning_of(plan);
  EXPECT_NE(learning, nullptr);
  std::vector<std::size_t> turns_of(seconds.size(), 0);
  const TimedRun run = [&](const Plan& trial) {
    const std::size_t i = number_of(trial, plan);
    result.turns.push_back(i);
    return seconds.at(i).at(turns_of.at(i)++);
  };
  for (int call = 0; call < 30 && result.plan == nullptr; ++call) {
    result.plan = solve(*learning, plan, run);
  }
  return result;
}

using Turns = std::vector<std::size_t>;

using Times = std::vector<double>;

TEST_F(UnpaidLearning, ThePlansOwnHasTwoTurnsAndThenAllWhoAreExpectedToBeNear) {
  const Learned learned =
      learn(plan_of({1, 1.2, 1.9, 2.1}), {Times(3, 1), Times(3, 1.2), Times(3, 1.25), {}});
  EXPECT_EQ(learned.turns, (Turns{0, 0, 1, 2, 0, 1, 2})) << "two turns tell that they are slower";
}

// Those whose costs are assumed come after all others, whatever they are expected to take.
TEST_F(UnpaidLearning, WhoComesBehindOnesThatAreNotWorthItHasATurn) {
  const Learned learned = learn(plan_of({1, 2.1, 0.4}), {Times(3, 1), {}, Times(3, 1.25)});
  EXPECT_EQ(learned.turns, (Turns{0, 0, 2, 0, 2}));
}

// What was in the caches before has to be written back first.
TEST_F(UnpaidLearning, TurnsBeginWhenCallsHaveFilledTheCaches) {
  CpuInfo cpu;
  cpu.l3_bytes = 32 << 20;
  const auto calls = [&](std::int64_t rows, std::int64_t columns) {
    return calls_before_turns(plan_of({1, 1}, transposed_matrix(rows, columns), cpu));
  };
  EXPECT_EQ(calls(1024, 1023), 8);
  EXPECT_EQ(calls(1024, 2049), 3);
  EXPECT_EQ(calls(4096, 4096), 0);
  EXPECT_EQ(calls(256, 256), 32) << "at most";
  const Plan on_gpu = plan_of({1, 1}, transposed_matrix(1024, 1023), gpu::known_devices().front());
  EXPECT_EQ(calls_before_turns(on_gpu), 0);
}

TEST_F(UnpaidLearning, EightHaveATurnAtMost) {
  const Plan plan = plan_of({1, 1, 1, 1, 1, 1, 1, 1, 1}, scrambled());
  std::vector<Times> seconds(8, Times(3, 0.9));
  seconds[0] = Times(3, 1);
  seconds.emplace_back();
  const Learned learned = learn(plan, seconds);
  Turns turns{0};
  for (int round = 0; round < 3; ++round) {
    if (round < 2) turns.push_back(0);
    turns.insert(turns.end(), {1, 2, 3, 4, 5, 6, 7});
  }
  EXPECT_EQ(learned.turns, turns);
  EXPECT_EQ(learned.turns.size(), static_cast<std::size_t>(learning_on_cpu.most_turns()));
}

TEST_F(UnpaidLearning, WhoIsFarBehindHasNoOtherTurn) {
  const Plan plan = plan_of({1, 1, 1});
  EXPECT_EQ(learn(plan, {Times(3, 1), {1.4}, {1.25, .9, 1}}).turns, (Turns{0, 0, 1, 2, 0, 2, 2}));
  EXPECT_EQ(learn(plan, {Times(3, 1), {1.4}, {1.25, 1}}).turns, (Turns{0, 0, 1, 2, 0, 2}))
      << "as fast as the plan's own: that is no news";
  EXPECT_EQ(learn(plan, {{1, 1}, {2}, {3}}).turns, (Turns{0, 0, 1, 2})) << "all is known";
}

TEST_F(UnpaidLearning, WhoIsClearlyFasterWins) {
  const Plan plan = plan_of({1, 1.5, 2});
  const auto winner = [&](const std::vector<std::vector<double>>& seconds) {
    const Learned learned = learn(plan, seconds);
    EXPECT_NE(learned.plan, nullptr);
    EXPECT_EQ(learned.plan->choice, Choice::learned);
    EXPECT_EQ(learned.plan->learning, nullptr);
    EXPECT_EQ(learned.plan->candidates, plan.candidates);
    return number_of(*learned.plan, plan);
  };
  EXPECT_EQ(winner({Times(3, 1), Times(3, 0.9), Times(3, 1.1)}), 1U);
  EXPECT_EQ(winner({Times(3, 1), Times(3, 0.9), Times(3, 0.8)}), 2U);
  EXPECT_EQ(winner({Times(3, 1), Times(3, 0.97), Times(3, 1.1)}), 0U) << "that is no news";
  EXPECT_EQ(winner({{1, 1}, {2}, {3}}), 0U);
  // The best of three turns counts.
  EXPECT_EQ(winner({{3, 2, 1}, Times(3, 1.2), Times(3, 1.25)}), 0U);
  EXPECT_EQ(winner({Times(3, 1), {1.2, 0.8, 1.2}, Times(3, 1.25)}), 1U);
}

// The estimate alone cannot know what the caches hold: rows stored through them and around them are
// two candidates, and a plan that was learned says which it is.
TEST_F(UnpaidLearning, TellsHowRowsAreStored) {
  Problem problem;  // 4 MiB, between the second and the third level
  problem.src_type = problem.dst_type = ElementType::bytes(1);
  problem.modes = {{16, 128, 2048 * 128}, {2048, 16 * 128, 128}, {128, 1, 1}};
  for (const std::size_t faster : {0U, 1U}) {
    Plan plan = make_plan(problem, CpuInfo{}, {1, "rows"});
    const auto is_around = [&](const Candidate& one) {
      return describe(one, plan.normal).find("stored around the caches") != std::string::npos;
    };
    const auto begin = plan.candidates.begin(), end = plan.candidates.end();
    const auto through = std::find_if_not(begin, end, is_around);
    const auto past = std::find_if(begin, end, is_around);
    ASSERT_TRUE(through != end && past != end);
    plan.candidates = Candidates{*through, *past};
    plan.candidates[1].estimate = plan.candidates[0].estimate;
    plan.choose(plan.candidates.front(), Choice::estimated);
    std::vector<Times> seconds(2, Times(3, 1.2));
    seconds[faster] = Times(3, 1);
    const Learned learned = learn(plan, seconds);
    ASSERT_NE(learned.plan, nullptr);
    EXPECT_EQ(number_of(*learned.plan, plan), faster);
    const std::string told = explain(*learned.plan);
    EXPECT_NE(told.find("rows (" + describe(plan.candidates[faster], plan.normal) + ") 1.00"),
              std::string::npos)
        << told;
  }
}

TEST_F(UnpaidLearning, SaysWhoTookPart) {
  const Plan plan = plan_of({1, 1.5, 2});
  const Learned learned = learn(plan, {Times(3, 2), Times(3, 1), {3}});
  const auto name = [&](std::size_t i) {
    const Candidate& one = plan.candidates[i];
    const auto is_of_its_kernel = [&](const Candidate& other) { return other.row == one.row; };
    const auto& all = plan.candidates;
    const bool alone = std::count_if(all.begin(), all.end(), is_of_its_kernel) == 1;
    return std::string(one.row->name) + (alone ? "" : " (" + describe(one, plan.normal) + ")");
  };
  const std::string who = name(0) + " 2.00, " + name(1) + " 1.00, " + name(2) + " 3.00";
  EXPECT_EQ(learned.plan->turns, who + " times the fastest one's time, in 7 turns");
  EXPECT_NE(explain(*learned.plan).find("\nlearned     " + who), std::string::npos);
  EXPECT_NE(why(*learned.plan).find("the fastest in its first calls"), std::string::npos);
  const std::string json = to_json(*learned.plan);
  EXPECT_NE(json.find("\"choice\": \"learned\""), std::string::npos);
  EXPECT_NE(json.find("\"learned\": \"" + who), std::string::npos);
}

TEST_F(UnpaidLearning, LeavesAloneWhatIsNotWorthIt) {
  EXPECT_NE(Learning::of(plan_of({1, 1}), {}), nullptr);
  EXPECT_EQ(Learning::of(plan_of({1}), {}), nullptr) << "there is no other";
  EXPECT_EQ(Learning::of(plan_of({1, 2.1}), {}), nullptr) << "no other comes near";
  EXPECT_NE(Learning::of(plan_of({1, 1}, transposed_matrix(64, 64)), {}), nullptr);
  EXPECT_EQ(Learning::of(plan_of({1, 1}, transposed_matrix(64, 63)), {}), nullptr) << "too small";
  for (const Choice choice :
       {Choice::forced, Choice::measured, Choice::remembered, Choice::learned}) {
    Plan plan = plan_of({1, 1});
    plan.choice = choice;
    EXPECT_EQ(Learning::of(plan, {}), nullptr);
  }
}

// Candidates are sure to have the same result where nothing but the elements decides.
TEST_F(UnpaidLearning, LeavesAloneWhatDependsOnMoreThanTheElements) {
  Epilogue scaled;
  scaled.alpha = 2;
  EXPECT_TRUE(transposed_matrix(256, 256, scaled).is_local());
  Epilogue at_random = scaled;
  at_random.rounding = Rounding::stochastic;
  EXPECT_FALSE(transposed_matrix(256, 256, at_random).is_local());
  const float vector[256] = {};
  Epilogue rows = scaled;
  rows.bias = vector;
  EXPECT_FALSE(transposed_matrix(256, 256, rows).is_local());
  Problem reduction = transposed_matrix(256, 256);
  reduction.reduces = true;
  EXPECT_FALSE(reduction.is_local());
  Plan plan = plan_of({1, 1});
  plan.problem = transposed_matrix(256, 256, rows);
  EXPECT_EQ(Learning::of(plan, {}), nullptr);
}

// Then the fastest so far does the job, and who has failed is no winner.
TEST_F(UnpaidLearning, ATurnThatFailsFailsNoCall) {
  const Plan plan = plan_of({1, 1, 1});
  const auto learning = learning_of(plan);
  Turns turns;
  const TimedRun run = [&](const Plan& trial) {
    turns.push_back(number_of(trial, plan));
    if (turns.back() == 2) throw Error(Status::out_of_memory, "no scratch memory");
    return turns.back() == 1 ? 0.1 : 1.0;
  };
  for (int call = 0; call < 6; ++call) EXPECT_EQ(solve(*learning, plan, run), nullptr);
  const auto learned = solve(*learning, plan, run);
  EXPECT_EQ(turns, (Turns{0, 0, 1, 2, 1, 0, 1, 1})) << "the fourth call ran two";
  ASSERT_NE(learned, nullptr);
  EXPECT_EQ(number_of(*learned, plan), 1U);
  EXPECT_EQ(solve(*learning, plan, run), nullptr) << "told once";
}

// What it took before it failed does not count.
TEST_F(UnpaidLearning, WhoFailsLaterIsNoWinner) {
  const Plan plan = plan_of({1, 1, 1});
  const auto learning = learning_of(plan);
  int turns_of_second = 0;
  const TimedRun run = [&](const Plan& trial) {
    const std::size_t i = number_of(trial, plan);
    if (i == 1 && ++turns_of_second == 2) throw Error(Status::out_of_memory, "no scratch memory");
    return i == 1 ? 0.8 : i == 2 ? 0.9 : 1.0;
  };
  std::shared_ptr<const Plan> learned;
  for (int call = 0; call < 10 && learned == nullptr; ++call) learned = solve(*learning, plan, run);
  ASSERT_NE(learned, nullptr);
  EXPECT_EQ(turns_of_second, 2);
  EXPECT_EQ(number_of(*learned, plan), 2U);
}

// What may have been added to the destination must not be added again. The next call tells.
TEST_F(UnpaidLearning, ATurnThatFailsIsNotRepeatedWhereItAdds) {
  Epilogue adds;
  adds.beta = 1;
  const Plan plan = plan_of({1, 1}, transposed_matrix(1033, 517, adds));
  const auto learning = learning_of(plan);
  ASSERT_NE(learning, nullptr);
  Turns turns;
  const TimedRun run = [&](const Plan& trial) {
    turns.push_back(number_of(trial, plan));
    if (turns.back() == 1) throw Error(Status::out_of_memory, "no scratch memory");
    return 1.0;
  };
  for (int call = 0; call < 2; ++call) EXPECT_EQ(solve(*learning, plan, run), nullptr);
  EXPECT_THROW(solve(*learning, plan, run), Error);
  const auto learned = solve(*learning, plan, run);
  EXPECT_EQ(turns, (Turns{0, 0, 1, 0}));
  ASSERT_NE(learned, nullptr);
  EXPECT_EQ(number_of(*learned, plan), 0U);
}

// A thread calls while another one has its turn, and does not wait for it.
TEST_F(UnpaidLearning, CallsDuringATurnUseThePlanAsItIs) {
  const Plan plan = plan_of({1, 1});
  const auto learning = learning_of(plan);
  const auto is = [](double seconds) { return [=](const Plan&) { return seconds; }; };
  for (int call = 0; call < 2; ++call) solve(*learning, plan, is(1));
  Turns meanwhile;
  solve(*learning, plan, [&](const Plan& trial) {
    EXPECT_EQ(number_of(trial, plan), 1U);
    std::thread([&] {
      for (int i = 0; i < 20; ++i) {
        const auto tells_nothing = [&](const Plan& other) {
          meanwhile.push_back(number_of(other, plan));
          return 1e-9;
        };
        EXPECT_EQ(solve(*learning, plan, tells_nothing), nullptr);
      }
    }).join();
    return 0.5;
  });
  EXPECT_EQ(meanwhile, Turns(20, 0));
  for (const double seconds : {1.0, 0.5}) solve(*learning, plan, is(seconds));
  const auto learned = solve(*learning, plan, is(0.5));
  ASSERT_NE(learned, nullptr);
  EXPECT_EQ(number_of(*learned, plan), 1U);
  EXPECT_EQ(learned->turns.find(std::string(plan.candidates[0].row->name) + " 2.00"), 0U);
}

TEST_F(UnpaidLearning, ManyThreadsLearnOnce) {
  for (int repetition = 0; repetition < 50; ++repetition) {
    const Plan plan = plan_of({1, 1, 1, 1});
    const auto learning = learning_of(plan);
    std::atomic<int> winners = 0, turns = 0, wrong = 0;
    const auto seconds = [&](const Plan& one) { return number_of(one, plan) == 2 ? 0.5 : 1.0; };
    const Solver solver{[](const Plan&) {},
                        [&](const Plan& one) -> Timing {
                          ++turns;
                          return [took = seconds(one)] { return std::optional(took); };
                        }};
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&] {
        while (!learning->ended()) {
          const auto learned = call(*learning, plan, solver);
          if (learned == nullptr) continue;
          ++winners;
          wrong += static_cast<int>(number_of(*learned, plan) != 2);
          learning->end();
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(winners, 1);
    EXPECT_EQ(wrong, 0);
    EXPECT_LE(turns, learning_on_cpu.most_turns());
  }
}

// A GPU's calls return before their runs end.
class OnGpu {
 public:
  explicit OnGpu(const std::vector<double>& predicted,
                 const Problem& problem = transposed_matrix(1033, 517))
      : plan_(plan_of(predicted, problem, gpu::known_devices().front())),
        learning_(Learning::of(plan_, {})) {}

  bool learns() const { return learning_ != nullptr; }

  // The candidate that ran, and whether it was timed.
  std::pair<std::size_t, bool> call() {
    std::pair<std::size_t, bool> ran;
    const auto run = [&](const Plan& one, bool timed) { ran = {number_of(one, plan_), timed}; };
    learned_ =
        of_learning::call(*learning_, plan_,
                          Solver{[&](const Plan& one) { run(one, false); },
                                 [&](const Plan& one) -> Timing {
                                   run(one, true);
                                   begun_.emplace_back();
                                   return [this, i = begun_.size() - 1] { return begun_[i]; };
                                 }});
    return ran;
  }

  // The candidate of a call that is timed; its run ends after the call.
  std::size_t turn(double seconds) {
    const auto [candidate, timed] = call();
    EXPECT_TRUE(timed);
    end(seconds);
    return candidate;
  }
  void end(double seconds) { begun_.back() = seconds; }

  // Turns whose candidates and seconds are given, and the call that sees the last one end.
  void turns(const std::vector<std::pair<std::size_t, double>>& all) {
    for (const auto& [candidate, seconds] : all) {
      EXPECT_EQ(learned(), nullptr);
      EXPECT_EQ(turn(seconds), candidate);
    }
    EXPECT_FALSE(call().second);
  }

  const Plan* learned() const { return learned_.get(); }
  std::size_t winner() const { return number_of(*learned_, plan_); }

 private:
  Plan plan_;
  std::shared_ptr<Learning> learning_;
  std::vector<std::optional<double>> begun_;
  std::shared_ptr<const Plan> learned_;
};

using Ran = std::pair<std::size_t, bool>;

TEST_F(UnpaidLearningOnGpu, ATurnBeginsWhenTheOneBeforeHasEnded) {
  OnGpu gpu({1, 1.2});
  EXPECT_EQ(gpu.call(), (Ran{0, true}));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(gpu.call(), (Ran{0, false})) << "nobody's turn";
  gpu.end(1);
  EXPECT_EQ(gpu.call(), (Ran{0, true})) << "this call sees it end";
  gpu.end(1);
  EXPECT_EQ(gpu.call(), (Ran{1, true}));
  EXPECT_EQ(gpu.call(), (Ran{0, false}));
  gpu.end(0.5);
  EXPECT_EQ(gpu.call(), (Ran{0, true}));
  EXPECT_EQ(gpu.call(), (Ran{1, false})) << "the fastest so far";
}

TEST_F(UnpaidLearningOnGpu, TheWinnerIsKnownWhenTheLastTurnHasEnded) {
  OnGpu gpu({1, 1.2});
  gpu.turns({{0, 1}, {0, 1}, {1, 0.97}, {0, 1}, {1, 0.97}, {1, 0.97}});
  ASSERT_NE(gpu.learned(), nullptr);
  EXPECT_EQ(gpu.winner(), 1U);
  EXPECT_EQ(gpu.learned()->choice, Choice::learned);
  gpu.call();
  EXPECT_EQ(gpu.learned(), nullptr) << "told once";
}

TEST_F(UnpaidLearningOnGpu, WhoIsDisturbedHasAnotherTurn) {
  OnGpu gpu({1, 1.2, 1.2});
  gpu.turns({{0, 1}, {0, 1}, {1, HUGE_VAL}, {2, 1.2}, {0, 1}, {1, 0.5}, {1, 0.5}});
  ASSERT_NE(gpu.learned(), nullptr);
  EXPECT_EQ(gpu.winner(), 1U);
}

// Nobody is known to be faster than it.
TEST_F(UnpaidLearningOnGpu, WhatIsPreferredStaysWhereItCouldNotBeTimed) {
  OnGpu gpu({1, 1.2});
  gpu.turns({{0, HUGE_VAL}, {0, HUGE_VAL}, {1, 0.5}, {0, HUGE_VAL}, {1, 0.5}, {1, 0.5}});
  ASSERT_NE(gpu.learned(), nullptr);
  EXPECT_EQ(gpu.winner(), 0U);
}

TEST_F(UnpaidLearningOnGpu, ThePlanStaysAsItIsWhereNoTurnCouldBeTimed) {
  OnGpu gpu({1, 1.2});
  gpu.turns(
      {{0, HUGE_VAL}, {0, HUGE_VAL}, {1, HUGE_VAL}, {0, HUGE_VAL}, {1, HUGE_VAL}, {1, HUGE_VAL}});
  ASSERT_NE(gpu.learned(), nullptr);
  EXPECT_EQ(gpu.learned()->choice, Choice::estimated);
  EXPECT_EQ(gpu.learned()->learning, nullptr);
  EXPECT_EQ(gpu.learned()->turns, "");
}

// One lucky turn makes no winner.
TEST_F(UnpaidLearningOnGpu, TheMedianOfItsTurnsCounts) {
  OnGpu gpu({1, 1.2});
  gpu.turns({{0, 1}, {0, 1}, {1, 0.5}, {0, 0.9}, {1, 1.1}, {1, 1.1}});
  ASSERT_NE(gpu.learned(), nullptr);
  EXPECT_EQ(gpu.winner(), 0U);
}

// The plan's own candidate has the first turns, before caches and clocks are what they are later.
TEST_F(UnpaidLearningOnGpu, WhatIsPreferredIsKnownByItsBestTurn) {
  OnGpu gpu({1, 1.2});
  gpu.turns({{0, 1.5}, {0, 1.5}, {1, 1.3}, {0, 1.0}, {1, 1.3}});
  ASSERT_NE(gpu.learned(), nullptr);
  EXPECT_EQ(gpu.winner(), 0U);
}

TEST_F(UnpaidLearningOnGpu, LeavesAloneWhatIsSmall) {
  EXPECT_TRUE(OnGpu({1, 1}, transposed_matrix(512, 512)).learns());
  EXPECT_FALSE(OnGpu({1, 1}, transposed_matrix(512, 511)).learns());
  EXPECT_FALSE(OnGpu({1, 1.3}).learns()) << "no other comes near";
}

TEST_F(UnpaidLearningOnGpu, SoManyHaveATurnAtMostAndAreToldApart) {
  const std::size_t most = learning_on_gpu.entrants;
  OnGpu gpu(std::vector<double>(most + 1, 1), scrambled());
  std::vector<std::pair<std::size_t, double>> all{{0, 1}, {0, 1}};
  for (std::size_t i = 1; i < most; ++i) all.emplace_back(i, 2);
  gpu.turns(all);
  ASSERT_NE(gpu.learned(), nullptr);
  EXPECT_EQ(gpu.winner(), 0U);
  // Several are of one family.
  EXPECT_NE(gpu.learned()->turns.find(" B) 2.00"), std::string::npos) << gpu.learned()->turns;
}

}  // namespace
}  // namespace cornerturn::plan
