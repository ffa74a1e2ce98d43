// What the kernels of a GPU's plan do to memory: counted in the emulator, on a small problem of the
// same kind.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "plan/plan.hpp"

namespace cornerturn {

/// One candidate's requests, scaled to the whole problem.
struct CandidateAccesses {
  plan::Candidate candidate;
  double sectors_loaded = 0;  ///< of 32 bytes, of global memory
  double sectors_stored = 0;
  double wavefronts = 0;        ///< of shared memory
  double wavefronts_ideal = 0;  ///< if each request's bytes lay together
};

struct PlanReport {
  Problem counted;      ///< what the emulator ran
  double elements = 0;  ///< of the whole problem
  double src_element_bytes = 1;
  double element_bytes = 1;
  std::vector<CandidateAccesses> candidates;

  /// A line for each candidate.
  std::string text(const plan::Plan& plan) const;
  std::string json(const plan::Plan& plan) const;
};

/// The cheapest candidates of the plan, at most `count`: of each kernel, then of all. The chosen
/// one is among them. Those whose
/// configuration the small problem does not have are left out. Nothing when no small problem has
/// such modes.
std::optional<PlanReport> report_of(const plan::Plan& plan, std::size_t count);

/// A small problem whose accesses are those of `normal`, a normalised one: the same edges of tiles,
/// the same alignment of rows. Nothing when it has too many modes to be made small.
std::optional<Problem> representative(const Problem& normal);

}  // namespace cornerturn
