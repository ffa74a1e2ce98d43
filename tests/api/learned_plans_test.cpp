// The plans that calls find while they learn, and afterwards.
#include <gtest/gtest.h>

#include <memory>
#include <thread>
#include <vector>

#include "api/known_plans.hpp"
#include "cornerturn/cornerturn.hpp"
#include "plan/learning.hpp"

namespace cornerturn {
namespace {

// A matrix of bytes that is turned over, as calls do it.
class Calls {
 public:
  explicit Calls(std::int64_t rows = 1031, std::int64_t columns = 1033)
      : rows_(rows),
        columns_(columns),
        src_(static_cast<std::size_t>(rows * columns)),
        dst_(src_.size() + 64) {}

  // `place`: where the destination begins.
  std::shared_ptr<const plan::Plan> call(Effort effort = Effort::automatic, int place = 0) {
    const ConstView src =
        ConstView(src_.data(), ElementType::bytes(1), {rows_, columns_}).permuted({1, 0});
    const View dst(dst_.data() + place, src.type, src.shape);
    const FoundPlan found = find_plan(dst, src, {}, {.threads = 1, .effort = effort}, {});
    run_and_learn(found.plan, {dst.data, src.data, {}}, nullptr);
    return found.plan;
  }

  // The last of so many.
  std::shared_ptr<const plan::Plan> calls(int count) {
    std::shared_ptr<const plan::Plan> plan;
    for (int i = 0; i < count; ++i) plan = call();
    return plan;
  }

 private:
  std::int64_t rows_, columns_;
  std::vector<char> src_, dst_;
};

TEST(LearnedPlans, AreThoseOfTheCallsThatFollow) {
  forget_plans();
  Calls calls;
  const auto first = calls.call();
  ASSERT_NE(first->learning, nullptr) << "choose another problem";
  EXPECT_EQ(first->choice, plan::Choice::estimated);
  const auto learned = calls.calls(plan::calls_to_learn(*first));
  EXPECT_EQ(learned->choice, plan::Choice::learned);
  EXPECT_EQ(learned->learning, nullptr);
  EXPECT_EQ(calls.call(), learned);
  forget_plans();
}

TEST(LearnedPlans, AreNotThoseOfEstimatesBeforeAllIsKnown) {
  forget_plans();
  Calls calls;
  const auto first = calls.call();
  ASSERT_NE(first->learning, nullptr);
  EXPECT_EQ(calls.call(Effort::estimate)->learning, nullptr);
  calls.calls(plan::calls_to_learn(*first));
  EXPECT_EQ(calls.call(Effort::estimate)->choice, plan::Choice::learned);
  forget_plans();
}

// A race tells no small differences: calls go on to learn, and estimates use its winner meanwhile.
TEST(LearnedPlans, ThatBeganWithARace) {
  forget_plans();
  Calls calls(575029, 31);  // for which two kernels take about as long
  const auto first = calls.call();
  ASSERT_EQ(first->choice, plan::Choice::raced) << "choose another problem";
  const auto estimate = calls.call(Effort::estimate);
  EXPECT_EQ(estimate->choice, plan::Choice::raced);
  EXPECT_EQ(estimate->chosen, first->chosen);
  EXPECT_EQ(estimate->learning, nullptr);
  const auto elsewhere = calls.call(Effort::automatic, 1);
  EXPECT_EQ(elsewhere->choice, plan::Choice::remembered);
  EXPECT_EQ(elsewhere->chosen.row, first->chosen.row);
  if (first->learning == nullptr) GTEST_SKIP() << "on this machine one candidate was far ahead";
  const auto learned = calls.calls(plan::calls_to_learn(*first));
  EXPECT_EQ(learned->choice, plan::Choice::learned);
  EXPECT_EQ(calls.call(Effort::estimate), learned);
  forget_plans();
}

// A thread that has called before does not stay with what it used then.
TEST(LearnedPlans, AreThoseOfOtherThreadsAsWell) {
  forget_plans();
  Calls calls;
  const auto first = calls.call();
  ASSERT_NE(first->learning, nullptr);
  std::shared_ptr<const plan::Plan> theirs;
  std::thread([&] { theirs = calls.calls(plan::calls_to_learn(*first)); }).join();
  EXPECT_EQ(theirs->choice, plan::Choice::learned);
  EXPECT_EQ(calls.call(), theirs);
  forget_plans();
}

}  // namespace
}  // namespace cornerturn
