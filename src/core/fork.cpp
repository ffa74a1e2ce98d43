#include "core/fork.hpp"

#include <pthread.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>

namespace cornerturn {
namespace {

// Never destroyed, and without memory of its own.
struct ForkLocks {
  std::mutex mutex;
  std::array<detail::ForkLock, 8> locks{};
  std::size_t count = 0;
};
constinit ForkLocks fork_locks;
constinit std::atomic<bool> forked_child{false};

void before_fork() {
  fork_locks.mutex.lock();
  for (std::size_t i = 0; i < fork_locks.count; ++i) {
    fork_locks.locks[i].lock(fork_locks.locks[i].what);
  }
}

void after_fork() {
  for (std::size_t i = fork_locks.count; i-- > 0;) {
    fork_locks.locks[i].unlock(fork_locks.locks[i].what);
  }
  fork_locks.mutex.unlock();
}

void after_fork_in_child() {
  forked_child.store(true, std::memory_order_relaxed);
  for (std::size_t i = fork_locks.count; i-- > 0;) {
    fork_locks.locks[i].renew(fork_locks.locks[i].what);
  }
  std::construct_at(&fork_locks.mutex);
}

}  // namespace

void detail::add_fork_lock(const ForkLock& lock) {
  const std::lock_guard<std::mutex> guard(fork_locks.mutex);
  if (fork_locks.count == 0) pthread_atfork(before_fork, after_fork, after_fork_in_child);
  fork_locks.locks.at(fork_locks.count) = lock;
  ++fork_locks.count;
}

bool is_forked_child() noexcept {
  return forked_child.load(std::memory_order_relaxed);
}

}  // namespace cornerturn
