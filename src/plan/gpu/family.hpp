// What a family of kernels for GPUs offers to everything else. A family is one type, which stands
// in plan/gpu/NAME.hpp in a namespace of its name:
//
//   struct Family {
//     static constexpr std::string_view name, idea;   // the name forces it; the idea is its reason
//     static constexpr Operations operations;         // that it takes
//     using Config;                                   // every choice, a plain value with ==
//     using Args;                     // the kernel's arguments; dispatch(args, visit) chooses the
//                                     // instance (kernels/context.hpp). Where kernels name an
//                                     // Args of their own, Args::form is a variant of these
//     struct Costs;                                   // of this family: members of type Cost alone
//     static const char* why_not(normal, device);     // null, or the rule that the problem breaks
//     static void configure(normal, start, device, add);   // offers the configurations; takes the
//                                     // machine instead if it makes plans of other families
//     static Estimate estimate(config, normal, model, costs);
//     static std::string describe(config, normal);    // its name in files of winners, too
//     static Launchable<Args> prepare(config, normal);
//
//     struct Facts;   // made from a problem, for all that is asked about it: configure takes them
//                     // before `add` then, and estimate takes them last; may be missing
//     static Estimate least(normal, start, model, costs, facts);   // no configuration is estimated
//                                     // to take less: planned without being made where another
//                                     // family's is faster than that; may be missing
//     static std::string details(config);             // lines that explain() adds; may be missing
//     static std::int64_t workspace(config);          // bytes beside the arrays; may be missing
//     static const Parts& parts(config);              // where plans of other families do the work
//                                                     // (parts.hpp); may be missing
//
//     // Where the arguments are more than src and dst: puts the addresses into those of launch
//     // number `launch`. It runs at every call of a plan, so it allocates nothing (bind.hpp).
//     static void bind(args, normal, buffers, launch);
//   };
//
// families.hpp lists all of them. Planner, launches, emulator, tests and tables are made from it.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "core/normalise.hpp"
#include "core/problem.hpp"
#include "kernels/context.hpp"
#include "plan/family.hpp"
#include "plan/gpu/device_info.hpp"
#include "plan/gpu/estimate.hpp"

namespace cornerturn::plan::gpu {

/// A launch, complete but for the pointers in its arguments.
template <class Args>
struct Launchable {
  Args args;
  Launch launch;
  std::shared_ptr<const Launchable> then = {};  ///< the launch that follows, where there is one
};

}  // namespace cornerturn::plan::gpu
