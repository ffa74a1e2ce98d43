// What is measured on a GPU: a subject whose buffers are device memory and whose run() enqueues.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/subject.hpp"

namespace cornerturn::bench {

struct PlanTimes {
  double first_seconds = 0;   ///< of planning a problem that was never seen
  double cached_seconds = 0;  ///< of planning it again
};

/// run() enqueues on the stream and returns; it neither waits nor allocates.
class GpuSubject : public Subject {
 public:
  /// `stream` is a cudaStream_t. Called once, before anything is prepared.
  virtual void use_stream(void* stream) = 0;

  /// The time that the subject expects for the prepared case; 0 if it expects none.
  virtual double predicted_seconds() const { return 0; }

  static constexpr std::size_t runs_of_batch = 16;
  /// So many batches of run() at most, each of which has ended before the next one begins, are for
  /// learning, until is_settled(); then settled() is called, and the subject does the same in every
  /// run() that follows.
  virtual int batches_to_settle() const { return 0; }
  virtual bool is_settled() const { return false; }
  virtual void settled() {}

  /// False when the host time of run() says nothing about the subject.
  virtual bool times_on_host() const { return true; }

  /// Host time of planning the prepared case.
  virtual std::optional<PlanTimes> plan_times() { return {}; }

  /// True when the subject cannot work on the stream; then own_seconds() is the time of one call,
  /// measured by its own means, and run() waits.
  virtual bool times_itself() const { return false; }
  virtual double own_seconds() { return 0; }
};

}  // namespace cornerturn::bench
