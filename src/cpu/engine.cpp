#include "cpu/engine.hpp"

#include <tbb/info.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "cpu/kernel.hpp"

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

void execute(const plan::Plan& plan, const void* src_pointer, void* dst_pointer) {
  const Problem& normal = plan.normal;
  if (normal.elements() == 0) return;
  const auto* src = static_cast<const std::byte*>(src_pointer) + normal.src_offset;
  auto* dst = static_cast<std::byte*>(dst_pointer) + normal.dst_offset;
  std::visit(
      [&](const auto& config) {
        const std::int64_t count = pieces(config, normal);
        if (plan.threads == 1 || count == 1) return run(config, normal, src, dst, 0, count);
        // A few ranges for each thread: whoever is late does not hold up the rest for long.
        const std::int64_t grain = std::max<std::int64_t>(1, count / (plan.threads * 16L));
        arena_of(plan.threads).execute([&] {
          tbb::parallel_for(
              tbb::blocked_range<std::int64_t>(0, count, static_cast<std::size_t>(grain)),
              [&](const tbb::blocked_range<std::int64_t>& range) {
                run(config, normal, src, dst, range.begin(), range.end());
              },
              tbb::simple_partitioner());
        });
      },
      plan.chosen.config);
}

}  // namespace cornerturn::cpu
