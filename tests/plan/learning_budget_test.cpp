// What learning costs: whatever candidates take, little of what a problem's calls take without it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <random>
#include <vector>

#include "learning_support.hpp"
#include "plan/gpu/device_files.hpp"
#include "plan/learning.hpp"

namespace cornerturn::plan {
namespace {

using namespace of_learning;

const Machine& some_gpu() {
  static const Machine machine = gpu::known_devices().front();
  return machine;
}

// What a problem's calls take in a world where every candidate takes the same time again and again.
// Its clock stands still but for runs, for what timing one takes beside it, and for 100 us or the
// loading of a kernel between two looks at it.
class World {
 public:
  explicit World(const Plan& plan) : plan_(plan), candidates_(candidates_of(plan)) {
    now = 0;
    looks = 0;
    for (const Candidate& one : candidates_) seconds.push_back(one.seconds());
    loaded.assign(candidates_.size(), true);
    plan_.learning = Learning::of(plan_, {});
    own = number_of(plan_);
  }

  // What it returned.
  std::shared_ptr<const Plan> call() {
    const auto learned = of_learning::call(*plan_.learning, plan_, solver());
    ++calls;
    if (learned != nullptr) told = learned;
    return learned;
  }

  // So often, or until all is known. Whether it is.
  bool call_until_learned(int most) {
    while (told == nullptr || told->learning != nullptr) {
      if (most-- == 0) return false;
      call();
    }
    return true;
  }

  std::size_t number_of(const Plan& trial) const {
    std::size_t i = 0;
    while (i < candidates_.size() && !(candidates_[i] == trial.chosen)) ++i;
    return i;
  }

  double total() const { return now; }
  double without_learning() const { return calls * seconds[own]; }
  bool has_looked_at_clock() const { return looks > 0; }
  const Plan& plan() const { return plan_; }
  const Candidates& candidates() const { return candidates_; }

  std::vector<double> seconds;
  std::vector<char> loaded;
  std::size_t own = 0;
  int calls = 0;
  std::vector<std::size_t> ran, timed;
  std::shared_ptr<const Plan> told;
  static constexpr double load_seconds = 30e-3;

 private:
  Solver solver() {
    const auto run = [this](const Plan& one) {
      const std::size_t i = number_of(one);
      ran.push_back(i);
      if (loaded.at(i) == 0) now += load_seconds;
      loaded.at(i) = 1;
      now += seconds.at(i);
      return seconds.at(i);
    };
    return {run,
            [this, run](const Plan& one) -> Timing {
              const bool was_loaded = loaded.at(number_of(one)) != 0;
              timed.push_back(number_of(one));
              now += rules().timing_seconds;
              const double took = run(one);
              return [took, was_loaded] { return std::optional(was_loaded ? took : HUGE_VAL); };
            },
            [this](const Plan& one) { return loaded.at(number_of(one)) != 0; },
            [] {
              const double then = now;
              if (looks++ % 2 == 0) now += 100e-6;
              return then;
            }};
  }
  const LearningRules& rules() const {
    return plan_.machine.gpu() != nullptr ? learning_on_gpu : learning_on_cpu;
  }

