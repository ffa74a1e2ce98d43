// Measures one case: buffers, cold caches, interleaving, verification.
#pragma once

#include <atomic>
#include <string>

#include "harness/buffer.hpp"
#include "harness/case.hpp"
#include "harness/copies.hpp"
#include "harness/statistics.hpp"
#include "harness/subject.hpp"

namespace cornerturn::bench {

enum class Outcome { ok, skipped, failed };

const char* to_string(Outcome outcome);

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
  double non_temporal_seconds = 0;

  /// Speed relative to memcpy of the same bytes in the same run: 1 is as fast.
  double share_of_memcpy() const { return memcpy_seconds / seconds; }
  /// Relative to the faster of memcpy and the non-temporal loop.
  double share_of_best_copy() const;
  /// Bytes read plus bytes written, in GB/s.
  double gigabytes_per_second() const { return speed(seconds); }
  double speed(double s) const { return 2e-9 * static_cast<double>(c.payload_bytes()) / s; }
};

/// Measures cases with one set of buffers and threads, which are reused from case to case.
class Runner {
 public:
  Runner(int threads, const StopRule& rule);

  /// Verifies every element once, then repeats {memcpy, non-temporal copy, subject} until the rule
  /// is content or `interrupted` is set. With `interrupted` set before the first run is complete
  /// the result is skipped.
  Result measure(const Case& c, Subject& subject, const std::atomic<bool>& interrupted);

 private:
  struct Slots;

  Slots make_slots(const Case& c);
  std::string verify(const Case& c, Subject& subject, const Slots& slots, double& seconds);

  Team team_;
  Team solo_;  ///< for warm cases: waking a thread takes longer than they do
  StopRule rule_;
  std::int64_t cold_bytes_;
  Buffer src_;
  Buffer dst_;
};

}  // namespace cornerturn::bench
