// One loop over independent pieces, on a number of threads.
#pragma once

#include <cstdint>
#include <functional>

namespace cornerturn::cpu {

/// Calls body(first, last) for ranges that together are [0, count), each of at most `grain` pieces,
/// on `threads` threads, and returns when all are done.
void parallel_ranges(int threads, std::int64_t count, std::int64_t grain,
                     const std::function<void(std::int64_t, std::int64_t)>& body);

}  // namespace cornerturn::cpu
