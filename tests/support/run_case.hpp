// Runs one problem through a kernel, between guard pages, and compares every byte.
#pragma once

#include <cstdint>
#include <functional>
#include <random>
#include <string>

#include "core/problem.hpp"
#include "plan/plan.hpp"
#include "support/guarded_buffer.hpp"

namespace cornerturn::test {

/// Keeps its buffers over many cases.
class CaseRunner {
 public:
  explicit CaseRunner(std::size_t capacity = 8 << 20);

  /// Runs `problem` with `kernel` (empty: the planner's choice) on `threads` threads. Source and
  /// destination lie against a guard page at `touching`. Returns "" or what is wrong, with the
  /// plan. Every other run is planned for a processor without caches, so that small
  /// problems go the ways of large ones. Bytes between destination elements must not change.
  std::string run(const Problem& problem, const std::string& kernel, int threads,
                  GuardedBuffer::Touching touching);

  /// Runs it as planned for `machine`, a processor. `wanted` says which candidates are run.
  std::string run_on(const plan::Machine& machine, const Problem& problem,
                     const std::string& kernel, int threads, GuardedBuffer::Touching touching,
                     const std::function<bool(const plan::Plan&)>& wanted = {});

  /// Runs every kernel that takes the problem, at both ends of the buffer.
  std::string run_all(const Problem& problem, int threads = 1);

 private:
  int runs_ = 0;
  GuardedBuffer src_;
  GuardedBuffer dst_;
  GuardedBuffer expected_;
  std::mt19937_64 random_{1};
};

}  // namespace cornerturn::test
