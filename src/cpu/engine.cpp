#include "cpu/engine.hpp"

#include <algorithm>
#include <functional>

#include "cpu/kernel.hpp"
#include "cpu/parallel.hpp"

namespace cornerturn::cpu {

void execute(const plan::Plan& plan, const void* src_pointer, void* dst_pointer) {
  const Problem& normal = plan.normal;
  if (normal.elements() == 0) return;
  const auto* src = static_cast<const std::byte*>(src_pointer) + normal.src_offset;
  auto* dst = static_cast<std::byte*>(dst_pointer) + normal.dst_offset;
  std::visit(
      [&](const auto& config) {
        const std::int64_t count = pieces(config, normal);
        if (plan.threads == 1 || count == 1) return run(config, normal, src, dst, 0, count);
        // A few ranges for each thread: whoever is late does not hold up the rest for long.
        const std::int64_t grain = std::max<std::int64_t>(1, count / (plan.threads * 16L));
        const auto ranges = [&](std::int64_t first, std::int64_t last) {
          run(config, normal, src, dst, first, last);
        };
        // By reference: a function object of its own would be allocated.
        parallel_ranges(plan.threads, count, grain, std::ref(ranges));
      },
      plan.chosen.config);
}

}  // namespace cornerturn::cpu
