// What the calls of a plan learn: now and then one of them solves the whole problem by another of
// the best candidates, and from then on the fastest is used. All of it is work that was asked for,
// and what it costs beyond that stays within a budget.
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

/// Who has a turn, what turns may cost, and who wins.
struct LearningRules {
  std::int64_t least_bytes;  ///< of jobs of which something is learned
  std::size_t entrants;      ///< candidates that have turns, at most
  int rounds;                ///< turns of each, at most
  double worth_a_turn;       ///< an entrant is predicted to take at most so many times as long
  double nearly_as_fast;     ///< who took at most so many times as long has another turn
  double clearly_faster;  ///< the winner takes at most so many times as long as the model's choice
  bool best_turn_counts;  ///< where others disturb runs but never hasten them; else the middle one
  double timing_seconds;  ///< that a turn takes beside its run

  constexpr int most_turns() const { return rounds * static_cast<int>(entrants); }
};

/// Three turns each tell a disturbance from a slow kernel. Most smaller jobs take less than a
/// microsecond, which clocks tell badly.
inline constexpr LearningRules learning_on_cpu{16 << 10, 8, 3, 2.0, 1.3, 0.95, true, 1e-6};
/// On a GPU estimates are closer, and so are turns. A stream that is idle is held for one.
inline constexpr LearningRules learning_on_gpu{1 << 20, 12, 3, 1.2, 1.1, 0.98, false, 25e-6};

/// What learning may cost of the time that a problem's calls take without it.
struct LearningBudget {
  double share = 0.02;     ///< as far as is foreseen
  double at_worst = 0.10;  ///< if a candidate that was never tried takes `as_slow` times as long
  double as_slow = 3.0;
};

/// While one lives, turns are not paid for: every call of a problem whose learning begins now may
/// have one. For tests, and for benchmarks that ask what calls learn at last.
class UnpaidTurns {
 public:
  UnpaidTurns() { living().fetch_add(1); }
  ~UnpaidTurns() { living().fetch_sub(1); }
  UnpaidTurns(const UnpaidTurns&) = delete;
  UnpaidTurns& operator=(const UnpaidTurns&) = delete;

  static bool any() { return living().load(std::memory_order_relaxed) > 0; }

 private:
  static std::atomic<int>& living() {
    static std::atomic<int> count = 0;
    return count;
  }
};

/// So many calls of a plan use it as it is before anything is timed: on a CPU as many as write
/// about what the third-level cache holds, and read as much, 32 at most. What was left there
/// before, and has to be written back, is no part of the time of those that have turns. The problem
/// has bytes.
int calls_before_turns(const Plan& plan);
/// Who has called so often, one call after the other, has what is learned by unpaid turns.
int calls_to_learn(const Plan& plan);

/// Tells how many seconds a run took once that is known; infinity: something has disturbed it.
using Timing = std::function<std::optional<double>()>;

/// Seconds of a steady clock.
double seconds_now();

/// How the problem of a call is solved, where runs need not end before calls do.
struct Solver {
  std::function<void(const Plan& plan)> run;
  std::function<Timing(const Plan& plan)> run_timed;
  /// Whether all kernels of the plan are loaded, so that a run loads none; null: they always are.
  std::function<bool(const Plan& plan)> is_loaded = {};
  double (*clock)() = &seconds_now;  ///< that times planning and loading
};

/// Who has had a turn, how long it took, and what all that has cost. Thread-safe: while a thread
/// has its turn, calls of others use the fastest known so far, and wait for nobody.
class Learning {
 public:
  /// Null where nothing can be learned: for small jobs, where a plan was not chosen by the model,
  /// where there is no second candidate that is expected to be nearly as fast, and where candidates
  /// need not have the same result. Other candidates than that of a quick plan are found when that
  /// is paid for.
  static std::shared_ptr<Learning> of(const Plan& plan, const Request& request);

  /// What the plan was asked for.
  const Request& request() const { return request_; }

