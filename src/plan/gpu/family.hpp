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
//     static Demand demand(config, normal, model, costs);   // what it asks of a device; roofline()
//                                     // alone turns that into a time
//     static std::string describe(config, normal);    // its name in files of winners, too
//     static Launchable<Args> prepare(config, normal);
//
//     static constexpr bool assumed = true;   // no fit has seen the costs: while there are others,
//                                     // such a candidate has turns, but never the first call
//     static constexpr bool takes_lists = true;   // problems with lists are all that is taken
//     static constexpr bool sees_lists = true;    // or: they are taken as well
//     struct Common;  // what all configurations of a problem have in common, made from it once:
//                     // configure takes it before `add` then, and demand last; may be missing
//     // Where demand() counts what takes long: less than any configuration asks for, and than this
//     // one does. A quick plan counts only what may be the best. May be missing.
//     static constexpr bool has_least_demand = true;
//     static Demand least_demand(start, normal, model, costs, common);
//     static Demand least_demand(config, normal, model, costs, common);
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
#include "plan/gpu/roofline.hpp"

namespace cornerturn::plan::gpu {

/// A launch, complete but for the pointers in its arguments.
template <class Args>
struct Launchable {
  Args args;
  Launch launch;
  std::shared_ptr<const Launchable> then = {};  ///< the launch that follows, where there is one
};

/// What a launch demands that moves every sector once, but for its instructions.
template <class Args>
Demand demand_of_launch(const Launchable<Args>& ready, double block_seconds, const Model& model) {
  Demand demand{.src_bytes = model.least.src_bytes, .dst_bytes = model.least.dst_bytes};
  demand.blocks = static_cast<double>(ready.launch.grid.count());
  demand.block_seconds = block_seconds;
  dispatch(ready.args, [&]<class Kernel>() {
    demand.resident = resident_blocks(model.device, Kernel::threads, ready.launch.dynamic_shared,
                                      Kernel::min_blocks);
  });
  return demand;
}

}  // namespace cornerturn::plan::gpu
