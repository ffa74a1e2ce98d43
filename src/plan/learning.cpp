#include "plan/learning.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <utility>

namespace cornerturn::plan {
namespace {

constexpr double not_timed = std::numeric_limits<double>::infinity();
constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();

const LearningRules& rules_for(const Plan& plan) {
  return plan.machine.gpu() != nullptr ? learning_on_gpu : learning_on_cpu;
}

// What something costs in this process: what it took the last times, or is assumed to take.
class Price {
 public:
  explicit Price(double assumed) : seconds_(assumed) {}

  double seconds() const { return seconds_.load(std::memory_order_relaxed); }
  void paid(double seconds) {
    seconds_.store(0.75 * this->seconds() + 0.25 * seconds, std::memory_order_relaxed);
  }

 private:
  std::atomic<double> seconds_;
};

Price& planning() {
  static Price price(100e-6);
  return price;
}
Price& loading() {
  static Price price(30e-3);
  return price;
}

}  // namespace

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

int calls_before_turns(const Plan& plan) {
  constexpr std::int64_t most = 32;
  const CpuInfo* cpu = plan.machine.cpu();
  if (cpu == nullptr) return 0;
  return static_cast<int>(std::min(most, cpu->l3_bytes / plan.problem.bytes()));
}

// Each entrant's turns, one more where its kernel is loaded, and one call that plans.
int calls_to_learn(const Plan& plan) {
  const LearningRules& rules = rules_for(plan);
  return calls_before_turns(plan) + rules.most_turns() + static_cast<int>(rules.entrants) + 1;
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

Learning::Learning(const LearningRules& rules, const Plan& plan, const Request& request)
    : rules_(rules),
      request_(request),
      predicted_seconds_(plan.predicted_seconds()),
      next_(1 + calls_before_turns(plan)),
      entrants_{{0}} {
  if (!plan.candidates.empty()) find_entrants(plan);
}

std::shared_ptr<Learning> Learning::of(const Plan& plan, const Request& request) {
  const LearningRules& rules = rules_for(plan);
  if (plan.choice != Choice::estimated || plan.problem.bytes() < rules.least_bytes ||
      !plan.problem.is_local()) {
    return nullptr;
  }
  std::shared_ptr<Learning> learning(new Learning(rules, plan, request));
  const bool alone = learning->found_ && learning->entrants_.size() < 2;
  return alone ? nullptr : learning;
}

void Learning::find_entrants(const Plan& plan) {
  found_ = true;
  const Candidates& all = plan.candidates;
  const auto chosen = std::find(all.begin(), all.end(), plan.chosen);
  if (chosen == all.end()) return;
  entrants_.front().candidate = static_cast<std::size_t>(chosen - all.begin());
  for (std::size_t i = 0; i < all.size() && entrants_.size() < rules_.entrants; ++i) {
    const bool is_worth_it = all[i].seconds() <= rules_.worth_a_turn * all.front().seconds();
    if (is_worth_it && i != entrants_.front().candidate) entrants_.push_back({i});
  }
}

const Candidate& Learning::candidate_of(const Plan& plan, std::size_t entrant) const {
  const Plan& planned = planned_ != nullptr ? *planned_ : plan;
  return planned.candidates[entrants_[entrant].candidate];
}

// Without candidates: to copy those would take longer than small problems do.
Plan Learning::trial_of(const Plan& plan, std::size_t entrant) const {
  Plan trial;
  trial.problem = plan.problem;
  trial.normal = plan.normal;
  trial.machine = plan.machine;
  trial.gpu = plan.gpu;
  trial.threads = plan.threads;
  trial.alignment = plan.alignment;
  trial.choose(candidate_of(plan, entrant), Choice::learned);
  return trial;
}

const Plan& Learning::fastest_of(const Plan& plan) const {
  const Plan* fastest = fastest_.load(std::memory_order_acquire);
  return fastest != nullptr ? *fastest : plan;
}

const Plan* Learning::plain_call(const Plan& plan) {
  const std::int64_t call = 1 + calls_.fetch_add(1, std::memory_order_relaxed);
  return call < next_.load(std::memory_order_relaxed) ? &fastest_of(plan) : nullptr;
}

std::shared_ptr<const Plan> Learning::solve(const Plan& plan, const Solver& solver) {
  const std::int64_t call = calls_.load(std::memory_order_relaxed);
  const Mine mine(taken_);
  if (mine) end_turn(plan);
  const Step step = mine ? next_step(plan, solver) : Step{};
  const bool paid = step.kind != Step::nothing && call_of(step) <= call;
  if (paid && step.kind == Step::turn) {
    take_turn(plan, solver, step);
  } else {
    solver.run(fastest_of(plan));
  }
  if (!mine) return nullptr;
  if (paid && step.kind == Step::plan) find_candidates(plan, solver);
  end_turn(plan);
  return look_ahead(plan, solver, call);
}

// When the next step is due; the winner, where none is left that can be had soon.
std::shared_ptr<const Plan> Learning::look_ahead(const Plan& plan, const Solver& solver,
                                                 std::int64_t call) {
  next_.store(call + 1, std::memory_order_relaxed);
  if (begun_) return nullptr;
  const Step step = next_step(plan, solver);
  const bool at_last = step.kind == Step::nothing;
  const std::int64_t due = at_last ? never : call_of(step);
  const bool waits_to_load = step.kind == Step::turn && !entrants_[step.entrant].loaded;
  // Other problems may load the kernel meanwhile.
  if (due > call) next_.store(waits_to_load ? std::min(due, 2 * call) : due);
  const bool later = waits_to_load && due > call + 1 && any_other_timed();
  if ((!at_last && !later) || told_turns_ == taken_turns_) return nullptr;
  told_turns_ = taken_turns_;
  return with_winner(plan, at_last);
}

bool Learning::any_other_timed() const {
  return std::any_of(entrants_.begin() + 1, entrants_.end(),
                     [](const Entrant& other) { return !other.times.empty(); });
}

// Turns of the plan's own candidate come before those of others, first ones before second ones, and
// kernels that are loaded before those that are not.
Learning::Step Learning::next_step(const Plan& plan, const Solver& solver) {
  if (begun_ || (found_ && entrants_.size() < 2)) return {};
  const auto next = [&](bool loaded) -> std::optional<std::size_t> {
    std::optional<std::size_t> first;
    const auto turns_of = [&](std::size_t i) { return entrants_[i].turns - (i == 0 ? 1 : 0); };
    for (std::size_t i = 0; i < entrants_.size(); ++i) {
      if (entrants_[i].loaded != loaded || !goes_on(i)) continue;
      if (!first || turns_of(i) < turns_of(*first)) first = i;
    }
    return first;
  };
  if (const auto entrant = next(true)) return turn_of(plan, *entrant);
  if (!found_) return {Step::plan, 0, planning().seconds(), planning().seconds()};
  look_for_loaded(plan, solver);
  if (const auto entrant = next(true)) return turn_of(plan, *entrant);
  if (const auto entrant = next(false)) return turn_of(plan, *entrant);
  return {};
}

// What is known of its time counts, or else the estimate; of that little is sure.
Learning::Step Learning::turn_of(const Plan& plan, std::size_t entrant) const {
  const Entrant& one = entrants_[entrant];
  const double in_use = seconds_in_use();
  const double beside = rules_.timing_seconds + (one.loaded ? 0 : loading().seconds());
  double beyond = 0, at_worst = 0;
  if (entrant != leader_ && seconds_of(one) < not_timed) {
    beyond = at_worst = std::max(0.0, seconds_of(one) - in_use);
  } else if (entrant != leader_) {
    const double ratio = candidate_of(plan, entrant).seconds() / candidate_of(plan, 0).seconds();
    beyond = in_use * std::max(0.0, ratio - 1);
    at_worst = std::max(beyond, in_use * (LearningBudget().as_slow - 1));
  }
  return {Step::turn, entrant, beside + beyond, beside + at_worst};
}

// The first call whose predecessors pay for it.
std::int64_t Learning::call_of(const Step& step) const {
  if (UnpaidTurns::any()) return 0;
  constexpr LearningBudget budget;
  constexpr double most = 1e15;
  const double seconds =
      std::max((spent_ + step.expected) / budget.share, (spent_ + step.at_worst) / budget.at_worst);
  return static_cast<std::int64_t>(std::min(std::ceil(seconds / seconds_in_use()), most));
}

// What the plan takes that calls use now.
double Learning::seconds_in_use() const {
  constexpr double least = 1e-9;
  const double timed = seconds_of(entrants_[leader_]);
  return std::max(least, timed < not_timed ? timed : predicted_seconds_);
}

void Learning::find_candidates(const Plan& plan, const Solver& solver) {
  const double from = solver.clock();
  try {
    planned_ = std::make_unique<const Plan>(make_plan(plan.problem, plan.machine, request_));
    find_entrants(*planned_);
    for (std::size_t i = 1; i < entrants_.size(); ++i) {
      entrants_[i].loaded = solver.is_loaded == nullptr;
    }
    look_for_loaded(plan, solver);
  } catch (...) {  // no memory: the call has done its work
    found_ = true;
    entrants_.resize(1);
  }
  const double seconds = solver.clock() - from;
  planning().paid(seconds);
  spent_ += seconds;
}

void Learning::look_for_loaded(const Plan& plan, const Solver& solver) {
  for (std::size_t i = 1; i < entrants_.size(); ++i) {
    Entrant& one = entrants_[i];
    one.loaded = one.loaded || solver.is_loaded(trial_of(plan, i));
  }
}

void Learning::take_turn(const Plan& plan, const Solver& solver, const Step& step) {
  Entrant& one = entrants_[step.entrant];
  const bool loads = !one.loaded;
  const double from = loads ? solver.clock() : 0;
  spent_ += rules_.timing_seconds;
  ++taken_turns_;
  one.loaded = true;
  if (!loads) ++one.turns;  // one that loads is hardly ever timed
  try {
    const bool leads = step.entrant == leader_;
    begun_ = Turn{step.entrant, leads ? solver.run_timed(fastest_of(plan))
                                      : solver.run_timed(trial_of(plan, step.entrant))};
  } catch (...) {
    // One that finds no memory, for instance, stands in the way neither of the others nor of this
    // call, unless it may have added to the destination.
    one.failed = true;
    use_winner(plan);
    if (entrants_[leader_].failed || plan.normal.values.beta != 0) throw;
    spent_ += seconds_in_use();
    solver.run(fastest_of(plan));
  }
  if (!loads) return;
  const double seconds = solver.clock() - from;
  loading().paid(seconds);
  spent_ += seconds;
}

// If its time is known now.
void Learning::end_turn(const Plan& plan) {
  if (!begun_) return;
  const std::optional<double> seconds = begun_->timing();
  if (!seconds) return;
  const std::size_t entrant = begun_->entrant;
  begun_.reset();
  if (*seconds == not_timed) return;
  if (entrant != leader_) spent_ += std::max(0.0, *seconds - seconds_in_use());
  entrants_[entrant].times.push_back(*seconds);
  use_winner(plan);
}

// So far. Calls that follow use it.
void Learning::use_winner(const Plan& plan) {
  const std::size_t first = winner();
  if (first == leader_) return;
  leader_ = first;
  once_fastest_.push_back(std::make_unique<const Plan>(trial_of(plan, leader_)));
  fastest_.store(once_fastest_.back().get(), std::memory_order_release);
}

// The best, or the one in the middle, and of two the better one; infinity: it was not timed.
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

// Than the plan's own candidate. That one is the first to have turns, when memory, caches and
// clocks may not be what they are later: its best turn counts.
bool Learning::is_clearly_faster(double seconds) const {
  const Entrant& own = entrants_.front();
  if (own.failed || own.times.empty()) return true;
  return seconds < rules_.clearly_faster * *std::min_element(own.times.begin(), own.times.end());
}

// Not after two turns that tell it neither from the plan's own candidate nor from slower ones.
bool Learning::may_win(std::size_t entrant) const {
  const Entrant& one = entrants_[entrant];
  if (one.failed || one.times.empty()) return !one.failed;
  const bool is_alike = !is_clearly_faster(seconds_of(one));
  return seconds_of(one) <= rules_.nearly_as_fast * fastest() &&
         !(is_alike && one.times.size() > 1);
}

// Whether an entrant has another turn: as long as it may be the winner, and not the only one. The
// plan's own has two before all others.
bool Learning::goes_on(std::size_t entrant) const {
  const Entrant& one = entrants_[entrant];
  if (one.failed || one.turns >= rules_.rounds) return false;
  if (entrant > 0) return may_win(entrant);
  if (one.turns < 2) return true;
  for (std::size_t i = 1; i < entrants_.size(); ++i) {
    if (may_win(i)) return true;
  }
  return false;
}

// Its kernel, and its configuration where others are of the same family.
std::string Learning::name_of(const Plan& plan, std::size_t entrant) const {
  const Candidate& candidate = candidate_of(plan, entrant);
  std::size_t same = 0;
  for (std::size_t i = 0; i < entrants_.size(); ++i) {
    same += static_cast<std::size_t>(candidate_of(plan, i).row == candidate.row);
  }
  if (same == 1) return std::string(candidate.row->name);
  return fmt::format("{} ({})", candidate.row->name, describe(candidate, plan.normal));
}

// That of the plan, unless another is clearly faster, or it has failed.
std::size_t Learning::winner() const {
  const Entrant& preferred = entrants_.front();
  const bool stays = preferred.times.empty() ? !preferred.failed : !is_clearly_faster(fastest());
  if (stays || fastest() == not_timed) return 0;
  std::size_t winner = 0;
  while (seconds_of(entrants_[winner]) > fastest()) ++winner;
  return winner;
}

// The plan as it is where nothing could be timed, or nothing else was there.
std::shared_ptr<const Plan> Learning::with_winner(const Plan& plan, bool at_last) const {
  auto learned = std::make_shared<Plan>(plan);
  if (at_last) learned->learning = nullptr;
  if (fastest() == not_timed || entrants_.size() < 2) return learned;
  if (planned_ != nullptr) learned->candidates = planned_->candidates;
  learned->choose(candidate_of(plan, winner()), Choice::learned);
  std::string report;
  for (std::size_t i = 0; i < entrants_.size(); ++i) {
    const double seconds = seconds_of(entrants_[i]);
    if (seconds == not_timed) continue;
    report += fmt::format("{}{} {:.2f}", report.empty() ? "" : ", ", name_of(plan, i),
                          seconds / fastest());
  }
  learned->turns =
      fmt::format("{} times the fastest one's time, in {} turns", report, taken_turns_);
  return learned;
}

}  // namespace cornerturn::plan
