// How a problem will be solved, decided once and run as often as wanted.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "cornerturn/export.hpp"

namespace cornerturn {

namespace plan {
struct Plan;
}

/// How much time may be spent on choosing.
enum class Effort {
  estimate,  ///< by a cost model: microseconds
  measure,   ///< by running the best candidates on the caller's data; the winner is remembered
};

/// What a call may ask for. The defaults suit nearly everybody.
struct Options {
  /// At most so many threads; 0: as many as the process may use (its affinity and its container's
  /// limit), or what the environment variable CORNERTURN_THREADS says.
  int threads = 0;
  /// Use this kernel: "copy", "rows", "tile", "pack" or "gather"; empty: choose, or what the
  /// environment variable CORNERTURN_KERNEL says.
  std::string kernel;
  Effort effort = Effort::estimate;
};

/// A value: cheap to copy, never changes, safe to use from many threads at once.
class CT_API Plan {
 public:
  /// The name of the kernel that will run.
  std::string_view kernel() const;
  /// Threads it will run on.
  int threads() const;
  /// Bytes of all elements: as many are read, and as many written.
  std::int64_t bytes() const;
  /// The cost model's guess of the time of one execution.
  double predicted_seconds() const;

  /// One line: kernel, configuration, threads, bytes, predicted time.
  std::string to_string() const;
  /// Several lines: the problem, how it was normalised, the choice, why, and every candidate.
  std::string explain() const;
  /// The same for programs.
  std::string to_json() const;

  /// Equal when they solve the same problem in the same way.
  friend CT_API bool operator==(const Plan& a, const Plan& b);

  /// For the library's own use.
  explicit Plan(std::shared_ptr<const plan::Plan> impl) : impl_(std::move(impl)) {}
  const plan::Plan& impl() const { return *impl_; }

 private:
  std::shared_ptr<const plan::Plan> impl_;
};

}  // namespace cornerturn
