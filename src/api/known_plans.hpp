// The plan for a call: known or made.
#pragma once

#include <memory>

#include "cornerturn/cornerturn.hpp"
#include "plan/plan.hpp"

namespace cornerturn {

struct FoundPlan {
  std::shared_ptr<const plan::Plan> plan;
  bool executed = false;  ///< measuring has solved the problem already
};

/// Checks the views and the options, and finds the plan that this thread used last, one in the
/// cache, or a new one.
FoundPlan find_plan(const View& dst, const ConstView& src, const Options& options);

}  // namespace cornerturn
