// What the first calls of a plan learn: each of them solves the whole problem by one of the best
// candidates, and from then on the fastest is used. All of it is work that was asked for.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "plan/plan.hpp"
#include "plan/planner.hpp"

namespace cornerturn::plan {

/// Nothing is learned of jobs of fewer bytes: what a wrong choice costs there is as little as what
/// clocks and other programs disturb.
inline constexpr std::int64_t learn_bytes = 256 << 10;

/// Runs a plan, and returns the seconds that this took.
using TimedRun = std::function<double(const Plan& plan)>;

/// Who has had a turn, and how long it took. Thread-safe: while a thread has its turn, the calls of
/// others use the plan as it is, and wait for nobody.
class Learning {
 public:
  /// At most so many calls of a plan have a turn.
  static constexpr int most_calls = 8;

  /// Null where nothing can be learned: for a GPU, for less than learn_bytes, where a plan was not
  /// chosen by the model, where there is no second candidate that is expected to be nearly as fast,
  /// and where candidates need not have the same result.
  static std::shared_ptr<Learning> of(const Plan& plan, const Request& request);

  /// What the plan was asked for.
  const Request& request() const { return request_; }

  /// Solves the problem of `plan`, whose learning this is, by the candidate whose turn it is.
  /// Returns the plan with the winner, once, when that was the last turn; then whoever called makes
  /// it known, and calls end().
  std::shared_ptr<const Plan> solve(const Plan& plan, const TimedRun& run);

  /// From now on others look for the plan that is known.
  void end() { ended_.store(true, std::memory_order_release); }
  bool ended() const { return ended_.load(std::memory_order_acquire); }

 private:
  class Turn;

  explicit Learning(const Request& request, std::size_t entrants);
  double fastest() const;
  bool goes_on(std::size_t entrant) const;
  void take_turn(const Plan& plan, const TimedRun& run);
  void next_turn();
  std::shared_ptr<const Plan> with_winner(const Plan& plan) const;

  const Request request_;
  std::atomic<bool> ended_ = false;
  std::atomic<bool> taken_ = false;  // some thread has its turn; what follows belongs to it
  std::vector<double> seconds_;      // the best so far, of the plan's first candidates
  std::size_t entrant_ = 0;          // whose turn it is
  int round_ = 0;
  int calls_ = 0;
  bool told_ = false;  // has the winner been returned?
};

}  // namespace cornerturn::plan
