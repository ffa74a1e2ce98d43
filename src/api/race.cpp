#include "api/race.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <string>
#include <vector>

#include "core/divide.hpp"
#include "core/normalise.hpp"
#include "cpu/engine.hpp"
#include "plan/planner.hpp"

namespace cornerturn {
namespace {

// Policies. A slice is long enough to tell kernels apart, and so short that even a kernel that is
// ten times slower than expected costs a few per cent. A cut through runs leaves them so long.
constexpr std::size_t most_entrants = 3;
constexpr double too_slow = 4.0;  // predicted to take so many times as long: does not take part
constexpr double nearly_as_fast = 1.5;     // so close to the fastest: runs again, for longer
constexpr double clearly_faster = 0.9;     // a slice's time tells no smaller difference
constexpr std::int64_t most_slices = 256;  // of the whole problem
constexpr std::int64_t fewest_slices = 32;
constexpr std::int64_t least_slice_bytes = 128 << 10;  // for each thread
constexpr std::int64_t long_run = 128;

// Takes the first `count` indices of a mode from a problem, as a problem of their own.
Problem cut(Problem& from, int mode, std::int64_t count) {
  Problem slice = from;
  slice.modes[mode].extent = count;
  from.src_offset += count * from.modes[mode].src_stride;
  from.dst_offset += count * from.modes[mode].dst_stride;
  from.modes[mode].extent -= count;
  return slice;
}

// The problem, cut along its outermost modes: as many as it takes to have enough slices. Each level
// is what is left of one index of the level before.
class Track {
 public:
  Track(const Problem& normal, std::int64_t wanted) {
    const std::int64_t width = normal.dst_type.size();
    for (int i = 0; i < normal.rank() && indices_ < wanted; ++i) {
      const Mode& mode = normal.modes[i];
      const bool run = mode.dst_stride == width || mode.src_stride == normal.src_type.size();
      if (run && mode.extent < wanted * (long_run / width + 1)) continue;
      indices_ *= mode.extent;
      levels_.push_back({i, normal});
    }
    usable_ = indices_ >= wanted;
    for (std::size_t k = 1; k < levels_.size(); ++k)
      levels_[k].left.modes[levels_[k].mode].extent = 0;
  }

  bool usable() const { return usable_; }
  /// Of the innermost mode that is cut, in the whole problem, and those that were taken.
  std::int64_t indices() const { return indices_; }
  std::int64_t taken() const { return taken_; }

  /// The next indices, as a problem of its own: so many, or those to the end of a level.
  Problem take(std::int64_t count) {
    std::size_t k = levels_.size() - 1;
    while (levels_[k].extent() == 0 && k > 0) --k;
    for (; k + 1 < levels_.size(); ++k)
      levels_[k + 1].left = cut(levels_[k].left, levels_[k].mode, 1);
    const std::int64_t most = std::min(count, levels_[k].extent());
    taken_ += most;
    return cut(levels_[k].left, levels_[k].mode, most);
  }

  /// All that is left.
  std::vector<Problem> rest() const {
    std::vector<Problem> problems;
    for (const Level& level : levels_) {
      if (level.extent() > 0) problems.push_back(level.left);
    }
    return problems;
  }

 private:
  struct Level {
    int mode;
    Problem left;

    std::int64_t extent() const { return left.modes[mode].extent; }
  };

  std::vector<Level> levels_;
  std::int64_t indices_ = 1;
  std::int64_t taken_ = 0;
  bool usable_ = false;
};

struct Entrant {
  const plan::Candidate* candidate;
  double seconds = std::numeric_limits<double>::infinity();  // an index, the best so far

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

// Only what lies at a slice's own place decides about it.
bool can_be_cut(const Problem& problem) {
  const Operation operation = problem.operation();
  return operation == Operation::move ||
         (operation == Operation::convert && !problem.scale.present && !problem.bias.present &&
          problem.values.rounding != Rounding::stochastic);
}

class Race {
 public:
  Race(const plan::Plan& plan, const Buffers& buffers, const Track& track, std::int64_t slices,
       std::vector<Entrant> entrants)
      : plan_(plan),
        buffers_(buffers),
        track_(track),
        for_slices_(around_caches(*plan.machine.cpu())),
        slices_(slices),
        entrants_(std::move(entrants)) {}

