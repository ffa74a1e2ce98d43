// The plan for a call: known or made.
#pragma once

#include <memory>

#include "api/any_plan.hpp"
#include "api/target.hpp"
#include "cornerturn/cornerturn.hpp"

namespace cornerturn {

struct FoundPlan {
  std::shared_ptr<const plan::AnyPlan> plan;
  bool executed = false;  ///< measuring has solved the problem already
};

/// Checks the views and the options, and finds the plan that this thread used last, one in the
/// cache, or a new one.
FoundPlan find_plan(const View& dst, const ConstView& src, const Epilogue& epilogue,
                    const Options& options, const Target& target);

/// A new plan for a GPU that is only described.
Plan plan_for(const plan::gpu::DeviceInfo& device, const View& dst, const ConstView& src,
              const Epilogue& epilogue, const Options& options);

}  // namespace cornerturn
