// A loop over independent pieces of work on a few threads.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>

namespace cornerturn::io {

/// Calls `body(worker, index)` for every index in [0, count), in order of their start, on `workers`
/// threads. The first exception stops the others after their current piece and is thrown again.
void run_workers(int workers, std::int64_t count,
                 const std::function<void(int worker, std::int64_t index)>& body);

/// Lets pieces finish in the order of their indices.
class InOrder {
 public:
  /// Runs `work` once all indices before `index` have finished, or not at all after
  /// abandon().
  void take(std::int64_t index, const std::function<void()>& work);
  void abandon() noexcept;

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::int64_t next_ = 0;
  bool abandoned_ = false;
};

}  // namespace cornerturn::io