  static inline double now = 0;
  static inline int looks = 0;
  Plan plan_;
  Candidates candidates_;
};

// As the first call makes it on a GPU: without other candidates.
Plan quick(std::int64_t side) {
  return make_quick_plan(transposed_matrix(side, side), some_gpu(), {});
}

// So far behind was whoever was tried.
double worst_beyond_own(const World& world) {
  const double own = world.seconds[world.own];
  return std::max(0.0, *std::max_element(world.seconds.begin(), world.seconds.end()) - own);
}

double random_factor(std::mt19937_64& random, double least, double most) {
  return std::uniform_real_distribution<double>(least, most)(random);
}

// Calls that learn, one after the other: at each of them the bounds hold.
void expect_within_budget(World& world, int calls) {
  const double foreseen = 0.02, beside = 200e-6, overshoot = worst_beyond_own(world) + beside;
  for (int call = 1; call <= calls; ++call) {
    world.call();
    const double without = world.without_learning();
    ASSERT_LE(world.total(), (1 + foreseen) * without + overshoot) << "call " << call;
    ASSERT_LE(world.total(), 1.15 * without) << "call " << call;
    if (call == 10) {
      ASSERT_LE(world.total(), 1.02 * without);
    }
  }
}

// The winner is as fast as the fastest of those that are expected to be near, or nearly so.
void expect_good_winner(const World& world, const LearningRules& rules) {
  ASSERT_NE(world.told, nullptr);
  double fastest = world.seconds[world.own];
  std::size_t entrants = 1;
  for (std::size_t i = 0; i < world.candidates().size() && entrants < rules.entrants; ++i) {
    const double most = rules.worth_a_turn * world.candidates().front().seconds();
    if (i == world.own || world.candidates()[i].seconds() > most) continue;
    fastest = std::min(fastest, world.seconds[i]);
    ++entrants;
  }
  const double won = world.seconds.at(world.number_of(*world.told));
  EXPECT_LE(won, fastest / rules.clearly_faster * (1 + 1e-9));
}

TEST(LearningBudget, HoldsOnACpuWhateverCandidatesTake) {
  std::mt19937_64 random(1);
  for (int repetition = 0; repetition < 100; ++repetition) {
    std::vector<double> predicted{1};
    while (predicted.size() < 8) predicted.push_back(random_factor(random, 1, 2));
    std::sort(predicted.begin(), predicted.end());
    World world(plan_of(predicted, scrambled()));
    for (double& seconds : world.seconds) seconds = 1e-3 * random_factor(random, 1, 3);
    expect_within_budget(world, 1000);
    ASSERT_TRUE(world.call_until_learned(20'000));
    expect_good_winner(world, learning_on_cpu);
  }
}

TEST(LearningBudget, HoldsOnAGpuWithPlanningAndLoading) {
  std::mt19937_64 random(2);
  for (const std::int64_t side : {1031, 4099, 16381}) {
    for (int repetition = 0; repetition < 5; ++repetition) {
      World world(quick(side));
      for (std::size_t i = 0; i < world.seconds.size(); ++i) {
        world.seconds[i] *= random_factor(random, 0.9, 1.6);
        world.loaded[i] = static_cast<char>(i == world.own || random() % 2 == 0);
      }
      expect_within_budget(world, 1000);
      if (side == 1031) continue;  // a million calls pay for what is loaded
      ASSERT_TRUE(world.call_until_learned(1'000'000));
      expect_good_winner(world, learning_on_gpu);
    }
  }
}

// Planning, timing and loading are for those who call often.
TEST(LearningBudget, WhoCallsLittlePaysForNothing) {
  World world(quick(1031));  // some microseconds
  std::fill(world.loaded.begin(), world.loaded.end(), 0);
  world.loaded[world.own] = 1;
  for (int call = 0; call < 30; ++call) world.call();
  EXPECT_EQ(world.ran, std::vector<std::size_t>(30, world.own));
  EXPECT_EQ(world.timed.size(), 0U);
  EXPECT_NEAR(world.total(), world.without_learning(), 1e-9) << "not a look at the clock";
}

TEST(LearningBudget, OthersAreFoundWhenCallsPayForIt) {
  World world(quick(1031));
  while (!world.has_looked_at_clock()) world.call();
  EXPECT_GE(world.without_learning(), 100e-6 / LearningBudget().share);
  EXPECT_LE(world.without_learning(), 300e-6 / LearningBudget().share);
}

TEST(LearningBudget, LoadedKernelsHaveTurnsBeforeOthers) {
  World world(quick(8192));
  const std::size_t candidates = world.seconds.size();
  ASSERT_GT(candidates, 4U);
  for (std::size_t i = 0; i < candidates; ++i) world.loaded[i] = static_cast<char>(i % 2 == 0);
  world.loaded[world.own] = 1;
  const std::vector<char> before = world.loaded;
  while (world.told == nullptr) world.call();
  // What can be had soon is known, and used by those who ask for the plan from now on.
  EXPECT_NE(world.told->learning, nullptr) << "others wait";
  EXPECT_EQ(world.told->choice, Choice::learned);
  EXPECT_EQ(world.loaded, before);
  EXPECT_LT(world.total(), World::load_seconds / LearningBudget().share);
  ASSERT_TRUE(world.call_until_learned(1'000'000));
  EXPECT_NE(world.loaded, before);
}

// By other problems, for instance.
TEST(LearningBudget, AKernelThatIsLoadedMeanwhileHasItsTurnSoon) {
  World world(quick(8192));
  std::fill(world.loaded.begin(), world.loaded.end(), 0);
  world.loaded[world.own] = 1;
  for (int call = 0; call < 500; ++call) world.call();
  std::fill(world.loaded.begin(), world.loaded.end(), 1);
  ASSERT_TRUE(world.call_until_learned(5000));
  EXPECT_LT(world.total(), World::load_seconds / LearningBudget().share);
}

// A wrong estimate by a factor is mended after few calls.
TEST(LearningBudget, CallsUseTheFastestSoFar) {
  World world(plan_of({1, 1.2}));
  world.seconds = {1e-3, 0.4e-3};
  for (int call = 0; call < 60; ++call) world.call();
  EXPECT_EQ(world.ran.back(), 1U);
  EXPECT_LT(world.total(), 0.9 * world.without_learning());
  EXPECT_EQ(world.plan().chosen, world.candidates()[0]);
}

TEST(LearningBudget, TheLikeliestAreTriedFirst) {
  World world(plan_of({1, 1.3, 1.6, 1.9}, scrambled()));
  world.seconds = {1e-3, 1.4e-3, 1.4e-3, 1.4e-3};
  ASSERT_TRUE(world.call_until_learned(5000));
  EXPECT_EQ(world.timed, (std::vector<std::size_t>{0, 0, 1, 2, 3}));
}

}  // namespace
}  // namespace cornerturn::plan
