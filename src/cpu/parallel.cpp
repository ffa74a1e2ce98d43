#include "cpu/parallel.hpp"

#if defined(CORNERTURN_TSAN)

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

namespace cornerturn::cpu {

// ThreadSanitizer does not see how oneTBB, which is not built with it, synchronises, and so reports
// races that are none. Plain threads do the same work in the same ranges.
void parallel_ranges(int threads, std::int64_t count, std::int64_t grain,
                     const std::function<void(std::int64_t, std::int64_t)>& body) {
  std::atomic<std::int64_t> next = 0;
  const auto work = [&] {
    for (std::int64_t first = next.fetch_add(grain, std::memory_order_relaxed); first < count;
         first = next.fetch_add(grain, std::memory_order_relaxed)) {
      body(first, std::min(first + grain, count));
    }
  };
  std::vector<std::thread> others;
  for (int i = 1; i < threads; ++i) others.emplace_back(work);
  work();
  for (std::thread& other : others) other.join();
}

}  // namespace cornerturn::cpu

#else

#include <tbb/info.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <unordered_map>

namespace cornerturn::cpu {
namespace {

// One arena for each thread count that was ever asked for: making one costs more than a small
// transposition. More threads than TBB has workers for would only make it complain.
tbb::task_arena& arena_of(int threads) {
  threads = std::min(threads, tbb::info::default_concurrency());
  static std::mutex mutex;
  static std::unordered_map<int, std::unique_ptr<tbb::task_arena>> arenas;
  const std::lock_guard<std::mutex> lock(mutex);
  std::unique_ptr<tbb::task_arena>& arena = arenas[threads];
  if (!arena) arena = std::make_unique<tbb::task_arena>(threads);
  return *arena;
}

}  // namespace

void parallel_ranges(int threads, std::int64_t count, std::int64_t grain,
                     const std::function<void(std::int64_t, std::int64_t)>& body) {
  arena_of(threads).execute([&] {
    tbb::parallel_for(
        tbb::blocked_range<std::int64_t>(0, count, static_cast<std::size_t>(grain)),
        [&](const tbb::blocked_range<std::int64_t>& range) { body(range.begin(), range.end()); },
        tbb::simple_partitioner());
  });
}

}  // namespace cornerturn::cpu

#endif
