#include "cpu/engine.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <functional>

#include "core/validate.hpp"
#include "cpu/kernel.hpp"
#include "cpu/parallel.hpp"

namespace cornerturn::cpu {

namespace {

template <class Config>
void run_pieces(const Config& config, const Problem& normal, const std::byte* src, std::byte* dst,
                const Vectors& vectors, std::int64_t first, std::int64_t last) {
  if constexpr (requires { run_converting(config, normal, src, dst, vectors, first, last); }) {
    if (normal.converts()) {
      return run_converting(config, normal, src, dst, vectors, first, last);
    }
  }
  if constexpr (requires { run(config, normal, src, dst, first, last); }) {
    run(config, normal, src, dst, first, last);
  }
}

// Does the kernel still have to provide the memory that is written to? Three pages tell.
bool is_untouched(const Problem& normal, const std::byte* dst) {
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

template <class Config>
const Config& suited(const Config& config, const Problem&, const std::byte*) {
  return config;
}

// Fresh pages come into the caches when the kernel clears them. Long runs stored around the caches
// would have to drive them out again.
plan::ConvertConfig suited(plan::ConvertConfig config, const Problem& normal,
                           const std::byte* dst) {
  if (config.order == plan::ConvertConfig::Order::direct && config.non_temporal) {
    config.non_temporal = !is_untouched(normal, dst);
  }
  return config;
}

}  // namespace

void execute(const plan::Plan& plan, const void* src_pointer, void* dst_pointer,
             const Vectors& vectors) {
  const Problem& normal = plan.normal;
  if (normal.elements() == 0) return;
  const auto* src = static_cast<const std::byte*>(src_pointer) + normal.src_offset;
  auto* dst = static_cast<std::byte*>(dst_pointer) + normal.dst_offset;
  std::visit(
      [&](const auto& planned) {
        const auto& config = suited(planned, normal, dst);
        const std::int64_t count = pieces(config, normal);
        if (plan.threads == 1 || count == 1) {
          return run_pieces(config, normal, src, dst, vectors, 0, count);
        }
        // A few ranges for each thread: whoever is late does not hold up the rest for long.
        const std::int64_t grain = std::max<std::int64_t>(1, count / (plan.threads * 16L));
        const auto ranges = [&](std::int64_t first, std::int64_t last) {
          run_pieces(config, normal, src, dst, vectors, first, last);
        };
        // By reference: a function object of its own would be allocated.
        parallel_ranges(plan.threads, count, grain, std::ref(ranges));
      },
      plan.chosen.config);
}

}  // namespace cornerturn::cpu
