// Chooses: rows of the machine's registry that apply x their configurations -> estimates -> the
// best.
#pragma once

#include <string>

#include "plan/plan.hpp"

namespace cornerturn::plan {

namespace gpu {
struct Model;
}

struct Request {
  int threads = 1;     ///< of a CPU, at most so many; small problems use fewer
  std::string kernel;  ///< force this kernel; empty: choose
  /// The alignment of the addresses on a GPU. A CPU takes any.
  Alignment alignment{true};
  /// The destination on a CPU begins so many bytes behind the start of a cache line. Whatever is
  /// said here, the plan takes any address: it is the estimates that depend on it.
  int dst_phase = 0;
  bool kernel_of_environment = false;  ///< CORNERTURN_KERNEL named it: errors say so

  friend bool operator==(const Request&, const Request&) = default;
};

/// Everything that the estimate of a candidate depends on.
struct Setting {
  const Problem& normal;
  const Machine& machine;
  /// Of the addresses of first elements, at most 16: estimates of GPUs and of links depend on it.
  Alignment start;
  const gpu::Model* model = nullptr;  ///< of a GPU
  int dst_phase = 0;   ///< of a CPU: bytes from the start of a cache line to the first element
  bool quick = false;  ///< no candidate but the best is asked for
};

/// Setting::dst_phase.
int dst_phase_of(const Request& request, const Problem& normal);

/// So many threads are of use to a problem of this size, at most 1024: below some bytes a second
/// thread costs more than it brings.
int useful_threads(const Problem& problem);

/// A plan for `problem` on `machine`. Throws when the forced kernel is unknown or does not apply.
Plan make_plan(const Problem& problem, const Machine& machine, const Request& request = {});

/// The plan of make_plan() in less time. On a GPU it has no other candidates: those that cannot be
/// the best are estimated only as far as shows that.
Plan make_quick_plan(const Problem& problem, const Machine& machine, const Request& request = {});

}  // namespace cornerturn::plan
