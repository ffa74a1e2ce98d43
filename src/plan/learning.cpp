#include "plan/learning.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace cornerturn::plan {
namespace {

// Policies. Two turns each tell a disturbance, and what a first call pays for once, from a slow
// kernel.
constexpr std::size_t most_entrants = 4;
constexpr int rounds = 2;
constexpr double worth_a_turn = 2.5;    // predicted to take at most so many times as long
constexpr double nearly_as_fast = 1.5;  // who took at most so many times as long has another turn
constexpr double clearly_faster = 0.92;

static_assert(rounds * static_cast<int>(most_entrants) == Learning::most_calls);

constexpr double not_timed = std::numeric_limits<double>::infinity();

// The first candidates, which are the cheapest.
std::size_t entrants_of(const Candidates& candidates) {
  const std::size_t most = std::min(most_entrants, candidates.size());
  std::size_t count = 0;
  while (count < most &&
         candidates[count].seconds() <= worth_a_turn * candidates.front().seconds()) {
    ++count;
  }
  return count;
}

}  // namespace

// A thread's right to what belongs to whoever has its turn.
class Learning::Turn {
 public:
  explicit Turn(std::atomic<bool>& taken)
      : taken_(taken), mine_(!taken.exchange(true, std::memory_order_acquire)) {}
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
  ~Turn() {
    if (mine_) taken_.store(false, std::memory_order_release);
  }

  bool is_mine() const { return mine_; }

 private:
  std::atomic<bool>& taken_;
  const bool mine_;
};

Learning::Learning(const Request& request, std::size_t entrants)
    : request_(request), seconds_(entrants, not_timed) {}

std::shared_ptr<Learning> Learning::of(const Plan& plan, const Request& request) {
  if (plan.machine.gpu() != nullptr || plan.choice != Choice::estimated ||
      plan.problem.bytes() < learn_bytes || !plan.problem.is_local()) {
    return nullptr;
  }
  const std::size_t entrants = entrants_of(plan.candidates);
  if (entrants < 2) return nullptr;
  return std::shared_ptr<Learning>(new Learning(request, entrants));
}

std::shared_ptr<const Plan> Learning::solve(const Plan& plan, const TimedRun& run) {
  const Turn turn(taken_);
  if (turn.is_mine() && round_ < rounds) {
    take_turn(plan, run);
  } else {
    run(plan);
  }
  if (!turn.is_mine() || round_ < rounds || told_) return nullptr;
  told_ = true;
  return with_winner(plan);
}

void Learning::take_turn(const Plan& plan, const TimedRun& run) {
  double& best = seconds_[entrant_];
  const Candidate& candidate = plan.candidates[entrant_];
  const bool preferred = candidate == plan.chosen;
  ++calls_;
  try {
    if (preferred) {
      best = std::min(best, run(plan));
    } else {
      Plan trial = plan;
      trial.choose(candidate, Choice::learned);
      best = std::min(best, run(trial));
    }
  } catch (...) {
    // One that finds no memory, for instance, stands in the way neither of the others nor of this
    // call, unless it may have added to the destination.
    next_turn();
    if (preferred || plan.normal.values.beta != 0) throw;
    run(plan);
    return;
  }
  next_turn();
}

double Learning::fastest() const {
  return *std::min_element(seconds_.begin(), seconds_.end());
}

// Whether an entrant has another turn: as long as it may be the winner, and not the only one.
bool Learning::goes_on(std::size_t entrant) const {
  const double most = nearly_as_fast * fastest();
  if (entrant > 0) return seconds_[entrant] <= most;
  return std::any_of(seconds_.begin() + 1, seconds_.end(),
                     [&](double seconds) { return seconds <= most; });
}

void Learning::next_turn() {
  do {
    if (++entrant_ == seconds_.size()) {
      entrant_ = 0;
      ++round_;
    }
  } while (round_ > 0 && round_ < rounds && !goes_on(entrant_));
}

// That of the model, unless another is clearly faster.
std::shared_ptr<const Plan> Learning::with_winner(const Plan& plan) const {
  std::size_t winner = 0;
  if (fastest() < clearly_faster * seconds_.front()) {
    winner = static_cast<std::size_t>(std::min_element(seconds_.begin(), seconds_.end()) -
                                      seconds_.begin());
  }
  auto learned = std::make_shared<Plan>(plan);
  learned->learning = nullptr;
  learned->choose(plan.candidates[winner], Choice::learned);
  std::string report;
  for (std::size_t i = 0; i < seconds_.size(); ++i) {
    if (seconds_[i] == not_timed) continue;
    report += fmt::format("{}{} {:.2f}", report.empty() ? "" : ", ", plan.candidates[i].row->name,
                          seconds_[i] / seconds_[winner]);
  }
  learned->race = fmt::format("{} times the winner's time, in the first {} calls", report, calls_);
  return learned;
}

}  // namespace cornerturn::plan
