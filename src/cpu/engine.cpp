#include "cpu/engine.hpp"

#include <algorithm>
#include <functional>
#include <limits>

#include "core/fp_environment.hpp"
#include "cpu/kernel.hpp"
#include "cpu/list_places.hpp"
#include "cpu/parallel.hpp"
#include "cpu/threads.hpp"

namespace cornerturn::cpu {

namespace {

// The buffers, from the first elements on.
Buffers at_first(const Problem& normal, const Buffers& buffers) {
  Buffers first = normal.lists == nullptr ? buffers : first_of_lists(normal, buffers);
  first.dst = dst_of(first) + normal.dst_offset;
  first.src = src_of(first) + normal.src_offset;
  return first;
}

// Pieces of whatever changes values, in the environment that all threads share.
void run_pieces(const Kernel& kernel, const plan::AnyConfig& config, const Problem& normal,
                const Buffers& buffers, std::int64_t first, std::int64_t last) {
  if (normal.operation() == Operation::move) {
    return kernel.run(config, normal, buffers, first, last);
  }
  const DefaultFpEnvironment environment;
  kernel.run(config, normal, buffers, first, last);
}

// So many pieces, as far as one thread has to know.
std::int64_t pieces_for_one_thread(const Kernel& kernel, const plan::AnyConfig& config,
                                   const Problem& normal) {
  return kernel.stops_at_last ? std::numeric_limits<std::int64_t>::max()
                              : kernel.pieces(config, normal);
}

void run_in_pieces(const Kernel& kernel, const plan::AnyConfig& config, const Problem& normal,
                   int threads, const Buffers& buffers) {
  if (threads == 1) {
    const std::int64_t count = pieces_for_one_thread(kernel, config, normal);
    return run_pieces(kernel, config, normal, buffers, 0, count);
  }
  // A few ranges for each thread: whoever is late does not hold up the rest for long.
  const std::int64_t count = kernel.pieces(config, normal);
  const std::int64_t grain = std::max<std::int64_t>(1, count / (threads * 16L));
  const auto ranges = [&](std::int64_t first, std::int64_t last) {
    run_pieces(kernel, config, normal, buffers, first, last);
  };
  if (count == 1) return ranges(0, 1);
  // By reference: a function object of its own would be allocated.
  parallel_ranges(threads, count, grain, std::ref(ranges));
}

}  // namespace

void execute(const plan::Plan& plan, const Buffers& buffers) {
  const Problem& normal = plan.normal;
  if (normal.elements() == 0) return;
  constexpr double shorter_than_a_time_slice = 2e-3;  // seconds
  const bool is_short = plan.threads > 1 && plan.predicted_seconds() < shorter_than_a_time_slice;
  const int threads = is_short ? threads_that_run(plan.threads) : plan.threads;
  const Kernel& kernel = kernel_of(*plan.chosen.row);
  const plan::AnyConfig& planned = plan.chosen.config;
  const Buffers first = at_first(normal, buffers);
  if (kernel.run_whole != nullptr) return kernel.run_whole(planned, threads, first);
  if (kernel.config_for == nullptr) return run_in_pieces(kernel, planned, normal, threads, first);
  run_in_pieces(kernel, kernel.config_for(planned, normal, first), normal, threads, first);
}

void run_move(const plan::BoxMove& move, const Buffers& buffers) {
  const Kernel& kernel = kernel_of(*move.chosen.row);
  const plan::AnyConfig& config = move.chosen.config;
  const Buffers first = at_first(move.normal, buffers);
  if (kernel.run_whole != nullptr) return kernel.run_whole(config, 1, first);
  kernel.run(config, move.normal, first, 0, pieces_for_one_thread(kernel, config, move.normal));
}

void run_pieces_of(const plan::BoxMove& move, const Buffers& buffers, std::int64_t first,
                   std::int64_t last) {
  kernel_of(*move.chosen.row)
      .run(move.chosen.config, move.normal, at_first(move.normal, buffers), first, last);
}

void run_move(const plan::BoxMove& move, std::byte* dst, const std::byte* src) {
  run_move(move, {dst, src});
}

}  // namespace cornerturn::cpu
