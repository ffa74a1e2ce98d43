#include "plan/learning.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace cornerturn::plan {
namespace {

constexpr double not_timed = std::numeric_limits<double>::infinity();

const LearningRules& rules_for(const Plan& plan) {
  return plan.machine.gpu() != nullptr ? learning_on_gpu : learning_on_cpu;
}

}  // namespace

int calls_before_turns(const Plan& plan) {
  constexpr std::int64_t most = 32;
  const CpuInfo* cpu = plan.machine.cpu();
  if (cpu == nullptr) return 0;
  return static_cast<int>(std::min(most, cpu->l3_bytes / plan.problem.bytes()));
}

int calls_to_learn(const Plan& plan) {
  return calls_before_turns(plan) + rules_for(plan).most_turns();
}

// A thread's right to what belongs to whoever has its turn.
class Learning::Mine {
 public:
  explicit Mine(std::atomic<bool>& taken)
      : taken_(taken), mine_(!taken.exchange(true, std::memory_order_acquire)) {}
  Mine(const Mine&) = delete;
  Mine& operator=(const Mine&) = delete;
  ~Mine() {
    if (mine_) taken_.store(false, std::memory_order_release);
  }

  explicit operator bool() const { return mine_; }

 private:
  std::atomic<bool>& taken_;
  const bool mine_;
};

Learning::Learning(const LearningRules& rules, const Request& request,
                   std::vector<Entrant> entrants, int calls_before)
    : rules_(rules),
      request_(request),
      entrants_(std::move(entrants)),
      calls_before_turns_(calls_before) {}

std::vector<Learning::Entrant> Learning::entrants_of(const Plan& plan, const LearningRules& rules,
                                                     const std::vector<const Row*>& close) {
  const Candidates& all = plan.candidates;
  const auto own = std::find(all.begin(), all.end(), plan.chosen);
  if (own == all.end()) return {};
  std::vector<Entrant> entrants{{static_cast<std::size_t>(own - all.begin())}};
  for (std::size_t i = 0; i < all.size() && entrants.size() < rules.entrants; ++i) {
    if (all[i].seconds() > rules.worth_a_turn * all.front().seconds()) break;
    const bool may =
        close.empty() || std::find(close.begin(), close.end(), all[i].row) != close.end();
    if (may && i != entrants.front().candidate) entrants.push_back({i});
  }
  return entrants;
}

std::shared_ptr<Learning> Learning::of(const Plan& plan, const Request& request,
                                       const std::vector<const Row*>& close) {
  const LearningRules& rules = rules_for(plan);
  const bool chosen_by_others = plan.choice != Choice::estimated && plan.choice != Choice::raced;
  if (chosen_by_others || plan.problem.bytes() < rules.least_bytes || !plan.problem.is_local()) {
    return nullptr;
  }
  std::vector<Entrant> entrants = entrants_of(plan, rules, close);
  if (entrants.size() < 2) return nullptr;
  return std::shared_ptr<Learning>(
      new Learning(rules, request, std::move(entrants), calls_before_turns(plan)));
}

std::shared_ptr<const Plan> Learning::solve(const Plan& plan, const TimedRun& run) {
  return solve(plan, Solver{[&](const Plan& one) { run(one); },
                            [&](const Plan& one) -> Timing {
                              return [seconds = run(one)] { return std::optional(seconds); };
                            }});
}

std::shared_ptr<const Plan> Learning::solve(const Plan& plan, const Solver& solver) {
  const Mine mine(taken_);
  if (mine && calls_before_turns_ > 0) {
    --calls_before_turns_;
    solver.run(plan);
    return nullptr;
  }
  if (mine && has_turn()) {
    take_turn(plan, solver);
  } else {
    solver.run(plan);
  }
  if (!mine || told_) return nullptr;
  end_turns();
  if (has_turn() || !turns_.empty()) return nullptr;
  auto learned = with_winner(plan);
  told_ = true;
  return learned;
}

