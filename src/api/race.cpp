#include "api/race.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "api/track.hpp"
#include "core/normalise.hpp"
#include "plan/planner.hpp"

namespace cornerturn {
namespace {

// Policies. A slice is long enough to tell kernels apart, and so short that even a kernel that is
// ten times slower than expected costs a few per cent.
constexpr std::size_t most_entrants = 3;
constexpr double too_slow = 4.0;           // predicted to take more times as long: out
constexpr double far_too_slow = 20.0;      // found to, by a slice that may have been disturbed: out
constexpr double nearly_as_fast = 1.5;     // so close to the fastest: runs once more, for longer
constexpr double clearly_faster = 0.8;     // a slice's time tells no smaller difference
constexpr std::int64_t most_slices = 256;  // of the whole problem
constexpr std::int64_t fewest_slices = 32;
constexpr std::int64_t least_slice_bytes = 128 << 10;  // for each thread

constexpr double not_timed = std::numeric_limits<double>::infinity();

struct Entrant {
  const plan::Candidate* candidate;
  double seconds = not_timed;        // an index of the whole, as its best slice tells
  double slice_seconds = not_timed;  // an index of that slice
  bool failed = false;               // and has left the race

  std::string name() const { return std::string(candidate->row->name); }
};

// The best candidate of each of the best kernels.
std::vector<Entrant> entrants_of(const plan::Plan& plan) {
  std::vector<Entrant> entrants;
  for (const plan::Candidate& candidate : plan.candidates) {
    if (candidate.seconds() > too_slow * plan.candidates.front().seconds()) break;
    const bool has_one = std::any_of(entrants.begin(), entrants.end(), [&](const Entrant& entrant) {
      return entrant.candidate->row == candidate.row;
    });
    if (!has_one) entrants.push_back({&candidate});
    if (entrants.size() == most_entrants) break;
  }
  return entrants;
}

class Race {
 public:
  Race(const plan::Plan& plan, const plan::TimedRun& run_part, int dst_phase, const Track& track,
       std::vector<Entrant> entrants)
      : plan_(plan),
        run_part_(run_part),
        dst_phase_(dst_phase),
        track_(track),
        for_slices_(around_caches(*plan.machine.cpu())),
        entrants_(std::move(entrants)) {}

  Raced run() {
    const std::int64_t slice = track_.slice();
    Entrant& preferred = entrants_.front();
    // Whoever is first pays for what is made once, such as scratch memory: it runs again.
    const bool takes_part = lap(preferred, slice) || preferred.failed;
    preferred.seconds = preferred.slice_seconds = not_timed;
    if (takes_part) {
      for (Entrant& entrant : entrants_) lap(entrant, slice);
      // A disturbance may have hit one of them, or what is made once.
      again(far_too_slow, slice);
      again(nearly_as_fast, 2 * slice);
    }
    for (const Problem& problem : track_.rest()) solve(winner(), problem);
    const Entrant& first = winner();
    Raced result{plan_, {}};
    if (first.seconds < not_timed) {
      result.plan.choose(*first.candidate, plan::Choice::raced);
      result.plan.race = report(first);
      for (const Entrant& entrant : entrants_) {
        if (is_close(entrant)) result.close.push_back(entrant.candidate->row);
      }
    }
    return result;
  }

 private:
  // A slice may fit into the caches, but nothing of it is there yet.
  static plan::Machine around_caches(plan::CpuInfo cpu) {
    cpu.caches_taken = true;
    return cpu;
  }

  // Whoever took at most so many times as long as the fastest, and the one that the model prefers.
  void again(double times, std::int64_t count) {
    const double most = times * fastest().seconds;
    for (Entrant& entrant : entrants_) {
      if (entrant.seconds <= most || &entrant == &entrants_.front()) lap(entrant, count);
    }
  }

  Entrant& fastest() {
    return *std::min_element(
        entrants_.begin(), entrants_.end(),
        [](const Entrant& a, const Entrant& b) { return a.seconds < b.seconds; });
  }

  // By what slices took, or by what the model makes of that: neither is sure.
  bool is_close(const Entrant& entrant) {
    double least = not_timed;
    for (const Entrant& other : entrants_) least = std::min(least, other.slice_seconds);
    return entrant.seconds <= nearly_as_fast * fastest().seconds ||
           entrant.slice_seconds <= nearly_as_fast * least;
  }

