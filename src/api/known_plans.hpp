// The plan for a call: known or made.
#pragma once

#include <memory>
#include <string_view>

#include "api/target.hpp"
#include "core/buffers.hpp"
#include "cornerturn/cornerturn.hpp"
#include "plan/plan.hpp"

namespace cornerturn {

/// As Options::kernel: any kernel, even where CORNERTURN_KERNEL names one.
inline constexpr std::string_view any_kernel = "any";

struct FoundPlan {
  std::shared_ptr<const plan::Plan> plan;
  bool executed = false;  ///< measuring has solved the problem already
};

/// Checks the views and the options, and finds the plan that this thread used last, one in the
/// cache, or a new one.
FoundPlan find_plan(const View& dst, const ConstView& src, const Epilogue& epilogue,
                    const Options& options, const Target& target);

/// Finds the plan for a problem of any operation, in the cache or new. `buffers` is where it lies,
/// which has been checked, for plans that are measured.
FoundPlan find_plan(const Problem& problem, const Options& options, const Target& target,
                    const Buffers& buffers);

/// Solves the problem of the call that the plan was found for, unless that is done already. Throws
/// an Error, before anything is written, where the pointers are wrong.
void run_found(const FoundPlan& found, const View& dst, const ConstView& src,
               const Epilogue& epilogue, const Options& options);

/// A new plan for a GPU that is only described.
std::shared_ptr<const plan::Plan> plan_for(const plan::gpu::DeviceInfo& device,
                                           const Problem& problem, const Options& options);

/// Runs a plan, after all checks. `stream` is a cudaStream_t.
void run(const plan::Plan& plan, const Buffers& buffers, void* stream);

/// Runs a plan that was found for a call: where there is something to learn, by another of its
/// candidates. The winner of the first calls is known from then on.
void run_and_learn(const std::shared_ptr<const plan::Plan>& plan, const Buffers& buffers,
                   void* stream);

}  // namespace cornerturn
