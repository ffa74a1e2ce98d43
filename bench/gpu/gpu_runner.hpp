// Measures one case on a GPU: cold caches, interleaving with the plain copy, verification.
#pragma once

#include <atomic>

#include "gpu/accelerator.hpp"
#include "gpu/gpu_subject.hpp"
#include "harness/runner.hpp"

namespace cornerturn::bench {

/// Runs are short on a GPU, and many of them fit into a tenth of a second.
StopRule gpu_stop_rule();

struct GpuRunOptions {
  StopRule rule = gpu_stop_rule();
  bool all_candidates = false;  ///< time each of the subject's candidates too
  bool warm = false;            ///< time every case as those of class "latency" are
};

class GpuRunner {
 public:
  GpuRunner(Accelerator& gpu, const GpuRunOptions& options);

  /// Verifies every element once, then repeats {subject, three plain copies} until the rule is
  /// content or `interrupted` is set; then the same with {candidates}.
  ///
  /// Caches are cold: each work of a round gets the next one of so many pairs of buffers that all
  /// together are eight times as large as the L2 cache, and at least two, memory permitting.
  /// Warm cases are captured a hundred calls at a time in a graph, on one pair.
  Result measure(const Case& c, GpuSubject& subject, const std::atomic<bool>& interrupted);

 private:
  struct Slots;
  struct Contender;
  struct Round;

  Slots make_slots(const Case& c, std::int64_t copy_bytes, bool warm);
  Result verified_and_timed(Round& round, const std::atomic<bool>& interrupted, Result result);
  void settle(Round& round);
  void time_candidates(Round& round, const std::atomic<bool>& interrupted,
                       std::vector<CandidateResult>& results);
  void time_in_rounds(Round& round, std::vector<Contender>& contenders,
                      const std::atomic<bool>& interrupted);
  std::string verify(const Case& c, const Slots& slots, const Work& work);
  double host_seconds(const Work& work);

  Accelerator& gpu_;
  GpuRunOptions options_;
};

}  // namespace cornerturn::bench
