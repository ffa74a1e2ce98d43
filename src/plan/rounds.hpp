// Who is fastest of several that take turns.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

namespace cornerturn::plan {

/// The seconds that each of `count` takes at best, as run(round, which) tells them, in so many
/// rounds over all: a disturbance then hits none of them alone. One that throws, since it finds no
/// memory for instance, has no other turn, and takes forever. Where all do, the first error is
/// thrown again.
std::vector<double> best_of_rounds(int rounds, std::size_t count,
                                   const std::function<double(int round, std::size_t which)>& run);

}  // namespace cornerturn::plan
