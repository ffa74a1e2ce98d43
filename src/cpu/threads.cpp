#include "cpu/threads.hpp"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <charconv>
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

}  // namespace

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
