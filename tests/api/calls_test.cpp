// Calls that learn and measure: each of them solves the problem, whatever processor this is.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "api/known_plans.hpp"
#include "cornerturn/cornerturn.hpp"
#include "cpu/cpu_info.hpp"
#include "plan/learning.hpp"

namespace cornerturn {
namespace {

// A matrix that calls turn over, and whether all of it is right after each of them.
class Turning {
 public:
  Turning(std::int64_t rows, std::int64_t columns, int width)
      : src_(nullptr, ElementType::bytes(width), {rows, columns}),
        from_(static_cast<std::size_t>(rows * columns * width)),
        to_(from_.size()),
        expected_(from_.size()) {
    for (std::size_t i = 0; i < from_.size(); ++i) {
      from_[i] = static_cast<unsigned char>((i * 2654435761U) >> 15);
    }
    src_ = ConstView(from_.data(), src_.type, src_.shape).permuted({1, 0});
    copy(View(expected_.data(), src_.type, src_.shape), src_, {.threads = 1, .kernel = "gather"});
  }

  std::shared_ptr<const plan::Plan> call(const Options& options) {
    std::fill(to_.begin(), to_.end(), 0);
    const View dst(to_.data(), src_.type, src_.shape);
    const FoundPlan found = find_plan(dst, src_, {}, options, {});
    if (!found.executed) run_and_learn(found.plan, {dst.data, src_.data, {}}, nullptr);
    EXPECT_TRUE(to_ == expected_) << plan::explain(*found.plan);
    return found.plan;
  }

 private:
  ConstView src_;
  std::vector<unsigned char> from_, to_, expected_;
};

// What there is to learn is learned within the calls that the library counts, and used from then
// on; where nothing is, the plan stays.
TEST(EveryCall, LearnWithinTheirNumber) {
  const plan::UnpaidTurns unpaid;
  Turning turning(131, 257, 4);
  for (const int threads : {1, 2, 64}) {
    forget_plans();
    const Options options{.threads = threads};
    const auto first = turning.call(options);
    EXPECT_EQ(first->machine, cpu::machine());
    EXPECT_EQ(first->choice, plan::Choice::estimated);
    const bool learns = first->learning != nullptr;
    for (int call = learns ? plan::calls_to_learn(*first) : 0; call > 0; --call) {
      turning.call(options);
    }
    const auto last = turning.call(options);
    EXPECT_EQ(last->learning, nullptr);
    EXPECT_EQ(last->choice, learns ? plan::Choice::learned : plan::Choice::estimated);
    EXPECT_EQ(turning.call(options), last);
    EXPECT_EQ(turning.call({.threads = options.threads, .effort = Effort::measure})->choice,
              plan::Choice::measured);
  }
  forget_plans();
}

}  // namespace
}  // namespace cornerturn
