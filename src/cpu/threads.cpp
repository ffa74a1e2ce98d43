#include "cpu/threads.hpp"

#include <fmt/format.h>
#include <sched.h>

#include <charconv>
#include <cstdlib>
#include <string_view>

#include "cornerturn/error.hpp"

namespace cornerturn::cpu {

int resolve_threads(int requested) {
  if (requested < 0 || requested > 1024) {
    throw Error(Status::invalid_argument,
                fmt::format("threads = {} is out of range: 0 to 1024", requested));
  }
  if (requested > 0) return requested;
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return 1;
  return CPU_COUNT(&allowed);
}

}  // namespace cornerturn::cpu