void Learning::take_turn(const Plan& plan, const Solver& solver) {
  const std::size_t entrant = next_++;
  const Candidate& candidate = plan.candidates[entrants_[entrant].candidate];
  const bool preferred = candidate == plan.chosen;
  ++taken_turns_;
  try {
    if (preferred) {
      turns_.push_back({entrant, solver.run_timed(plan)});
    } else {
      Plan trial = plan;
      trial.choose(candidate, Choice::learned);
      turns_.push_back({entrant, solver.run_timed(trial)});
    }
  } catch (...) {
    // One that finds no memory, for instance, stands in the way neither of the others nor of this
    // call, unless it may have added to the destination.
    entrants_[entrant].failed = true;
    if (preferred || plan.normal.values.beta != 0) throw;
    solver.run(plan);
  }
}

// Of those that are known. Turns mostly end in the order in which they began.
void Learning::end_turns() {
  std::size_t ended = 0;
  for (; ended < turns_.size(); ++ended) {
    const std::optional<double> seconds = turns_[ended].timing();
    if (!seconds) break;
    if (*seconds < not_timed) entrants_[turns_[ended].entrant].times.push_back(*seconds);
  }
  turns_.erase(turns_.begin(), turns_.begin() + static_cast<std::ptrdiff_t>(ended));
}

double Learning::seconds_of(const Entrant& entrant) const {
  if (entrant.failed || entrant.times.empty()) return not_timed;
  std::vector<double> sorted = entrant.times;
  const std::size_t counts = rules_.best_turn_counts ? 0 : (sorted.size() - 1) / 2;
  const auto it = sorted.begin() + static_cast<std::ptrdiff_t>(counts);
  std::nth_element(sorted.begin(), it, sorted.end());
  return *it;
}

double Learning::fastest() const {
  double least = not_timed;
  for (const Entrant& entrant : entrants_) least = std::min(least, seconds_of(entrant));
  return least;
}

bool Learning::may_win(const Entrant& entrant) const {
  return !entrant.failed &&
         (entrant.times.empty() || seconds_of(entrant) <= rules_.nearly_as_fast * fastest());
}

// Whether an entrant has another turn: as long as it may be the winner, and not the only one.
bool Learning::goes_on(std::size_t entrant) const {
  if (entrant > 0) return may_win(entrants_[entrant]);
  return std::any_of(entrants_.begin() + 1, entrants_.end(),
                     [&](const Entrant& other) { return may_win(other); });
}

// Who goes on is known when all turns of a round have ended.
bool Learning::has_turn() {
  for (; round_ < rules_.rounds; ++round_, next_ = 0) {
    while (next_ < entrants_.size() && round_ > 0 && !goes_on(next_)) ++next_;
    if (next_ < entrants_.size()) return true;
    if (!turns_.empty()) return false;
  }
  return false;
}

// By its description as well, where others are of the same family.
std::string Learning::name_of(const Plan& plan, std::size_t entrant) const {
  const Candidate& candidate = plan.candidates[entrants_[entrant].candidate];
  const auto same = std::count_if(entrants_.begin(), entrants_.end(), [&](const Entrant& other) {
    return plan.candidates[other.candidate].row == candidate.row;
  });
  if (same == 1 || plan.machine.gpu() == nullptr) return std::string(candidate.row->name);
  return fmt::format("{} ({})", candidate.row->name, describe(candidate, plan.normal));
}

// That of the plan, unless another is clearly faster, or it has failed.
std::size_t Learning::winner() const {
  const Entrant& preferred = entrants_.front();
  const bool stays = preferred.times.empty()
                         ? !preferred.failed
                         : fastest() >= rules_.clearly_faster * seconds_of(preferred);
  if (stays || fastest() == not_timed) return 0;
  std::size_t winner = 0;
  while (seconds_of(entrants_[winner]) > fastest()) ++winner;
  return winner;
}

// The plan as it is where no turn could be timed.
std::shared_ptr<const Plan> Learning::with_winner(const Plan& plan) const {
  auto learned = std::make_shared<Plan>(plan);
  learned->learning = nullptr;
  if (fastest() == not_timed) return learned;
  learned->choose(plan.candidates[entrants_[winner()].candidate], Choice::learned);
  std::string report;
  for (std::size_t i = 0; i < entrants_.size(); ++i) {
    const double seconds = seconds_of(entrants_[i]);
    if (seconds == not_timed) continue;
    report += fmt::format("{}{} {:.2f}", report.empty() ? "" : ", ", name_of(plan, i),
                          seconds / fastest());
  }
  learned->race = fmt::format("{} times the fastest one's time, in {} turns", report, taken_turns_);
  return learned;
}

}  // namespace cornerturn::plan
