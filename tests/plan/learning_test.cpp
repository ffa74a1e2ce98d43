// What calls learn, without a clock: who has a turn, and who wins.
#include "plan/learning.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "core/validate.hpp"
#include "cornerturn/cornerturn.hpp"
#include "plan/gpu/device_files.hpp"

namespace cornerturn::plan {
namespace {

Problem turned(std::int64_t rows, std::int64_t columns, const Epilogue& epilogue = {}) {
  const ElementType floats(Kind::f32);
  const ConstView packed(nullptr, floats, {rows, columns});
  const ConstView src = packed.permuted({1, 0});
  return make_problem(View(nullptr, floats, src.shape), src, epilogue);
}

// Kernels take it in many ways.
Problem scrambled() {
  const ElementType floats(Kind::f32);
  const ConstView src = ConstView(nullptr, floats, {31, 8, 31, 12, 7}).permuted({1, 3, 4, 2, 0});
  return make_problem(View(nullptr, floats, src.shape), src);
}

// Predicted to take so many milliseconds; the plan has as many candidates.
Plan plan_of(const std::vector<double>& predicted, const Problem& problem = turned(1033, 517),
             const Machine& machine = CpuInfo{}) {
  Plan plan = make_plan(problem, machine, {});
  EXPECT_GE(plan.candidates.size(), predicted.size());
  plan.candidates.resize(predicted.size());
  for (std::size_t i = 0; i < predicted.size(); ++i) {
    plan.candidates[i].estimate.seconds = 1e-3 * predicted[i];
  }
  plan.choose(plan.candidates.front(), Choice::estimated);
  return plan;
}

std::size_t number_of(const Plan& trial, const Plan& plan) {
  std::size_t i = 0;
  while (i < plan.candidates.size() && !(plan.candidates[i] == trial.chosen)) ++i;
  return i;
}

// After the calls that come before the first turn.
std::shared_ptr<Learning> learning_of(const Plan& plan, const std::vector<const Row*>& close = {}) {
  const auto learning = Learning::of(plan, {}, close);
  for (int call = 0; learning != nullptr && call < calls_before_turns(plan); ++call) {
    const auto learned = learning->solve(plan, [&](const Plan& one) {
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

// Calls, until one has returned the winner or there have been too many. `seconds` says how long a
// candidate takes in its first, second, ... turn.
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
    result.plan = learning->solve(plan, run);
  }
  return result;
}

using Turns = std::vector<std::size_t>;

using Times = std::vector<double>;

TEST(Learning, TheFirstCallIsTheModelsAndAllWhoAreExpectedToBeNearHaveATurn) {
  const Learned learned =
      learn(plan_of({1, 1.2, 1.9, 2.1}), {Times(3, 1), Times(3, 1.2), Times(3, 1.25), {}});
  EXPECT_EQ(learned.turns, (Turns{0, 1, 2, 0, 1, 2, 0, 1, 2}));
}

// What was in the caches before has to be written back first.
TEST(Learning, TurnsBeginWhenCallsHaveFilledTheCaches) {
  CpuInfo cpu;
  cpu.l3_bytes = 32 << 20;
  const auto calls = [&](std::int64_t rows, std::int64_t columns) {
    return calls_before_turns(plan_of({1, 1}, turned(rows, columns), cpu));
  };
  EXPECT_EQ(calls(1024, 1023), 8);
  EXPECT_EQ(calls(1024, 2049), 3);
  EXPECT_EQ(calls(4096, 4096), 0);
  EXPECT_EQ(calls(256, 256), 32) << "at most";
  const Plan on_gpu = plan_of({1, 1}, turned(1024, 1023), gpu::known_devices().front());
  EXPECT_EQ(calls_before_turns(on_gpu), 0);
  EXPECT_EQ(calls_to_learn(on_gpu), learning_on_gpu.most_turns());
}

TEST(Learning, EightHaveATurnAtMost) {
  const Plan plan = plan_of({1, 1, 1, 1, 1, 1, 1, 1, 1}, scrambled());
  std::vector<Times> seconds(8, Times(3, 1));
  seconds.emplace_back();
  const Learned learned = learn(plan, seconds);
  Turns turns;
  for (int round = 0; round < 3; ++round) turns.insert(turns.end(), {0, 1, 2, 3, 4, 5, 6, 7});
  EXPECT_EQ(learned.turns, turns);
  EXPECT_EQ(learned.turns.size(), static_cast<std::size_t>(learning_on_cpu.most_turns()));
}

TEST(Learning, WhoIsFarBehindHasNoOtherTurn) {
  const Plan plan = plan_of({1, 1, 1});
  EXPECT_EQ(learn(plan, {Times(3, 1), {1.4}, {1.25, 1, 1}}).turns, (Turns{0, 1, 2, 0, 2, 0, 2}));
  // The first call pays for what is made once: its candidate gets another one, whoever is ahead.
  EXPECT_EQ(learn(plan, {{9, 1, 1}, Times(3, 1), {1.4}}).turns, (Turns{0, 1, 2, 0, 1, 0, 1}));
  EXPECT_EQ(learn(plan, {{1}, {2}, {3}}).turns, (Turns{0, 1, 2})) << "all is known";
}

TEST(Learning, WhoIsClearlyFasterWins) {
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
  EXPECT_EQ(winner({{1}, {2}, {3}}), 0U);
  // The best of three turns counts.
  EXPECT_EQ(winner({{3, 2, 1}, Times(3, 1.2), Times(3, 1.25)}), 0U);
  EXPECT_EQ(winner({Times(3, 1), {1.2, 1.2, 0.8}, Times(3, 1.25)}), 1U);
}

TEST(Learning, SaysWhoTookPart) {
  const Plan plan = plan_of({1, 1.5, 2});
  const Learned learned = learn(plan, {Times(3, 2), Times(3, 1), {3}});
  const auto name = [&](std::size_t i) { return std::string(plan.candidates[i].row->name); };
  const std::string who = name(0) + " 2.00, " + name(1) + " 1.00, " + name(2) + " 3.00";
  EXPECT_EQ(learned.plan->race, who + " times the fastest one's time, in 7 turns");
  EXPECT_NE(explain(*learned.plan).find("\nlearned     " + who), std::string::npos);
  EXPECT_NE(why(*learned.plan).find("the fastest in its first calls"), std::string::npos);
  const std::string json = to_json(*learned.plan);
  EXPECT_NE(json.find("\"choice\": \"learned\""), std::string::npos);
  EXPECT_NE(json.find("\"learned\": \"" + who), std::string::npos);
}

TEST(Learning, LeavesAloneWhatIsNotWorthIt) {
  EXPECT_NE(Learning::of(plan_of({1, 1}), {}), nullptr);
  EXPECT_EQ(Learning::of(plan_of({1}), {}), nullptr) << "there is no other";
  EXPECT_EQ(Learning::of(plan_of({1, 2.1}), {}), nullptr) << "no other comes near";
  EXPECT_NE(Learning::of(plan_of({1, 1}, turned(64, 64)), {}), nullptr);
  EXPECT_EQ(Learning::of(plan_of({1, 1}, turned(64, 63)), {}), nullptr) << "too small";
  for (const Choice choice :
       {Choice::forced, Choice::measured, Choice::remembered, Choice::learned}) {
    Plan plan = plan_of({1, 1});
    plan.choice = choice;
    EXPECT_EQ(Learning::of(plan, {}), nullptr);
  }
}

// The winner of a race goes first, and kernels that were far behind in it have no turn.
TEST(Learning, GoesOnAfterARace) {
  Plan plan = plan_of({1, 1, 1, 1, 1}, scrambled());
  plan.choose(plan.candidates[2], Choice::raced);
  const auto kernel = [&](std::size_t i) { return plan.candidates[i].row; };
  Turns others, turns;
  for (std::size_t i = 0; i < 5; ++i) {
    if (i != 2 && (kernel(i) == kernel(2) || kernel(i) == kernel(4))) others.push_back(i);
  }
  ASSERT_FALSE(others.empty());
  ASSERT_LT(others.size(), 4U) << "all kernels are close: choose another problem";
  const auto learning = learning_of(plan, {kernel(2), kernel(4)});
  const TimedRun run = [&](const Plan& trial) {
    turns.push_back(number_of(trial, plan));
    return turns.back() == others.back() ? 0.5 : 1.0;
  };
  std::shared_ptr<const Plan> learned;
  for (int call = 0; call < 20 && learned == nullptr; ++call) learned = learning->solve(plan, run);
  ASSERT_NE(learned, nullptr);
  turns.resize(others.size() + 1);
  EXPECT_EQ(turns[0], 2U);
  EXPECT_EQ(Turns(turns.begin() + 1, turns.end()), others);
  EXPECT_EQ(number_of(*learned, plan), others.back());
  const Plan two = plan_of({1, 1});
  const Row* const second = two.candidates[1].row;
  const Row* const other = second == kernel(2) ? kernel(4) : kernel(2);
  ASSERT_NE(second, other) << "choose another problem";
  EXPECT_NE(Learning::of(two, {}, {second}), nullptr);
  EXPECT_EQ(Learning::of(two, {}, {other}), nullptr);
}

// Candidates are sure to have the same result where nothing but the elements decides.
TEST(Learning, LeavesAloneWhatDependsOnMoreThanTheElements) {
  Epilogue scaled;
  scaled.alpha = 2;
  EXPECT_TRUE(turned(256, 256, scaled).is_local());
  Epilogue at_random = scaled;
  at_random.rounding = Rounding::stochastic;
  EXPECT_FALSE(turned(256, 256, at_random).is_local());
  const float vector[256] = {};
  Epilogue rows = scaled;
  rows.bias = vector;
  EXPECT_FALSE(turned(256, 256, rows).is_local());
  Problem reduction = turned(256, 256);
  reduction.reduces = true;
  EXPECT_FALSE(reduction.is_local());
  Plan plan = plan_of({1, 1});
  plan.problem = turned(256, 256, rows);
  EXPECT_EQ(Learning::of(plan, {}), nullptr);
}

// Then the model's candidate does the job, and who has failed is no winner.
TEST(Learning, ATurnThatFailsFailsNoCall) {
  const Plan plan = plan_of({1, 1, 1});
  const auto learning = learning_of(plan);
  Turns turns;
  const TimedRun run = [&](const Plan& trial) {
    turns.push_back(number_of(trial, plan));
    if (turns.back() == 2) throw Error(Status::out_of_memory, "no scratch memory");
    return turns.back() == 1 ? 0.1 : 1.0;
  };
  for (int call = 0; call < 6; ++call) EXPECT_EQ(learning->solve(plan, run), nullptr);
  const auto learned = learning->solve(plan, run);
  EXPECT_EQ(turns, (Turns{0, 1, 2, 0, 0, 1, 0, 1})) << "the third call ran two";
  ASSERT_NE(learned, nullptr);
  EXPECT_EQ(number_of(*learned, plan), 1U);
  EXPECT_EQ(learning->solve(plan, run), nullptr) << "told once";
}

// What it took before it failed does not count.
TEST(Learning, WhoFailsLaterIsNoWinner) {
  const Plan plan = plan_of({1, 1, 1});
  const auto learning = learning_of(plan);
  int turns_of_second = 0;
  const TimedRun run = [&](const Plan& trial) {
    const std::size_t i = number_of(trial, plan);
    if (i == 1 && ++turns_of_second == 2) throw Error(Status::out_of_memory, "no scratch memory");
    return i == 1 ? 0.8 : i == 2 ? 0.9 : 1.0;
  };
  std::shared_ptr<const Plan> learned;
  for (int call = 0; call < 10 && learned == nullptr; ++call) learned = learning->solve(plan, run);
  ASSERT_NE(learned, nullptr);
  EXPECT_EQ(turns_of_second, 2);
  EXPECT_EQ(number_of(*learned, plan), 2U);
}

// What may have been added to the destination must not be added again. The next call tells.
TEST(Learning, ATurnThatFailsIsNotRepeatedWhereItAdds) {
  Epilogue adds;
  adds.beta = 1;
  const Plan plan = plan_of({1, 1}, turned(1033, 517, adds));
  const auto learning = learning_of(plan);
  ASSERT_NE(learning, nullptr);
  Turns turns;
  const TimedRun run = [&](const Plan& trial) {
    turns.push_back(number_of(trial, plan));
    if (turns.back() == 1) throw Error(Status::out_of_memory, "no scratch memory");
    return 1.0;
  };
  EXPECT_EQ(learning->solve(plan, run), nullptr);
  EXPECT_THROW(learning->solve(plan, run), Error);
  const auto learned = learning->solve(plan, run);
  EXPECT_EQ(turns, (Turns{0, 1, 0}));
  ASSERT_NE(learned, nullptr);
  EXPECT_EQ(number_of(*learned, plan), 0U);
}

// A thread calls while another one has its turn, and does not wait for it.
TEST(Learning, CallsDuringATurnUseThePlanAsItIs) {
  const Plan plan = plan_of({1, 1});
  const auto learning = learning_of(plan);
  const auto is = [](double seconds) { return [=](const Plan&) { return seconds; }; };
  learning->solve(plan, is(1));
  Turns meanwhile;
  learning->solve(plan, [&](const Plan& trial) {
    EXPECT_EQ(number_of(trial, plan), 1U);
    std::thread([&] {
      for (int i = 0; i < 20; ++i) {
        EXPECT_EQ(learning->solve(plan,
                                  [&](const Plan& other) {
                                    meanwhile.push_back(number_of(other, plan));
                                    return 1e-9;  // and tell nothing
                                  }),
                  nullptr);
      }
    }).join();
    return 0.5;
  });
  EXPECT_EQ(meanwhile, Turns(20, 0));
  for (const double seconds : {1.0, 0.5, 1.0}) learning->solve(plan, is(seconds));
  const auto learned = learning->solve(plan, is(0.5));
  ASSERT_NE(learned, nullptr);
  EXPECT_EQ(number_of(*learned, plan), 1U);
  EXPECT_EQ(learned->race.find(std::string(plan.candidates[0].row->name) + " 2.00"), 0U);
}

TEST(Learning, ManyThreadsLearnOnce) {
  for (int repetition = 0; repetition < 50; ++repetition) {
    const Plan plan = plan_of({1, 1, 1, 1});
    const auto learning = learning_of(plan);
    std::atomic<int> winners = 0, others = 0, wrong = 0;
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&] {
        while (!learning->ended()) {
          const auto learned = learning->solve(plan, [&](const Plan& trial) {
            const std::size_t i = number_of(trial, plan);
            others += static_cast<int>(i > 0);
            return i == 2 ? 0.5 : 1.0;
          });
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
    EXPECT_LE(others, learning_on_cpu.most_turns() - 1);
  }
}

// A GPU's calls return before their runs end: those of all entrants are begun at once.
class OnGpu {
 public:
  explicit OnGpu(const std::vector<double>& predicted, const Problem& problem = turned(1033, 517))
      : plan_(plan_of(predicted, problem, gpu::known_devices().front())),
        learning_(Learning::of(plan_, {})) {}

  bool learns() const { return learning_ != nullptr; }

  // The candidate that ran, and whether it was timed.
  std::pair<std::size_t, bool> call() {
    std::pair<std::size_t, bool> ran;
    const auto run = [&](const Plan& one, bool timed) { ran = {number_of(one, plan_), timed}; };
    learned_ =
        learning_->solve(plan_, Solver{[&](const Plan& one) { run(one, false); },
                                       [&](const Plan& one) -> Timing {
                                         run(one, true);
                                         begun_.emplace_back();
                                         return [this, i = begun_.size() - 1] { return begun_[i]; };
                                       }});
    return ran;
  }

  // The candidates of so many calls, all of which were timed.
  Turns turns(int calls) {
    Turns all;
    for (int i = 0; i < calls; ++i) {
      const auto [candidate, timed] = call();
      EXPECT_TRUE(timed) << i;
      all.push_back(candidate);
    }
    return all;
  }

  // The oldest runs end.
  void end(const std::vector<double>& seconds) {
    for (const double s : seconds) begun_.at(ended_++) = s;
  }

  const Plan* learned() const { return learned_.get(); }
  std::size_t winner() const { return number_of(*learned_, plan_); }

 private:
  Plan plan_;
  std::shared_ptr<Learning> learning_;
  std::vector<std::optional<double>> begun_;
  std::size_t ended_ = 0;
  std::shared_ptr<const Plan> learned_;
};

using Ran = std::pair<std::size_t, bool>;

TEST(LearningOnGpu, TurnsOfARoundAreBegunBeforeAnyHasEnded) {
  OnGpu gpu({1, 1.2, 1.4, 1.6});
  EXPECT_EQ(gpu.turns(3), (Turns{0, 1, 2}));
  EXPECT_EQ(gpu.call(), (Ran{0, false})) << "nobody's turn before all have ended";
  gpu.end({1, 0.9});
  EXPECT_EQ(gpu.call(), (Ran{0, false}));
  gpu.end({1.05});
  EXPECT_EQ(gpu.call(), (Ran{0, false})) << "this call sees it end";
  EXPECT_EQ(gpu.turns(2), (Turns{0, 1})) << "a new round";
}

TEST(LearningOnGpu, TheWinnerIsKnownWhenTheLastTurnHasEnded) {
  OnGpu gpu({1, 1.2});
  for (int round = 0; round < learning_on_gpu.rounds; ++round) {
    EXPECT_EQ(gpu.turns(2), (Turns{0, 1})) << round;
    EXPECT_EQ(gpu.learned(), nullptr);
    gpu.end({1, 0.97});
    EXPECT_EQ(gpu.call(), (Ran{0, false}));
  }
  ASSERT_NE(gpu.learned(), nullptr);
  EXPECT_EQ(gpu.winner(), 1U);
  EXPECT_EQ(gpu.learned()->choice, Choice::learned);
  gpu.call();
  EXPECT_EQ(gpu.learned(), nullptr) << "told once";
}

TEST(LearningOnGpu, WhoIsDisturbedHasAnotherTurn) {
  OnGpu gpu({1, 1.2, 1.2});
  const auto round = [&](const Turns& turns, const std::vector<double>& seconds) {
    EXPECT_EQ(gpu.turns(static_cast<int>(turns.size())), turns);
    gpu.end(seconds);
    gpu.call();
  };
  round({0, 1, 2}, {1, HUGE_VAL, 1.2});
  for (int i = 1; i < learning_on_gpu.rounds; ++i) {
    ASSERT_EQ(gpu.learned(), nullptr);
    round({0, 1}, {1, 0.5});
  }
  ASSERT_NE(gpu.learned(), nullptr);
  EXPECT_EQ(gpu.winner(), 1U);
}

std::vector<std::vector<double>> same(double first, double second) {
  return std::vector(static_cast<std::size_t>(learning_on_gpu.rounds), std::vector{first, second});
}

// Of two candidates.
void all_rounds(OnGpu& gpu, const std::vector<std::vector<double>>& seconds) {
  ASSERT_EQ(seconds.size(), static_cast<std::size_t>(learning_on_gpu.rounds));
  for (const auto& round : seconds) {
    EXPECT_EQ(gpu.turns(2), (Turns{0, 1}));
    gpu.end(round);
    gpu.call();
  }
}

// Nobody is known to be faster than it.
TEST(LearningOnGpu, WhatIsPreferredStaysWhereItCouldNotBeTimed) {
  OnGpu gpu({1, 1.2});
  all_rounds(gpu, same(HUGE_VAL, 0.5));
  ASSERT_NE(gpu.learned(), nullptr);
  EXPECT_EQ(gpu.winner(), 0U);
}

TEST(LearningOnGpu, ThePlanStaysAsItIsWhereNoTurnCouldBeTimed) {
  OnGpu gpu({1, 1.2});
  all_rounds(gpu, same(HUGE_VAL, HUGE_VAL));
  ASSERT_NE(gpu.learned(), nullptr);
  EXPECT_EQ(gpu.learned()->choice, Choice::estimated);
  EXPECT_EQ(gpu.learned()->learning, nullptr);
  EXPECT_EQ(gpu.learned()->race, "");
}

// One lucky turn makes no winner.
TEST(LearningOnGpu, TheMedianOfItsTurnsCounts) {
  OnGpu gpu({1, 1.2});
  all_rounds(gpu, {{1, 1.1}, {1, 0.5}, {1, 1.1}, {0.9, 1.1}, {1, 1.1}});
  ASSERT_NE(gpu.learned(), nullptr);
  EXPECT_EQ(gpu.winner(), 0U);
}

TEST(LearningOnGpu, LeavesAloneWhatIsSmall) {
  EXPECT_TRUE(OnGpu({1, 1}, turned(512, 512)).learns());
  EXPECT_FALSE(OnGpu({1, 1}, turned(512, 511)).learns());
  EXPECT_FALSE(OnGpu({1, 1.6}).learns()) << "no other comes near";
}

TEST(LearningOnGpu, SoManyHaveATurnAtMostAndAreToldApart) {
  const std::size_t most = learning_on_gpu.entrants;
  OnGpu gpu(std::vector<double>(most + 1, 1), scrambled());
  Turns all;
  for (std::size_t i = 0; i < most; ++i) all.push_back(i);
  EXPECT_EQ(gpu.turns(static_cast<int>(most)), all);
  EXPECT_EQ(gpu.call(), (Ran{0, false}));
  std::vector<double> seconds(most, 2);
  seconds[0] = 1;
  gpu.end(seconds);
  gpu.call();
  ASSERT_NE(gpu.learned(), nullptr);
  EXPECT_EQ(gpu.winner(), 0U);
  // Several are of one family.
  EXPECT_NE(gpu.learned()->race.find(" B) 2.00"), std::string::npos) << gpu.learned()->race;
}

}  // namespace
}  // namespace cornerturn::plan
