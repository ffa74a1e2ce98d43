#include "threads.hpp"

#include <algorithm>
#include <atomic>
#include <utility>

#include "cpu/threads.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace cornerturn::python {
namespace {

thread_local int limit_here = 0;
std::atomic<int> limit_of_process = 0;

int limit(int threads, bool process) {
  cpu::resolve_threads(threads);  // throws for a number that is none
  return process ? limit_of_process.exchange(threads) : std::exchange(limit_here, threads);
}

}  // namespace

int thread_limit() {
  return limit_here != 0 ? limit_here : limit_of_process.load(std::memory_order_relaxed);
}

ThreadLimit::ThreadLimit(int threads) : before_(std::exchange(limit_here, threads)) {}
ThreadLimit::~ThreadLimit() {
  limit_here = before_;
}

void add_threads(nb::module_& module) {
  module.def(
      "limit_threads", limit, "threads"_a, "process"_a = false,
      "Limits the calls of this thread, or of all threads that have no limit of their own; 0 "
      "lifts the limit.\nReturns what was set before.");
  module.def(
      "threads", [] { return cpu::resolve_threads(thread_limit()); },
      "The most threads of the CPU that a call works on.");
}

}  // namespace cornerturn::python
