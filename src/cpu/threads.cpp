#include "cpu/threads.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <string_view>
#include <thread>

#include "cornerturn/error.hpp"
#include "cpu/cgroup.hpp"

namespace cornerturn::cpu {
namespace {

int threads_from(const char* variable, std::string_view text) {
  int threads = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), threads);
  if (error != std::errc() || end != text.data() + text.size() || threads < 1 ||
      threads > most_threads) {
    throw Error(
        Status::invalid_argument,
        fmt::format("{} = '{}' is not a number of threads: 1 to {}", variable, text, most_threads));
  }
  return threads;
}

int allowed_cores() {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) == 0) return CPU_COUNT(&allowed);
  // More processors than the set has bits for.
  return std::clamp(static_cast<int>(std::thread::hardware_concurrency()), 1, most_threads);
}

// Threads of the machine that run or wait for a processor, as Linux counts them in the fourth
// field: "0.52 0.58 0.59 3/461 3281". -1 where it does not say.
int running_threads() {
  static const int file = open("/proc/loadavg", O_RDONLY | O_CLOEXEC);
  std::array<char, 128> text;
  const ssize_t size = file < 0 ? -1 : pread(file, text.data(), text.size(), 0);
  if (size <= 0) return -1;
  const char* const end = text.data() + size;
  const char* at = text.data();
  for (int spaces = 0; at != end && spaces < 3; ++at) spaces += *at == ' ';
  int running = -1;
  std::from_chars(at, end, running);
  return running;
}

}  // namespace

int threads_that_run(int threads, int running, int processors) {
  return std::clamp(threads - std::max(running - processors, 0), 1, threads);
}

int threads_that_run(int threads) {
  using Clock = std::chrono::steady_clock;
  static std::atomic<Clock::rep> looked_at = 0;
  static std::atomic<int> running = -1;
  const Clock::rep now = Clock::now().time_since_epoch().count();
  constexpr Clock::rep a_millisecond =
      std::chrono::duration_cast<Clock::duration>(std::chrono::milliseconds(1)).count();
  if (now - looked_at.load(std::memory_order_relaxed) > a_millisecond) {
    looked_at.store(now, std::memory_order_relaxed);
    running.store(running_threads(), std::memory_order_relaxed);
  }
  static const auto processors = static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
  return threads_that_run(threads, running.load(std::memory_order_relaxed), processors);
}

int usable_cores() {
  // A process does not change its groups in mid-life, and reading them takes a while.
  static const std::optional<double> limit = cgroup_cpus();
  const int cores = allowed_cores();
  if (!limit) return cores;
  return std::clamp(static_cast<int>(std::ceil(std::min(*limit, 1.0 * most_threads))), 1, cores);
}

int resolve_threads(int requested, int useful) {
  if (requested < 0 || requested > most_threads) {
    throw Error(Status::invalid_argument,
                fmt::format("threads = {} is out of range: 0 to {}", requested, most_threads));
  }
  if (requested > 0) return std::min(requested, useful);
  const char* wish = std::getenv("CORNERTURN_THREADS");
  if (wish != nullptr && *wish != '\0') {
    return std::min(threads_from("CORNERTURN_THREADS", wish), useful);
  }
  return useful <= 1 ? 1 : std::min(usable_cores(), useful);
}

}  // namespace cornerturn::cpu
