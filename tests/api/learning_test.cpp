// What calls learn: every call solves the problem, and later ones use what was found.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "cornerturn/cornerturn.hpp"
#include "plan/learning.hpp"

namespace cornerturn {
namespace {

constexpr std::int64_t rows = 515, columns = 517;
const ElementType ints(Kind::i32);
const Options one_thread{.threads = 1};

// A transposition of a matrix, which several kernels take, to where a cache line begins: plans
// depend on that.
class Transposed {
 public:
  explicit Transposed(std::int64_t m = rows, std::int64_t n = columns)
      : shape_{n, m}, src_(static_cast<std::size_t>(m * n)), memory_(src_.size() + 16) {
    std::iota(src_.begin(), src_.end(), 0);
    while (reinterpret_cast<std::uintptr_t>(dst_ = memory_.data() + offset_) % 64 != 0) ++offset_;
  }

  bool solved_by(const Options& options) {
    std::fill(memory_.begin(), memory_.end(), -1);
    copy(to(), from(), options);
    const int* at = dst_;
    for (std::int64_t j = 0; j < shape_[0]; ++j) {
      for (std::int64_t i = 0; i < shape_[1]; ++i) {
        if (*at++ != i * shape_[0] + j) return false;
      }
    }
    return true;
  }

  Plan plan(const Options& options = one_thread) { return make_plan(to(), from(), options); }

  std::string choice(const Options& options = one_thread) {
    return nlohmann::json::parse(plan(options).to_json()).at("choice");
  }

 private:
  ConstView from() const {
    return ConstView(src_.data(), ints, {shape_[1], shape_[0]}).permuted({1, 0});
  }
  View to() { return {dst_, ints, shape_}; }

  Extents shape_;
  std::vector<int> src_, memory_;
  std::size_t offset_ = 0;
  int* dst_ = nullptr;
};

constexpr int enough_calls = 70;  // 32 before the turns, 24 turns, and some

class LearningCalls : public testing::Test {
  const plan::UnpaidTurns unpaid_;
};

// What calls learn of a matrix; where the model expects no other candidate to be near, that is
// nothing.
std::string learned_of(Transposed& transposed) {
  const auto plan = nlohmann::json::parse(transposed.plan().to_json());
  const auto& candidates = plan.at("candidates");
  const bool any = candidates.size() > 1 &&
                   candidates[1].at("predicted_ns") <= 2.0 * plan.at("predicted_ns").get<double>();
  return any ? "learned" : "estimated";
}

TEST_F(LearningCalls, EveryCallSolvesTheProblemUntilTheWinnerIsKnown) {
  forget_plans();
  Transposed transposed;
  const std::string learned = learned_of(transposed);
  ASSERT_TRUE(transposed.solved_by(one_thread));
  EXPECT_EQ(transposed.choice(), "estimated") << "one call has learned nothing";
  for (int call = 1; call < enough_calls; ++call)
    ASSERT_TRUE(transposed.solved_by(one_thread)) << call;
  EXPECT_EQ(transposed.choice(), learned);
  const std::string told = transposed.plan().explain();
  EXPECT_EQ(told.find("times the fastest one's time, in ") != std::string::npos,
            learned == "learned")
      << told;
  ASSERT_TRUE(transposed.solved_by(one_thread));
  forget_plans();
  EXPECT_EQ(transposed.choice(), "estimated");
}

TEST_F(LearningCalls, LeavesAloneWhatWasNotLeftToIt) {
  forget_plans();
  Transposed transposed, small(64, 63);
  Options estimate = one_thread, forced = one_thread;
  estimate.effort = Effort::estimate;
  forced.kernel = "gather";
  for (int call = 0; call < enough_calls; ++call) {
    ASSERT_TRUE(transposed.solved_by(estimate));
    ASSERT_TRUE(transposed.solved_by(forced));
    ASSERT_TRUE(small.solved_by(one_thread));
  }
  EXPECT_EQ(transposed.choice(), "estimated");
  EXPECT_EQ(transposed.choice(forced), "forced");
  EXPECT_EQ(small.choice(), "estimated");
  forget_plans();
}

// Plans that were forgotten while calls learned of them stay forgotten.
TEST_F(LearningCalls, BeginsAnewWhenPlansAreForgotten) {
  forget_plans();
  Transposed transposed;
  const std::string learned = learned_of(transposed);
  for (int call = 0; call < 2; ++call) ASSERT_TRUE(transposed.solved_by(one_thread));
  forget_plans();
  ASSERT_TRUE(transposed.solved_by(one_thread));
  EXPECT_EQ(transposed.choice(), "estimated");
  for (int call = 1; call < enough_calls; ++call) ASSERT_TRUE(transposed.solved_by(one_thread));
  EXPECT_EQ(transposed.choice(), learned);
  forget_plans();
}

// What was measured meanwhile is known better.
TEST_F(LearningCalls, DoesNotTakeThePlaceOfWhatWasMeasured) {
  forget_plans();
  Transposed transposed;
  Options measure = one_thread;
  measure.effort = Effort::measure;
  ASSERT_TRUE(transposed.solved_by(one_thread));
  std::atomic<bool> solved = true;
  std::thread([&] { solved = transposed.solved_by(measure); }).join();
  EXPECT_TRUE(solved);
  for (int call = 0; call < enough_calls; ++call) ASSERT_TRUE(transposed.solved_by(one_thread));
  EXPECT_EQ(transposed.choice(), "measured");
  forget_plans();
}

// And what was learned does not take the place of a measurement that is asked for later.
TEST_F(LearningCalls, DoesNotAnswerWhoAsksForAMeasurement) {
  forget_plans();
  Transposed transposed;
  const std::string learned = learned_of(transposed);
  for (int call = 0; call < enough_calls; ++call) ASSERT_TRUE(transposed.solved_by(one_thread));
  ASSERT_EQ(transposed.choice(), learned);
  Options measure = one_thread;
  measure.effort = Effort::measure;
  ASSERT_TRUE(transposed.solved_by(measure));
  EXPECT_EQ(transposed.choice(measure), "measured");
  EXPECT_EQ(transposed.choice(), "measured");
  forget_plans();
}

TEST_F(LearningCalls, AddsToTheDestinationOnce) {
  forget_plans();
  const std::vector<float> src(static_cast<std::size_t>(rows * columns), 3.0F);
  std::vector<float> dst(src.size(), 1.0F);
  Epilogue epilogue;
  epilogue.beta = 1;
  const ConstView from =
      ConstView(src.data(), ElementType(Kind::f32), {rows, columns}).permuted({1, 0});
  for (int call = 1; call <= enough_calls; ++call) {
    copy(View(dst.data(), from.type, from.shape), from, epilogue, one_thread);
    for (const float value : dst) ASSERT_EQ(value, 1.0F + 3.0F * static_cast<float>(call));
  }
  forget_plans();
}

TEST_F(LearningCalls, ThreadsLearnTogether) {
  forget_plans();
  Transposed first;
  const std::string learned = learned_of(first);
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      Transposed transposed;
      for (int call = 0; call < enough_calls; ++call) {
        wrong += static_cast<int>(!transposed.solved_by(one_thread));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  // Those of other threads' calls that came during a turn had none.
  for (int call = 0; call < enough_calls; ++call) ASSERT_TRUE(first.solved_by(one_thread));
  EXPECT_EQ(first.choice(), learned);
  forget_plans();
}

}  // namespace
}  // namespace cornerturn
