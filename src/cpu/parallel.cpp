#include "cpu/parallel.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#if !defined(CORNERTURN_TSAN)
#include <tbb/info.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <unordered_map>

#include "core/fork.hpp"
#endif

namespace cornerturn::cpu {
namespace {

using Body = std::function<void(std::int64_t, std::int64_t)>;

// Does the work in the ranges that oneTBB would make, where that cannot be used.
void ranges_on_plain_threads(int threads, std::int64_t count, std::int64_t grain,
                             const Body& body) {
  std::atomic<std::int64_t> next = 0;
  std::mutex mutex;
  std::exception_ptr error;
  const auto work = [&] {
    try {
      for (std::int64_t first = next.fetch_add(grain, std::memory_order_relaxed); first < count;
           first = next.fetch_add(grain, std::memory_order_relaxed)) {
        body(first, std::min(first + grain, count));
      }
    } catch (...) {
      const std::lock_guard<std::mutex> lock(mutex);
      if (!error) error = std::current_exception();
    }
  };
  std::vector<std::thread> others;
  try {
    for (int i = 1; i < threads; ++i) others.emplace_back(work);
  } catch (const std::system_error&) {
    // There are no more threads to be had: those that started do the work.
  }
  work();
  for (std::thread& other : others) other.join();
  if (error) std::rethrow_exception(error);
}

}  // namespace

#if defined(CORNERTURN_TSAN)

// ThreadSanitizer does not see how oneTBB, which is not built with it, synchronises, and so reports
// races that are none.
void parallel_ranges(int threads, std::int64_t count, std::int64_t grain, const Body& body) {
  ranges_on_plain_threads(threads, count, grain, body);
}

#else

namespace {

// One arena for each thread count that was ever asked for: making one costs more than a small
// transposition. More threads than TBB has workers for would only make it complain.
class Arenas {
 public:
  tbb::task_arena& of(int threads) {
    threads = std::min(threads, tbb::info::default_concurrency());
    const std::lock_guard<std::mutex> lock(mutex_);
    std::unique_ptr<tbb::task_arena>& arena = arenas_[threads];
    if (!arena) arena = std::make_unique<tbb::task_arena>(threads);
    return *arena;
  }

  // For forks (core/fork.hpp).
  void lock() { mutex_.lock(); }
  void unlock() { mutex_.unlock(); }
  void renew() { std::construct_at(&mutex_); }

 private:
  std::mutex mutex_;
  std::unordered_map<int, std::unique_ptr<tbb::task_arena>> arenas_;
};

Arenas& arenas() {
  static Arenas& instance = []() -> Arenas& {
    auto& made = *new Arenas;  // never destroyed: calls may come from destructors
    hold_over_forks(made);
    return made;
  }();
  return instance;
}

}  // namespace

void parallel_ranges(int threads, std::int64_t count, std::int64_t grain, const Body& body) {
  // A child has none of TBB's threads, and what they held when it was forked is never given back.
  if (is_forked_child()) return ranges_on_plain_threads(threads, count, grain, body);
  arenas().of(threads).execute([&] {
    tbb::parallel_for(
        tbb::blocked_range<std::int64_t>(0, count, static_cast<std::size_t>(grain)),
        [&](const tbb::blocked_range<std::int64_t>& range) { body(range.begin(), range.end()); },
        tbb::simple_partitioner());
  });
}

#endif

}  // namespace cornerturn::cpu
