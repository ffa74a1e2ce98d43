// The time of work on a GPU whose cache holds other bytes.
#pragma once

#include <vector>

#include "gpu/accelerator.hpp"
#include "harness/statistics.hpp"

namespace cornerturn::bench {

/// More than the L2 cache of any GPU that is measured.
constexpr std::int64_t cache_filling_bytes = std::int64_t{512} << 20;

/// The median of some runs, in seconds. Before each one a copy within the source has taken the
/// cache; the source must hold twice `cache_filling_bytes`.
inline double cold_seconds(Accelerator& gpu, const Work& work) {
  constexpr int runs = 9;
  const Work take_cache = [&gpu] {
    gpu.copy_by_driver(gpu.src() + cache_filling_bytes, gpu.src(), cache_filling_bytes);
  };
  std::vector<double> seconds;
  for (int run = 0; run < runs; ++run) seconds.push_back(gpu.time({take_cache, work})[1]);
  return median(seconds);
}

}  // namespace cornerturn::bench
