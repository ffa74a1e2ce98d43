// A plan says how a problem is solved. It is made once and can be run as often as you like.
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
  estimate,  ///< a model of costs chooses, which takes microseconds
  measure,   ///< the best candidates run on the caller's data, and the winner is remembered
  /// A model of costs chooses, and calls of 16 KiB or more, on a GPU of 1 MiB or more, learn: now
  /// and then a call solves the whole problem by another of the best candidates, which is timed,
  /// and the fastest does the calls of this process that follow. What that costs beyond what the
  /// calls take by themselves is about 2 % of it at most; the first twenty calls are those of the
  /// model. On a GPU no call waits for a time, a stream that is idle starts 20 us later where a
  /// call is timed, and calls that are captured in a graph are not. Plans without a call are those
  /// of `estimate`.
  automatic,
};

/// When the entries of a list's tables are looked at before anything is written (lists.hpp).
enum class ListChecks : std::uint8_t {
  on_cpu,  ///< where the CPU does the work
  always,  ///< on a GPU too: the call waits for the stream, and cannot be captured
  never,   ///< what is out of range is read or written
};

/// What a call may ask for. The defaults suit nearly everybody.
struct Options {
  /// The CPU uses at most so many threads. 0 means what the environment variable
  /// CORNERTURN_THREADS says, or else as many as the process may use (its affinity and the limit of
  /// its container).
  int threads = 0;
  /// Forces this kernel: "copy", "rows", "tile", "pack", "convert", "gather", ... Empty means what
  /// the environment variable CORNERTURN_KERNEL says, or else that the library chooses. "any" means
  /// that it chooses whatever the environment says.
  std::string kernel = {};
  /// With Effort::measure on a GPU the call waits for the stream.
  Effort effort = Effort::automatic;
  /// The cudaStream_t on which a GPU works; null means the default stream. The CPU does not use it:
  /// its work is done when the call returns.
  void* stream = nullptr;
  /// Between host memory and a GPU: at most so many blocks of the GPU's kernels that reach over the
  /// link run at a time, which leaves the other multiprocessors to other work; 16 are enough for
  /// nearly all of the link. 0 means as many as the GPU takes. Within one memory it is refused.
  int blocks = 0;
  /// Empty means the device where the pointers lie; one side may be host memory and the other one
  /// the current GPU's. "cpu" or "gpu" checks that they lie there, and
  /// names the device where there are no pointers yet. make_plan also takes "h200", "b200", ... or
  /// the path of a JSON file: these are GPUs that are described, and need not be here.
  std::string device = {};
  /// For make_plan with a described GPU: this side lies in host memory, "src" or "dst" in pinned
  /// memory, "pageable src" or "pageable dst" in other memory, and the plan is for the way across.
  /// Empty: both lie on the GPU. Calls that have pointers see where they lie.
  std::string host_side = {};
  ListChecks lists = ListChecks::on_cpu;
};

/// A plan is a value. It is cheap to copy, never changes, and may be used from many threads at
/// once.
class CT_API Plan {
 public:
  /// The name of the kernel that will run.
  std::string_view kernel() const;
  /// "cpu", or the name of the GPU.
  std::string device() const;
  /// The number of the CPU's threads that it will run on; 0 for a GPU. Between host memory and a
  /// GPU: at most so many.
  int threads() const;
  /// The bytes of all elements that are written. Where the type stays, as many bytes are read.
  std::int64_t bytes() const;
  /// The time of one execution, as the model of costs estimates it.
  double predicted_seconds() const;

  /// One line with the kernel, its configuration, threads or GPU, bytes and the predicted time.
  std::string to_string() const;
  /// One line that says why this kernel was chosen.
  std::string why() const;
  /// Several lines: the problem, how it was normalised, the choice and its reason, every candidate.
  std::string explain() const;
  /// All of that as JSON, for programs.
  std::string to_json() const;

  /// Two plans are equal when they solve the same problem in the same way.
  friend CT_API bool operator==(const Plan& a, const Plan& b);

  /// For the library's own use.
  explicit Plan(std::shared_ptr<const plan::Plan> impl) : impl_(std::move(impl)) {}
  const plan::Plan& impl() const { return *impl_; }

 private:
  std::shared_ptr<const plan::Plan> impl_;
};

}  // namespace cornerturn
