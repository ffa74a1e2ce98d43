#include "cpu/engine.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <functional>

#include "core/divide.hpp"
#include "core/fp_environment.hpp"
#include "core/validate.hpp"
#include "cpu/kernel.hpp"
#include "cpu/parallel.hpp"
#include "cpu/threads.hpp"

namespace cornerturn::cpu {

namespace {

// Does the operating system still have to provide the memory that is written to? Three pages tell.
bool is_fresh(const Problem& normal, const std::byte* dst) {
  static const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const Reach reach = dst_reach(normal);
  for (int quarter = 1; quarter <= 3; ++quarter) {
    const std::byte* place =
        dst - normal.dst_offset + reach.low + (reach.high - reach.low) / 4 * quarter;
    place -= reinterpret_cast<std::uintptr_t>(place) % page;
    unsigned char resident = 1;
    if (mincore(const_cast<std::byte*>(place), 1, &resident) != 0 || (resident & 1) != 0) {
      return false;
    }
  }
  return true;
}

// The buffers, from the first elements on.
Buffers at_first(const Problem& normal, const Buffers& buffers) {
  Buffers first = buffers;
  first.dst = dst_of(buffers) + normal.dst_offset;
  first.src = src_of(buffers) + normal.src_offset;
  return first;
}

// Pieces of whatever changes values, in the environment that all threads share.
template <class Config>
void run_pieces(const Config& config, const Problem& normal, const Buffers& buffers,
                std::int64_t first, std::int64_t last) {
  if (normal.operation() == Operation::move) return run(config, normal, buffers, first, last);
  const DefaultFpEnvironment environment;
  run(config, normal, buffers, first, last);
}

// The seconds that pieces [first, last) take with these stores.
template <class Config>
double seconds_with(plan::Stores stores, Config config, const Problem& normal,
                    const Buffers& buffers, std::int64_t first, std::int64_t last) {
  config.stores = stores;
  const auto start = std::chrono::steady_clock::now();
  run_pieces(config, normal, buffers, first, last);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// Of pieces [first, last) of about as many bytes, or of those that the family counts.
template <class Config>
double bytes_of_pieces(const Config& config, const Problem& normal, std::int64_t first,
                       std::int64_t last) {
  if constexpr (requires { piece_bytes(config, normal, first); }) {
    std::int64_t bytes = 0;
    for (std::int64_t i = first; i < last; ++i) bytes += piece_bytes(config, normal, i);
    return static_cast<double>(bytes);
  }
  return static_cast<double>(last - first);
}

// The faster stores of the two, after the first pieces were done in both ways. Regular stores
// begin, where nothing is fetched yet, and have to be clearly faster: as they are in caches, unlike
// from memory. What is small and would leave little after a trial is more often in the caches than
// not.
template <class Config>
plan::Stores tried_stores(const Config& config, const Problem& normal, const Buffers& buffers,
                          std::int64_t& done) {
  constexpr std::int64_t trial_bytes = 128 << 10;
  constexpr double clearly = 0.9;
  const std::int64_t count = pieces(config, normal);
  const std::int64_t trial = std::max<std::int64_t>(1, trial_bytes * count / normal.bytes());
  if (count < plan::fewest_trials * trial) return plan::Stores::regular;
  const auto seconds_a_byte = [&](plan::Stores stores, std::int64_t first) {
    return seconds_with(stores, config, normal, buffers, first, first + trial) /
           bytes_of_pieces(config, normal, first, first + trial);
  };
  seconds_a_byte(plan::Stores::regular, 0);
  const double around = seconds_a_byte(plan::Stores::past_caches, trial);
  const double regular = seconds_a_byte(plan::Stores::regular, 2 * trial);
  done = 3 * trial;
  return regular < clearly * around ? plan::Stores::regular : plan::Stores::past_caches;
}

// Calls use(config, done) with a rule of Stores applied once for all pieces, before any page is
// written to, or after the first `done` pieces have been.
template <class Config, class Use>
void with_stores_settled(const Config& config, const Problem& normal, const Buffers& buffers,
                         const Use& use) {
  std::int64_t done = 0;
  if constexpr (requires { config.stores; }) {
    if (config.stores > plan::Stores::past_caches) {
      Config settled = config;
      if (config.stores == plan::Stores::past_caches_if_faster) {
        settled.stores = tried_stores(config, normal, buffers, done);
      } else {
        const bool fresh = is_fresh(normal, dst_of(buffers));
        settled.stores = fresh ? plan::Stores::regular : plan::Stores::past_caches;
      }
      return use(settled, done);
    }
  }
  use(config, done);
}

template <class Family>
void run_in_pieces(const plan::AnyConfig& planned, const Problem& normal, int threads,
                   const Buffers& buffers) {
  const auto run_with = [&](const auto& config, std::int64_t done) {
    if constexpr (requires { run_all(config, normal, buffers); }) {
      if (threads == 1 && normal.operation() == Operation::move) {
        return run_all(config, normal, buffers);
      }
    }
    const std::int64_t count = pieces(config, normal);
    if (threads == 1 || count == 1) return run_pieces(config, normal, buffers, done, count);
    // A few ranges for each thread: whoever is late does not hold up the rest for long.
    const std::int64_t grain = std::max<std::int64_t>(1, count / (threads * 16L));
    const auto ranges = [&](std::int64_t first, std::int64_t last) {
      run_pieces(config, normal, buffers, done + first, done + last);
    };
    // By reference: a function object of its own would be allocated.
    parallel_ranges(threads, count - done, grain, std::ref(ranges));
  };
  with_stores_settled(planned.as<typename Family::Config>(), normal, buffers, run_with);
}

template <class Family>
void run_family(const plan::AnyConfig& planned, const Problem& normal, int threads,
                const Buffers& buffers) {
  if constexpr (requires(const typename Family::Config& config) {
                  run_whole(config, threads, buffers);
                }) {
    return run_whole(planned.as<typename Family::Config>(), threads, buffers);
  } else {
    run_in_pieces<Family>(planned, normal, threads, buffers);
  }
}

template <class Family>
void run_family_alone(const plan::AnyConfig& planned, const Problem& normal,
                      const Buffers& buffers) {
  const auto& config = planned.as<typename Family::Config>();
  if constexpr (requires { run_whole(config, 1, buffers); }) {
    run_whole(config, 1, buffers);
  } else if constexpr (requires { run_all(config, normal, buffers); }) {
    run_all(config, normal, buffers);
  } else {
    run(config, normal, buffers, 0, pieces(config, normal));
  }
}

using RunFamily = void (*)(const plan::AnyConfig&, const Problem&, int threads, const Buffers&);
using RunFamilyAlone = void (*)(const plan::AnyConfig&, const Problem&, const Buffers&);

template <class... Family>
RunFamily of_number(int number, plan::TypeList<Family...>) {
  static constexpr RunFamily runs[] = {&run_family<Family>...};
  return runs[number];
}

template <class... Family>
RunFamilyAlone alone_of_number(int number, plan::TypeList<Family...>) {
  static constexpr RunFamilyAlone runs[] = {&run_family_alone<Family>...};
  return runs[number];
}

}  // namespace

void execute(const plan::Plan& plan, const Buffers& buffers) {
  const Problem& normal = plan.normal;
  if (normal.elements() == 0) return;
  constexpr double shorter_than_a_time_slice = 2e-3;  // seconds
  const bool is_short = plan.threads > 1 && plan.predicted_seconds() < shorter_than_a_time_slice;
  const int threads = is_short ? threads_that_run(plan.threads) : plan.threads;
  of_number(plan.chosen.row->number, plan::CpuFamilies())(plan.chosen.config, normal, threads,
                                                          at_first(normal, buffers));
}

void run_move(const plan::BoxMove& move, std::byte* dst, const std::byte* src) {
  alone_of_number(move.chosen.row->number, plan::CpuFamilies())(move.chosen.config, move.normal,
                                                                at_first(move.normal, {dst, src}));
}

}  // namespace cornerturn::cpu