  // The one that the model prefers, unless another is clearly faster. Where it cannot take slices,
  // they tell nothing of it.
  Entrant& winner() {
    Entrant& preferred = entrants_.front();
    if (preferred.failed) return fastest();
    if (preferred.seconds == not_timed) return preferred;
    return fastest().seconds < clearly_faster * preferred.seconds ? fastest() : preferred;
  }

  struct Solved {
    double seconds;
    double predicted;
  };

  // Who fails leaves the race, and another one does the part: one that finds no memory, for
  // instance, stands in the way neither of the others nor of the call, unless it may have added to
  // the destination.
  std::optional<Solved> solve(Entrant& entrant, const Problem& part) {
    try {
      return solve_by(entrant, part);
    } catch (...) {
      entrant.failed = true;
      entrant.seconds = entrant.slice_seconds = not_timed;
      const auto other = std::find_if(entrants_.begin(), entrants_.end(),
                                      [](const Entrant& one) { return !one.failed; });
      if (other == entrants_.end() || plan_.normal.values.beta != 0) throw;
      solve(*other, part);
      return std::nullopt;
    }
  }

  // The seconds that a part takes. A part may be nothing for the kernel, though the whole is:
  // another one does it then, and there is no answer.
  std::optional<Solved> solve_by(const Entrant& entrant, const Problem& part) const {
    const plan::Row& row = *entrant.candidate->row;
    const bool takes = why_not(row, normalise(part, plan_.alignment), for_slices_) == nullptr;
    plan::Request request{plan_.threads, takes ? entrant.name() : ""};
    request.dst_phase = dst_phase_;
    plan::Plan plan = plan::make_plan(part, for_slices_, request);
    plan.threads = plan_.threads;
    const double seconds = run_part_(plan);
    return takes ? std::optional(Solved{seconds, plan.predicted_seconds()}) : std::nullopt;
  }

  // Whether the entrant could take the slice. Who has left the race is offered none.
  bool lap(Entrant& entrant, std::int64_t count) {
    if (entrant.failed) return false;
    const std::int64_t before = track_.taken();
    const Problem slice = track_.take(count);
    const std::optional<Solved> solved = solve(entrant, slice);
    if (!solved) return false;
    const auto indices = static_cast<double>(track_.taken() - before);
    const double seconds = solved->seconds / indices;
    entrant.slice_seconds = std::min(entrant.slice_seconds, seconds);
    entrant.seconds = std::min(entrant.seconds, seconds * of_the_whole(entrant, *solved, indices));
    return true;
  }

  // What begins with a call, such as a recipe, weighs more in a slice than in the whole: the model
  // says how much. Of more it is not believed.
  double of_the_whole(const Entrant& entrant, const Solved& slice, double indices) const {
    const double whole = entrant.candidate->seconds() / static_cast<double>(track_.indices());
    return std::min(1.0, whole * indices / slice.predicted);
  }

  std::string report(const Entrant& first) const {
    std::string text;
    for (const Entrant& entrant : entrants_) {
      if (entrant.seconds == not_timed) continue;
      text += fmt::format("{}{} {:.2f}", text.empty() ? "" : ", ", entrant.name(),
                          entrant.seconds / first.seconds);
    }
    const double share =
        static_cast<double>(track_.taken()) / static_cast<double>(track_.indices());
    return fmt::format("{} times the winner's time, in the first {:.1f} % of the work", text,
                       100 * share);
  }

  const plan::Plan& plan_;
  const plan::TimedRun& run_part_;
  int dst_phase_;
  Track track_;
  plan::Machine for_slices_;
  std::vector<Entrant> entrants_;
};

}  // namespace

std::optional<Raced> raced(const plan::Plan& plan, const plan::TimedRun& run_part, int dst_phase) {
  if (plan.machine.gpu() != nullptr || plan.choice != plan::Choice::estimated ||
      plan.problem.bytes() < race_bytes || !plan.problem.is_local()) {
    return std::nullopt;
  }
  std::vector<Entrant> entrants = entrants_of(plan);
  if (entrants.size() < 2) return std::nullopt;
  std::int64_t slices =
      std::min(most_slices, plan.normal.bytes() / (least_slice_bytes * plan.threads));
  for (; slices >= fewest_slices; slices /= 2) {
    const Track track(plan.normal, slices);
    if (track.usable()) {
      return Race(plan, run_part, dst_phase, track, std::move(entrants)).run();
    }
  }
  return std::nullopt;
}

}  // namespace cornerturn
