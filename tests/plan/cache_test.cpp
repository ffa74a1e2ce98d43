#include "plan/cache.hpp"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "support/random_problem.hpp"

namespace cornerturn::plan {
namespace {

TEST(PlanCache, FindsWhatWasPutIn) {
  PlanCache cache;
  test::RandomProblems random(5);
  std::vector<CacheKey> keys;
  for (int i = 0; i < 200; ++i) {
    CacheKey key{random.next(),
                 {1 + i % 3, i % 2 ? "gather" : ""},
                 -1,
                 i % 5 == 0 ? Effort::measure : Effort::estimate};
    auto plan = std::make_shared<Plan>(make_plan(key.problem, CpuInfo{}, key.request));
    cache.insert(key, plan);
    keys.push_back(key);
  }
  for (const CacheKey& key : keys) {
    const auto found = cache.find(key);
    ASSERT_NE(found, nullptr);
    EXPECT_EQ(found->problem, key.problem);
    CacheKey other = key;
    other.request.threads += 100;
    EXPECT_EQ(cache.find(other), nullptr);
    other = key;
    other.problem.modes.push_back({2, 1 << 20, 1 << 20});
    EXPECT_EQ(cache.find(other), nullptr);
  }
  cache.clear();
  EXPECT_EQ(cache.find(keys.front()), nullptr);
}

TEST(PlanCache, KeepsWhatItHasWhereAnotherThreadWasFirst) {
  PlanCache cache;
  CacheKey key;
  key.problem.modes = {{2, 1, 1}};
  const auto first = std::make_shared<Plan>(), second = std::make_shared<Plan>();
  EXPECT_EQ(cache.find_or_insert(key, first), first);
  EXPECT_EQ(cache.find_or_insert(key, second), first);
  EXPECT_EQ(cache.find(key), first);
}

TEST(PlanCache, StaysBoundedAndServesManyThreads) {
  PlanCache cache;
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&cache, &wrong] {
      for (std::int64_t i = 0; i < 3000; ++i) {
        CacheKey key;
        key.problem.modes = {{i + 2, 1, 1}};
        auto plan = std::make_shared<Plan>();
        plan->problem = key.problem;
        cache.insert(key, plan);
        const auto found = cache.find(key);
        if (found != nullptr && !(found->problem == key.problem)) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace cornerturn::plan
