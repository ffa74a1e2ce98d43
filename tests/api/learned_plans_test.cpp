// The plans that calls find while they learn, and afterwards.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "api/known_plans.hpp"
#include "core/validate.hpp"
#include "cornerturn/cornerturn.hpp"
#include "cpu/cpu_info.hpp"
#include "plan/learning.hpp"
#include "plan/planner.hpp"

namespace cornerturn {
namespace {

// An array that is permuted, as calls do it, to where a cache line begins: plans depend on that.
class Calls {
 public:
  Calls(int element, const Extents& shape, const std::vector<int>& perm)
      : type_(ElementType::bytes(element)),
        shape_(shape),
        perm_(perm),
        src_(static_cast<std::size_t>(element * shape[0] * shape[1] * shape[2])),
        dst_(src_.size() + 128),
        dst_begins_(-reinterpret_cast<std::uintptr_t>(dst_.data()) % 64) {}

  // `place`: where the destination begins.
  std::shared_ptr<const plan::Plan> call(Effort effort = Effort::automatic, int place = 0) {
    const FoundPlan found = find_plan(to(place), from(), {}, {.threads = 1, .effort = effort}, {});
    run_and_learn(found.plan, {to(place).data, src_.data(), {}}, nullptr);
    return found.plan;
  }

  // The last of so many.
  std::shared_ptr<const plan::Plan> calls(int count) {
    std::shared_ptr<const plan::Plan> plan;
    for (int i = 0; i < count; ++i) plan = call();
    return plan;
  }

  // What the model alone makes of it on this processor.
  plan::Plan planned() {
    return plan::make_plan(make_problem(to(0), from(), {}), cpu::machine(), request);
  }

  static inline const plan::Request request{1, ""};

 private:
  ConstView from() { return ConstView(src_.data(), type_, shape_).permuted(perm_); }
  View to(int place) { return {dst_.data() + dst_begins_ + place, type_, from().shape}; }

  ElementType type_;
  Extents shape_;
  std::vector<int> perm_;
  std::vector<char> src_, dst_;
  std::size_t dst_begins_;
};

// A problem of `least` to `most` bytes that is `right` on the processor that is here: which kernels
// are near each other differs from one to the next.
std::unique_ptr<Calls> find_calls(std::int64_t least, std::int64_t most,
                                  const std::function<bool(const plan::Plan&)>& right) {
  std::mt19937_64 random(1);
  const auto up_to = [&](std::int64_t n) {
    return 1 + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n));
  };
  for (int tried = 0; tried < 300; ++tried) {
    const int element = std::array{1, 2, 3, 4, 8, 12}[random() % 6];
    const std::int64_t bytes = least + up_to(most - least) / up_to(100);
    const std::int64_t a = up_to(300), b = up_to(300), c = bytes / element / a / b + 1;
    std::vector<int> perm{0, 1, 2};
    std::shuffle(perm.begin(), perm.end(), random);
    auto calls = std::make_unique<Calls>(element, Extents{a, c, b}, perm);
    if (right(calls->planned())) return calls;
  }
  ADD_FAILURE() << "none of 300 problems is such a one here";
  return nullptr;
}

std::unique_ptr<Calls> calls_that_learn() {
  return find_calls(32 << 10, 8 << 20, [](const plan::Plan& plan) {
    return plan.choice == plan::Choice::estimated &&
           plan::Learning::of(plan, Calls::request) != nullptr;
  });
}

class LearnedPlans : public testing::Test {
  const plan::UnpaidTurns unpaid_;
};

TEST_F(LearnedPlans, AreThoseOfTheCallsThatFollow) {
  forget_plans();
  const auto calls = calls_that_learn();
  ASSERT_NE(calls, nullptr);
  const auto first = calls->call();
  ASSERT_NE(first->learning, nullptr);
  EXPECT_EQ(first->choice, plan::Choice::estimated);
  const auto learned = calls->calls(plan::calls_to_learn(*first));
  EXPECT_EQ(learned->choice, plan::Choice::learned);
  EXPECT_EQ(learned->learning, nullptr);
  EXPECT_EQ(calls->call(), learned);
  forget_plans();
}

TEST_F(LearnedPlans, AreNotThoseOfEstimatesBeforeAllIsKnown) {
  forget_plans();
  const auto calls = calls_that_learn();
  ASSERT_NE(calls, nullptr);
  const auto first = calls->call();
  ASSERT_NE(first->learning, nullptr);
  EXPECT_EQ(calls->call(Effort::estimate)->learning, nullptr);
  calls->calls(plan::calls_to_learn(*first));
  EXPECT_EQ(calls->call(Effort::estimate)->choice, plan::Choice::learned);
  forget_plans();
}

// A thread that has called before does not stay with what it used then.
TEST_F(LearnedPlans, AreThoseOfOtherThreadsAsWell) {
  forget_plans();
  const auto calls = calls_that_learn();
  ASSERT_NE(calls, nullptr);
  const auto first = calls->call();
  ASSERT_NE(first->learning, nullptr);
  std::shared_ptr<const plan::Plan> theirs;
  std::thread([&] { theirs = calls->calls(plan::calls_to_learn(*first)); }).join();
  EXPECT_EQ(theirs->choice, plan::Choice::learned);
  EXPECT_EQ(calls->call(), theirs);
  forget_plans();
}

}  // namespace
}  // namespace cornerturn
