// A plan is a value: which kernel, how it is set up, what it should cost, and what else was
// considered. There is one kind of plan, for every machine and every operation.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/normalise.hpp"
#include "core/problem.hpp"
#include "kernels/context.hpp"
#include "plan/any_config.hpp"
#include "plan/choice.hpp"
#include "plan/estimate.hpp"
#include "plan/machine.hpp"

namespace cornerturn::plan {

class Learning;
struct Row;
struct Setting;

namespace gpu {
struct Parts;
}

/// One kernel in one configuration, with its predicted time: of a CPU, on one thread.
struct Candidate {
  const Row* row = nullptr;
  AnyConfig config;
  Estimate estimate;

  double seconds() const { return estimate.seconds; }

  friend bool operator==(const Candidate&, const Candidate&) = default;
};
using Candidates = std::vector<Candidate>;

/// The order of candidates: one whose costs are assumed comes after all others, else the cheaper
/// one comes first.
bool comes_before(const Candidate& a, const Candidate& b);

/// A launch on a GPU, complete but for the pointers in its arguments.
struct Prepared {
  std::shared_ptr<const void> args;  ///< Family::Args of the row's family
  Launch launch;
  std::shared_ptr<const Prepared> then = {};  ///< the same family's launch that follows, if any

  template <class Family>
  const typename Family::Args& args_of() const {
    return *static_cast<const typename Family::Args*>(args.get());
  }
};

/// A row of a registry: a family of kernels as the planner sees it.
struct Row {
  int number = 0;  ///< of the family in the list of its kind of machine
  std::string_view name;
  std::string_view idea;
  Operations operations;  ///< that it takes
  /// Whether it takes problems with lists.
  enum class ListRule : std::uint8_t { none, also, only } lists = ListRule::none;
  bool takes_empty = false;  ///< of GPUs: stands for problems without elements
  bool assumed = false;      ///< no fit has seen what the family's kernels cost
  /// Null when the kernel takes the (normalised) problem, else the rule that the problem breaks.
  const char* (*why_not)(const Problem& normal, const Machine& machine);
  /// Appends the configurations worth considering, with their estimates. Of a quick plan there is
  /// one candidate, the best so far.
  void (*configure)(const Row& row, const Setting& setting, Candidates& out);
  Estimate (*estimate)(const AnyConfig& config, const Setting& setting);
  /// The configuration in words, also its name in a file of remembered winners.
  std::string (*describe)(const AnyConfig& config, const Problem& normal);
  /// Lines that explain() adds, each with its end; null: none.
  std::string (*details)(const AnyConfig& config);
  /// Bytes beside the arrays that a run takes on a GPU; null: none.
  std::int64_t (*workspace)(const AnyConfig& config);
  /// The plans that do the work on a GPU, one after the other (gpu/parts.hpp); null: the family has
  /// kernels of its own.
  const gpu::Parts* (*parts)(const AnyConfig& config);
  /// Null for a CPU and for routes, which take their configurations as they are.
  Prepared (*prepare)(const AnyConfig& config, const Problem& normal);
};

/// Why a kernel that takes a problem is no candidate for it.
inline constexpr const char* no_config = "it has no configuration for these strides and addresses";

/// Row::why_not, and the rules that hold for all: a kernel takes some operations, and on a GPU one
/// kernel, which launches nothing, stands for all problems without elements.
const char* why_not(const Row& row, const Problem& normal, const Machine& machine);

/// THE tables: every kernel of a CPU, every kernel of GPUs, and every route across the link between
/// them, in the order in which equals are preferred.
const std::vector<Row>& cpu_registry();
const std::vector<Row>& gpu_registry();
const std::vector<Row>& link_registry();
const std::vector<Row>& registry_of(const Machine& machine);

struct Plan {
  Problem problem;  ///< as asked for
  Problem normal;   ///< as executed
  Machine machine;
  /// The number of the GPU here that it was made for, also as an end of a link; -1: the CPU, or a
  /// GPU that is only described.
  int gpu = -1;
  int threads = 1;      ///< of a CPU
  Alignment alignment;  ///< that the addresses on a GPU must have, at least
  Candidate chosen = {};
  Choice choice = Choice::estimated;
  /// Who had turns, and how much slower they were, where calls have found the plan.
  std::string turns = {};
  /// What calls of this plan learn before there is one that they have found; null: nothing.
  std::shared_ptr<Learning> learning = {};
  Candidates candidates = {};  ///< all in order, best first; none in a quick plan (planner.hpp)
  Prepared ready = {};         ///< of the chosen one, on a GPU

  std::string_view kernel() const { return chosen.row->name; }
  /// Bytes beside the arrays that a run takes on a GPU.
  std::int64_t workspace() const {
    return chosen.row->workspace == nullptr ? 0 : chosen.row->workspace(chosen.config);
  }
  /// The time of one run, on all its threads.
  double predicted_seconds() const { return seconds_of(chosen); }
  double seconds_of(const Candidate& candidate) const { return candidate.seconds() / threads; }
  /// Makes another candidate the chosen one.
  void choose(const Candidate& candidate, Choice how);

  friend bool operator==(const Plan& a, const Plan& b) {
    return a.problem == b.problem && a.machine == b.machine && a.gpu == b.gpu &&
           a.threads == b.threads && a.alignment == b.alignment && a.chosen == b.chosen;
  }
};

/// All candidates of a plan, the cheapest first. Those of a quick plan are found now.
Candidates candidates_of(const Plan& plan);

/// The configuration in words, also its name in a file of remembered winners.
std::string describe(const Candidate& candidate, const Problem& normal);
/// One line: kernel, configuration, bytes, threads or GPU, predicted time.
std::string to_string(const Plan& plan);
/// Why this kernel: how it was chosen, and how far the best of every other kernel is behind.
std::string why(const Plan& plan);
/// Several lines: the problem, how it was normalised, the kernel, why, and every candidate.
std::string explain(const Plan& plan);
/// What explain() says, for programs.
std::string to_json(const Plan& plan);

}  // namespace cornerturn::plan
