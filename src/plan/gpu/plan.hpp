// A plan for a GPU is a value: which kernel, how it is set up, what it should cost, what else was
// considered, and the arguments of its launch, complete but for the two pointers.
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/normalise.hpp"
#include "core/problem.hpp"
#include "kernels/context.hpp"
#include "kernels/gather.hpp"
#include "kernels/gather_convert.hpp"
#include "kernels/pack.hpp"
#include "kernels/pack_convert.hpp"
#include "kernels/rows_convert.hpp"
#include "kernels/skew.hpp"
#include "kernels/skew_convert.hpp"
#include "kernels/structures_convert.hpp"
#include "kernels/tile.hpp"
#include "kernels/tile_convert.hpp"
#include "plan/choice.hpp"
#include "plan/gpu/boxes.hpp"
#include "plan/gpu/convert.hpp"
#include "plan/gpu/copy.hpp"
#include "plan/gpu/device_info.hpp"
#include "plan/gpu/estimate.hpp"
#include "plan/gpu/gather.hpp"
#include "plan/gpu/pack.hpp"
#include "plan/gpu/rows.hpp"
#include "plan/gpu/structures.hpp"
#include "plan/gpu/tile.hpp"

namespace cornerturn::plan::gpu {

using Config =
    std::variant<CopyConfig, RowsConfig, BoxesConfig, StructuresConfig, TileConfig, SkewConfig,
                 PackConfig, GatherConfig, RowsConvertConfig, StructuresConvertConfig,
                 TileConvertConfig, SkewConvertConfig, PackConvertConfig, GatherConvertConfig>;
using Args =
    std::variant<kernels::CopyArgs, kernels::RowsArgs, kernels::BoxesArgs, kernels::StructuresArgs,
                 kernels::TileArgs, kernels::SkewArgs, kernels::PackArgs, kernels::GatherArgs,
                 kernels::RowsConvertArgs, kernels::StructuresConvertArgs, kernels::TileConvertArgs,
                 kernels::SkewConvertArgs, kernels::PackConvertArgs, kernels::GatherConvertArgs>;

struct Row;

/// One kernel in one configuration, with its predicted time.
struct Candidate {
  const Row* row = nullptr;
  Config config;
  double cost_seconds = 0;
  Estimate estimate;  ///< what the cost is made of

  friend bool operator==(const Candidate&, const Candidate&) = default;
};
using Candidates = std::vector<Candidate>;

/// A launch, complete but for the pointers in its arguments.
struct Prepared {
  Args args;
  Launch launch;
};

/// A row of the registry: a kernel as the planner sees it.
struct Row {
  std::string_view name;
  std::string_view idea;
  bool converts = false;  ///< takes the problems that change values, and no others
  /// Null when the kernel takes the (normalised) problem, else the rule that the problem breaks.
  const char* (*why_not)(const Problem& normal, const DeviceInfo& device);
  /// Appends the configurations worth considering, with their cost. `start` is the alignment of the
  /// first element's address on either side, 16 at most.
  void (*configure)(const Row& row, const Problem& normal, const Alignment& start,
                    const Model& model, Candidates& out);
  Estimate (*estimate)(const Config& config, const Problem& normal, const Model& model);
  std::string (*describe)(const Config& config, const Problem& normal);
  Prepared (*prepare)(const Config& config, const Problem& normal);
};

/// Row::why_not, and the rules that hold for all: bytes are moved, or values changed; a problem
/// without elements is one of the gathers', which launch nothing for it.
const char* why_not(const Row& row, const Problem& normal, const DeviceInfo& device);

/// THE table: every kernel of the GPU engine, in the order in which equals are preferred.
const std::vector<Row>& registry();

struct Plan {
  Problem problem;      ///< as asked for
  Problem normal;       ///< as executed
  Alignment alignment;  ///< that pointers must have, at least
  DeviceInfo device;
  Candidate chosen;
  Choice choice = Choice::estimated;
  Candidates candidates;  ///< all, cheapest first
  Prepared ready;         ///< of the chosen one

  std::string_view kernel() const { return chosen.row->name; }
  double predicted_seconds() const { return chosen.cost_seconds; }
  /// Makes another candidate the chosen one.
  void choose(const Candidate& candidate, Choice how);

  friend bool operator==(const Plan& a, const Plan& b) {
    return a.problem == b.problem && a.alignment.src == b.alignment.src &&
           a.alignment.dst == b.alignment.dst && a.device == b.device && a.chosen == b.chosen;
  }
};

/// A plan for pointers of the given alignment. Throws when the forced kernel is unknown or does not
/// apply.
Plan make_plan(const Problem& problem, const Alignment& alignment, const DeviceInfo& device,
               const std::string& forced_kernel = {}, const Costs& costs = {});

/// The same plan with `factor` for its alpha, which is neither 0 nor 1 and stood for one that was
/// not known yet; `addend`, for values that become integers, is added after it. All goes through
/// the arithmetic, also with a factor of 1.
Plan with_factor(const Plan& plan, double factor, float addend = 0);

/// The configuration in words, also its name in a file of remembered winners.
std::string describe(const Candidate& candidate, const Problem& normal);
/// One line: kernel, configuration, bytes, predicted time.
std::string to_string(const Plan& plan);
/// Why this kernel: how it was chosen, and how far the best of every other kernel is behind.
std::string why(const Plan& plan);
/// Several lines: the problem, how it was normalised, the kernel, why, and every candidate.
std::string explain(const Plan& plan);
/// The same for programs.
std::string to_json(const Plan& plan);

}  // namespace cornerturn::plan::gpu
