// Measures one case: buffers, cold caches, interleaving, verification.
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "harness/buffer.hpp"
#include "harness/case.hpp"
#include "harness/copies.hpp"
#include "harness/statistics.hpp"
#include "harness/subject.hpp"

namespace cornerturn::bench {

enum class Outcome { ok, skipped, failed };

const char* to_string(Outcome outcome);

/// One of several ways to do a case, timed in the same run.
struct CandidateResult {
  std::string kernel;
  std::string description;
  std::string wrong;  ///< what is wrong with its output; such a candidate is not timed
  double predicted_seconds = 0;
  double seconds = 0;
};

/// What a result on a GPU has beyond one on the CPU. Its memcpy is cudaMemcpyAsync.
struct GpuResult {
  std::int64_t copy_bytes = 0;    ///< of the plain copies
  std::int64_t sector_bytes = 0;  ///< for holes: of the sectors that must move; copy_bytes is half
  double padded_memcpy_seconds = 0;  ///< cudaMemcpyAsync of copy_bytes rounded up to 4 KiB
  double vector_copy_seconds = 0;    ///< a kernel with 16-byte accesses
  int graph_calls = 0;               ///< timed as so many calls in a graph, caches warm; 0: cold
  double predicted_seconds = 0;      ///< what the subject expected; 0 if nothing
  double execute_seconds = 0;        ///< warm: host time of one call with a ready plan
  double first_plan_seconds = 0;     ///< warm: host time of planning something new
  double cached_plan_seconds = 0;    ///< and of planning it again
};

/// What came out for one case. Times are medians, in seconds a call.
struct Result {
  Case c;
  Outcome outcome = Outcome::skipped;
  std::string reason;  ///< why it was skipped or failed
  std::string method;
  int runs = 0;
  double seconds = 0;
  double best_seconds = 0;  ///< the fastest run
  double noise = 0;
  double memcpy_seconds = 0;
  double non_temporal_seconds = 0;  ///< on the CPU
  bool warm = false;                ///< on the CPU: timed call after call, on one pair of buffers
  std::vector<CandidateResult> candidates;
  std::optional<GpuResult> gpu;

  /// What 100 % is: memcpy of the same bytes in the same run; on a GPU the fastest plain copy.
  double yardstick_seconds() const;
  double share() const { return yardstick_seconds() / seconds; }
  /// Relative to the faster of memcpy and the non-temporal loop; on a GPU share().
  double share_of_best_copy() const;
  /// Bytes read plus bytes written, in GB/s.
  double gigabytes_per_second() const { return speed(seconds); }
  double speed(double s) const { return 2e-9 * static_cast<double>(moved_bytes()) / s; }
  std::int64_t moved_bytes() const { return gpu ? gpu->copy_bytes : c.payload_bytes(); }
};

/// Seconds since some moment.
double steady_seconds();

struct RunnerOptions {
  bool all_candidates = false;  ///< verified and timed as well
  bool warm = false;            ///< all cases, not only those whose latency counts
  std::function<double()> clock = steady_seconds;  ///< by which everything is timed
};

/// Measures cases with one set of buffers and threads, which are reused from case to case.
class Runner {
 public:
  Runner(int threads, const StopRule& rule, const RunnerOptions& options = {});

  /// Verifies every element once, then repeats {memcpy, non-temporal copy, subject} until the rule
  /// is content or `interrupted` is set. With `interrupted` set before the first run is complete
  /// the result is skipped.
  Result measure(const Case& c, Subject& subject, const std::atomic<bool>& interrupted);

 private:
  struct Slots;
  struct Times {  ///< in seconds a call
    std::vector<double> memcpy, stream, subject;
    int calls = 1;  ///< that are timed together
  };

  bool is_warm(const Case& c) const { return options_.warm || c.warm(); }
  template <class F>
  double time_once(F&& f) const;
  Slots make_slots(const Case& c);
  using Run = std::function<void(const std::byte* src, std::byte* dst)>;
  std::string verify(const Case& c, const Run& run, Slots& slots, int slot, double& seconds);
  Times time_in_rounds(const Case& c, Subject& subject, Slots& slots, double first_seconds,
                       const std::atomic<bool>& interrupted);
  std::vector<CandidateResult> measure_candidates(const Case& c, Subject& subject, Slots& slots,
                                                  double seconds, int calls);

  Team team_;
  Team solo_;  ///< for warm cases: waking a thread takes longer than they do
  StopRule rule_;
  RunnerOptions options_;
  std::int64_t cold_bytes_;
  Buffer src_;
  Buffer dst_;
};

}  // namespace cornerturn::bench
