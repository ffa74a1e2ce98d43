// Calls that come late: from handlers of atexit, from destructors of static and of thread_local
// objects that are older than the library's own, and in children that were forked while other
// threads worked.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include "cornerturn/blocks.hpp"
#include "cornerturn/cornerturn.h"
#include "cornerturn/cornerturn.hpp"

namespace cornerturn {
namespace {

// Everything that keeps something: plans, scratch memory, messages. Different for each `n`.
bool calls_work(std::int64_t n, int threads) {
  const std::int64_t columns = 2 * n + 1;
  const auto count = static_cast<std::size_t>(n * columns);
  std::vector<float> from(count), to(count);
  for (std::size_t i = 0; i < count; ++i) from[i] = static_cast<float>(i % 1000);
  Options options;
  options.threads = threads;
  transpose(to.data(), from.data(), n, columns, options);
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t k = 0; k < columns; k += 5) {
      if (to[static_cast<std::size_t>(k * n + i)] !=
          from[static_cast<std::size_t>(i * columns + k)]) {
        return false;
      }
    }
  }
  std::vector<double> doubles(count);
  transpose(doubles.data(), from.data(), n, columns, Epilogue{}, options);
  if (doubles[1] != from[static_cast<std::size_t>(columns)]) return false;
  if (amax(view(std::as_const(from).data(), {n, columns}), options) != 999) return false;
  const Plan plan = make_plan(view(to.data(), {columns, n}),
                              view(std::as_const(from).data(), {n, columns}).permuted({1, 0}));
  if (plan.explain().empty()) return false;
  return ct_transpose(nullptr, from.data(), n, columns, "f32", nullptr) == CT_INVALID_ARGUMENT &&
         std::strstr(ct_last_error(), "dst = null") != nullptr;
}

// The process ends at once where a call does not work.
void call_late(const char* when) {
  for (std::int64_t n = 70; n > 60; --n) {
    if (!calls_work(n, 2)) _exit(3);
  }
  std::fprintf(stderr, "%s, ", when);
}

struct CallsWhenDestroyed {
  const char* when = nullptr;
  ~CallsWhenDestroyed() {
    if (when != nullptr) call_late(when);
  }
};

CallsWhenDestroyed static_object;
thread_local CallsWhenDestroyed thread_object;

void end_of_a_process() {
  static_object.when = "static";
  thread_object.when = "thread";
  std::atexit([] { call_late("atexit"); });
  calls_work(64, 2);
  std::thread([] {
    thread_object.when = "another thread";
    calls_work(65, 2);
  }).join();
  std::exit(0);
}

TEST(LateCalls, WorkAsLongAsThereIsCodeThatRuns) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(end_of_a_process(), ::testing::ExitedWithCode(0),
              "another thread, thread, atexit, static, ");
}

#if !defined(CORNERTURN_TSAN)  // whose threads do not survive forks

// The allocator of AddressSanitizer keeps the locks that its threads held when a child was forked.
#if defined(__SANITIZE_ADDRESS__)
constexpr int threads_at_fork = 0;
#elif defined(__has_feature)
constexpr int threads_at_fork = __has_feature(address_sanitizer) ? 0 : 3;
#else
constexpr int threads_at_fork = 3;
#endif

// 0, or how the child ended.
int end_of_a_child(std::int64_t n) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);  // it waits for a thread that it has not
    _exit(calls_work(n, 2) && calls_work(n + 1, 4) && calls_work(n, 1) ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

TEST(LateCalls, WorkInAChildThatWasForkedMeanwhile) {
  ASSERT_TRUE(calls_work(300, 4));
  std::atomic<bool> stop = false;
  std::vector<std::thread> others;
  for (int i = 0; i < threads_at_fork; ++i) {
    others.emplace_back([&stop, i] {
      for (std::int64_t n = 0; !stop; ++n) calls_work(200 + (n * 31 + i) % 150, 2);
    });
  }
  for (std::int64_t i = 0; i < 20; ++i) {
    const int status = end_of_a_child(280 + i);
    EXPECT_EQ(status, 0) << "child " << i;
    if (status != 0) break;  // the others would wait as long
  }
  stop = true;
  for (std::thread& other : others) other.join();
  EXPECT_TRUE(calls_work(301, 4)) << "in the parent";
}

#endif

}  // namespace
}  // namespace cornerturn
