#include "io/workers.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <system_error>
#include <thread>
#include <vector>

namespace cornerturn::io {

void run_workers(int workers, std::int64_t count,
                 const std::function<void(int worker, std::int64_t index)>& body) {
  std::atomic<std::int64_t> next{0};
  std::mutex mutex;
  std::exception_ptr first_error;
  const auto work = [&](int worker) {
    try {
      for (std::int64_t index = next++; index < count; index = next++) body(worker, index);
    } catch (...) {
      next = count;
      const std::lock_guard<std::mutex> lock(mutex);
      if (!first_error) first_error = std::current_exception();
    }
  };

  std::vector<std::thread> threads;
  const auto extra = std::min<std::int64_t>(workers, count) - 1;
  try {
    for (int i = 1; i <= extra; ++i) threads.emplace_back(work, i);
  } catch (const std::system_error&) {
    // No more threads to be had: those that started do the work.
  }
  work(0);
  for (std::thread& thread : threads) thread.join();
  if (first_error) std::rethrow_exception(first_error);
}

void InOrder::take(std::int64_t index, const std::function<void()>& work) {
  {
    std::unique_lock<std::mutex> lock(mutex_);
    // wait_for, whose code is in the header: wait is a symbol of GCC 12's library, which systems
    // that have all else lack (manylinux_2_34).
    while (!changed_.wait_for(lock, std::chrono::hours(1),
                              [&] { return next_ == index || abandoned_; })) {
    }
    if (abandoned_) return;
  }
  work();
  const std::lock_guard<std::mutex> lock(mutex_);
  ++next_;
  changed_.notify_all();
}

void InOrder::abandon() noexcept {
  const std::lock_guard<std::mutex> lock(mutex_);
  abandoned_ = true;
  changed_.notify_all();
}

}  // namespace cornerturn::io
