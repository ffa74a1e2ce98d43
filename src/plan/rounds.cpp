#include "plan/rounds.hpp"

#include <algorithm>
#include <exception>
#include <iterator>
#include <limits>

namespace cornerturn::plan {

std::vector<double> best_of_rounds(int rounds, std::size_t count,
                                   const std::function<double(int round, std::size_t which)>& run) {
  constexpr double not_timed = std::numeric_limits<double>::max();
  constexpr double failed = std::numeric_limits<double>::infinity();
  std::vector<double> best(count, not_timed);
  std::exception_ptr error;
  for (int round = 0; round < rounds; ++round) {
    for (std::size_t i = 0; i < count; ++i) {
      if (best[i] == failed) continue;
      try {
        best[i] = std::min(best[i], run(round, i));
      } catch (...) {
        if (!error) error = std::current_exception();
        best[i] = failed;
      }
    }
  }
  if (error && std::count(best.begin(), best.end(), failed) == std::ssize(best)) {
    std::rethrow_exception(error);
  }
  return best;
}

}  // namespace cornerturn::plan
