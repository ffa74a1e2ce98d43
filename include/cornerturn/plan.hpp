// How a problem will be solved, decided once and run as often as wanted.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "cornerturn/export.hpp"

namespace cornerturn {

namespace plan {
struct AnyPlan;
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
  /// Use this kernel: "copy", "rows", "tile", "pack", "convert" or "gather"; empty: choose, or what
  /// the environment variable CORNERTURN_KERNEL says.
  std::string kernel;
  /// With Effort::measure on a GPU the call waits for the stream.
  Effort effort = Effort::estimate;
  /// The cudaStream_t on which a GPU works; null: the default stream. Not for the CPU, which has
  /// done its work when the call returns.
  void* stream = nullptr;
  /// Empty: where the pointers lie; "cpu" or "gpu" when that is to be checked, or when there are no
  /// pointers yet. For make_plan also "h200", "b200", ... or the path of a JSON file: a GPU that is
  /// described, and need not be here.
  std::string device;
};

/// A value: cheap to copy, never changes, safe to use from many threads at once.
class CT_API Plan {
 public:
  /// The name of the kernel that will run.
  std::string_view kernel() const;
  /// "cpu", or the name of the GPU.
  std::string device() const;
  /// Threads of the CPU that it will run on; 0 for a GPU.
  int threads() const;
  /// Bytes of all elements as they are written. Where the type stays the same as many are read.
  std::int64_t bytes() const;
  /// The cost model's guess of the time of one execution.
  double predicted_seconds() const;

  /// One line: kernel, configuration, threads or GPU, bytes, predicted time.
  std::string to_string() const;
  /// One line: why this kernel.
  std::string why() const;
  /// Several lines: the problem, how it was normalised, the choice, why, and every candidate.
  std::string explain() const;
  /// The same for programs.
  std::string to_json() const;

  /// Equal when they solve the same problem in the same way.
  friend CT_API bool operator==(const Plan& a, const Plan& b);

  /// For the library's own use.
  explicit Plan(std::shared_ptr<const plan::AnyPlan> impl) : impl_(std::move(impl)) {}
  const plan::AnyPlan& impl() const { return *impl_; }

 private:
  std::shared_ptr<const plan::AnyPlan> impl_;
};

}  // namespace cornerturn
