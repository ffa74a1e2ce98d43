// What the first calls of a plan learn: each of them solves the whole problem by one of the best
// candidates, and from then on the fastest is used. All of it is work that was asked for.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "plan/plan.hpp"
#include "plan/planner.hpp"

namespace cornerturn::plan {

/// Who has a turn, and who wins.
struct LearningRules {
  std::int64_t least_bytes;  ///< of jobs of which something is learned
  std::size_t entrants;      ///< candidates that have turns, at most
  int rounds;                ///< turns of each, at most
  double worth_a_turn;       ///< an entrant is predicted to take at most so many times as long
  double nearly_as_fast;     ///< who took at most so many times as long has another turn
  double clearly_faster;  ///< the winner takes at most so many times as long as the model's choice
  bool best_turn_counts;  ///< where others disturb runs but never hasten them; else the middle one

  constexpr int most_turns() const { return rounds * static_cast<int>(entrants); }
};

/// So many calls of a plan use it as it is before the first turn: on a CPU as many as write about
/// what the third-level cache holds, and read as much, 32 at most. What was left there before, and
/// has to be written back, is no part of the time of those that have turns. The problem has bytes.
int calls_before_turns(const Plan& plan);
/// Who has called so often, one call after the other, has what is learned.
int calls_to_learn(const Plan& plan);

/// Three turns each tell a disturbance, and what a first call pays for once, from a slow kernel.
/// Most smaller jobs take less than a microsecond, which clocks tell badly.
inline constexpr LearningRules learning_on_cpu{16 << 10, 8, 3, 2.0, 1.3, 0.95, true};
/// On a GPU more candidates are nearly as fast, and what ran before one has little to do with it.
inline constexpr LearningRules learning_on_gpu{1 << 20, 12, 5, 1.5, 1.15, 0.98, false};

/// Runs a plan, and returns the seconds that this took.
using TimedRun = std::function<double(const Plan& plan)>;

/// Tells how many seconds a run took once that is known; infinity: something has disturbed it.
using Timing = std::function<std::optional<double>()>;

/// How the problem of a call is solved, where runs need not end before calls do.
struct Solver {
  std::function<void(const Plan& plan)> run;
  std::function<Timing(const Plan& plan)> run_timed;
};

/// Who has had a turn, and how long it took. Thread-safe: while a thread has its turn, the calls of
/// others use the plan as it is, and wait for nobody.
class Learning {
 public:
  /// Null where nothing can be learned: for small jobs, where a plan was chosen neither by the
  /// model nor in a race, where there is no second candidate that is expected to be nearly as fast,
  /// and where candidates need not have the same result. After a race only the kernels that were
  /// `close` in it have turns.
  static std::shared_ptr<Learning> of(const Plan& plan, const Request& request,
                                      const std::vector<const Row*>& close = {});

  /// What the plan was asked for.
  const Request& request() const { return request_; }

  /// Solves the problem of `plan`, whose learning this is, by the candidate whose turn it is, or by
  /// the plan as it is while turns of others have to end first.
  /// Returns the plan with the winner, once, when the last turn has ended; then whoever called
  /// makes it known, and calls end().
  std::shared_ptr<const Plan> solve(const Plan& plan, const Solver& solver);
  std::shared_ptr<const Plan> solve(const Plan& plan, const TimedRun& run);

  /// From now on others look for the plan that is known.
  void end() { ended_.store(true, std::memory_order_release); }
  bool ended() const { return ended_.load(std::memory_order_acquire); }

 private:
  class Mine;

  struct Entrant {
    std::size_t candidate;        ///< an index
    std::vector<double> times{};  ///< of its turns, in seconds
    bool failed = false;          ///< and has no other turn
  };
  /// A turn that has not ended yet.
  struct Turn {
    std::size_t entrant;
    Timing timing;
  };

  Learning(const LearningRules& rules, const Request& request, std::vector<Entrant> entrants,
           int calls_before);
  static std::vector<Entrant> entrants_of(const Plan& plan, const LearningRules& rules,
                                          const std::vector<const Row*>& close);
  /// The best, or the one in the middle, and of two the better one; infinity: it was not timed.
  double seconds_of(const Entrant& entrant) const;
  double fastest() const;
  bool may_win(const Entrant& entrant) const;
  bool goes_on(std::size_t entrant) const;
  bool has_turn();
  void take_turn(const Plan& plan, const Solver& solver);
  void end_turns();
  std::size_t winner() const;
  std::shared_ptr<const Plan> with_winner(const Plan& plan) const;
  std::string name_of(const Plan& plan, std::size_t entrant) const;

  const LearningRules& rules_;
  const Request request_;
  std::atomic<bool> ended_ = false;
  std::atomic<bool> taken_ = false;  // some thread has its turn; what follows belongs to it
  std::vector<Entrant> entrants_;    // the plan's own candidate, then the cheapest others
  int calls_before_turns_;           // that still use the plan as it is
  std::vector<Turn> turns_;          // the oldest first
  std::size_t next_ = 0;             // whose turn it is
  int round_ = 0;
  int taken_turns_ = 0;
  bool told_ = false;  // has the winner been returned?
};

}  // namespace cornerturn::plan