  plan::Plan run() {
    const std::int64_t slice = ceil_div(track_.indices(), slices_);
    // Whoever is first pays for what is made once, such as scratch memory: it runs again.
    lap(entrants_.front(), slice);
    entrants_.front().seconds = std::numeric_limits<double>::infinity();
    for (Entrant& entrant : entrants_) lap(entrant, slice);
    const double fastest = winner().seconds;
    for (Entrant& entrant : entrants_) {
      if (entrant.seconds <= nearly_as_fast * fastest) lap(entrant, 2 * slice);
    }
    const Entrant& first = winner();
    plan::Plan result = plan_;
    result.choose(*first.candidate, plan::Choice::raced);
    result.race = report(first);
    for (const Problem& problem : track_.rest()) solve(first, problem);
    return result;
  }

 private:
  // A slice may fit into the caches, but nothing of it is there yet.
  static plan::Machine around_caches(plan::CpuInfo cpu) {
    cpu.caches_taken = true;
    return cpu;
  }

  // The one that the model prefers, unless another is clearly faster.
  const Entrant& winner() const {
    const Entrant& fastest =
        *std::min_element(entrants_.begin(), entrants_.end(),
                          [](const Entrant& a, const Entrant& b) { return a.seconds < b.seconds; });
    const Entrant& preferred = entrants_.front();
    return fastest.seconds < clearly_faster * preferred.seconds ? fastest : preferred;
  }

  // A slice may be nothing for the kernel, though the whole is: another one does it then, and the
  // answer is false.
  bool solve(const Entrant& entrant, const Problem& slice) const {
    const plan::Row& row = *entrant.candidate->row;
    const bool takes = why_not(row, normalise(slice, plan_.alignment), for_slices_) == nullptr;
    plan::Plan plan =
        plan::make_plan(slice, for_slices_, {plan_.threads, takes ? entrant.name() : ""});
    plan.threads = plan_.threads;
    cpu::execute(plan, buffers_);
    return takes;
  }

  void lap(Entrant& entrant, std::int64_t count) {
    const std::int64_t before = track_.taken();
    const Problem slice = track_.take(count);
    const auto start = std::chrono::steady_clock::now();
    const bool took_part = solve(entrant, slice);
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
    if (!took_part) return;
    entrant.seconds =
        std::min(entrant.seconds, time.count() / static_cast<double>(track_.taken() - before));
  }

  std::string report(const Entrant& first) const {
    std::string text;
    for (const Entrant& entrant : entrants_) {
      text += fmt::format("{}{} {:.2f}", text.empty() ? "" : ", ", entrant.name(),
                          entrant.seconds / first.seconds);
    }
    const double share =
        static_cast<double>(track_.taken()) / static_cast<double>(track_.indices());
    return fmt::format("{} times the winner's time, in the first {:.1f} % of the work", text,
                       100 * share);
  }

  const plan::Plan& plan_;
  const Buffers& buffers_;
  Track track_;
  plan::Machine for_slices_;
  std::int64_t slices_;
  std::vector<Entrant> entrants_;
};

}  // namespace

std::optional<plan::Plan> raced(const plan::Plan& plan, const Buffers& buffers) {
  if (plan.machine.gpu() != nullptr || plan.choice != plan::Choice::estimated ||
      plan.problem.bytes() < race_bytes || !can_be_cut(plan.problem)) {
    return std::nullopt;
  }
  std::vector<Entrant> entrants = entrants_of(plan);
  if (entrants.size() < 2) return std::nullopt;
  std::int64_t slices =
      std::min(most_slices, plan.normal.bytes() / (least_slice_bytes * plan.threads));
  for (; slices >= fewest_slices; slices /= 2) {
    const Track track(plan.normal, slices);
    if (track.usable()) return Race(plan, buffers, track, slices, std::move(entrants)).run();
  }
  return std::nullopt;
}

}  // namespace cornerturn