  /// Counts a call of `plan`, whose learning this is. Most of them have nothing to do but their
  /// work: then this is the plan to run. Null: solve() does it.
  const Plan* plain_call(const Plan& plan);

  /// Solves the problem of `plan` by the candidate whose turn it is, or by the fastest so far.
  /// Returns the plan with the winner when the last turn that can be had soon has ended; then
  /// whoever called makes it known. It goes on to learn where kernels wait for being loaded; else
  /// this has ended.
  std::shared_ptr<const Plan> solve(const Plan& plan, const Solver& solver);

  /// The plan to use where nobody has a turn: `plan`, until another one is known to be faster.
  const Plan& fastest_of(const Plan& plan) const;

  /// Once ended, others look for the plan that is known.
  void end() { ended_.store(true, std::memory_order_release); }
  bool ended() const { return ended_.load(std::memory_order_acquire); }

 private:
  class Mine;

  struct Entrant {
    std::size_t candidate;        ///< an index
    std::vector<double> times{};  ///< of its turns, in seconds
    int turns = 0;                ///< also of those that were disturbed
    bool failed = false;          ///< and has no other turn
    bool loaded = true;           ///< its kernel was, as far as is known
  };
  /// A turn that has not ended yet.
  struct Turn {
    std::size_t entrant;
    Timing timing;
  };
  /// What is done next, and what it costs beyond a call's own work.
  struct Step {
    enum { nothing, plan, turn } kind = nothing;
    std::size_t entrant = 0;
    double expected = 0, at_worst = 0;  ///< seconds
  };

  Learning(const LearningRules& rules, const Plan& plan, const Request& request);
  void find_entrants(const Plan& plan);
  const Candidate& candidate_of(const Plan& plan, std::size_t entrant) const;
  Plan trial_of(const Plan& plan, std::size_t entrant) const;
  double seconds_of(const Entrant& entrant) const;
  double fastest() const;
  bool is_clearly_faster(double seconds) const;
  bool may_win(std::size_t entrant) const;
  bool goes_on(std::size_t entrant) const;
  double seconds_in_use() const;
  bool any_other_timed() const;
  std::shared_ptr<const Plan> look_ahead(const Plan& plan, const Solver& solver, std::int64_t call);
  Step next_step(const Plan& plan, const Solver& solver);
  Step turn_of(const Plan& plan, std::size_t entrant) const;
  std::int64_t call_of(const Step& step) const;
  void look_for_loaded(const Plan& plan, const Solver& solver);
  void find_candidates(const Plan& plan, const Solver& solver);
  void take_turn(const Plan& plan, const Solver& solver, const Step& step);
  void end_turn(const Plan& plan);
  void use_winner(const Plan& plan);
  std::size_t winner() const;
  std::shared_ptr<const Plan> with_winner(const Plan& plan, bool at_last) const;
  std::string name_of(const Plan& plan, std::size_t entrant) const;

  const LearningRules& rules_;
  const Request request_;
  const double predicted_seconds_;
  std::atomic<bool> ended_ = false;
  std::atomic<bool> taken_ = false;      // some thread has its turn; what follows belongs to it
  std::atomic<std::int64_t> calls_ = 0;  // so far
  std::atomic<std::int64_t> next_;       // the call that may do more than its work
  std::atomic<const Plan*> fastest_ = nullptr;  // one of those below; null: the plan as it is
  std::vector<std::unique_ptr<const Plan>> once_fastest_;
  std::unique_ptr<const Plan> planned_;  // with all candidates, where the plan itself has none
  std::vector<Entrant> entrants_;        // the plan's own candidate, then the cheapest others
  bool found_ = false;                   // have all entrants been found?
  std::optional<Turn> begun_;
  std::size_t leader_ = 0;  // the entrant of the plan that is used
  double spent_ = 0;        // seconds beyond those that calls take by themselves
  int taken_turns_ = 0;
  int told_turns_ = -1;  // when the winner was returned
};

}  // namespace cornerturn::plan
