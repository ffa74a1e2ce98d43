// THE list: every family of kernels for CPUs, in the order in which equals are preferred.
//
// A family is one type, which stands in plan/NAME.hpp in a namespace of its name:
//
//   struct Family {
//     static constexpr std::string_view name, idea;   // the name forces it; the idea is its reason
//     static constexpr Operations operations;         // that it takes
//     using Config;                                   // every choice, a plain value with ==
//     static const char* why_not(normal, cpu);        // null, or the rule that the problem breaks
//     static void configure(normal, cpu, add);        // offers the configurations
//     static double cost_ns(config, normal, cpu);     // of one thread; one that writes around the
//                                                     // caches may take Setting::dst_phase as well
//     static std::string describe(config, normal);    // its name in files of winners, too
//     static std::string details(config);             // lines that explain() adds; may be missing
//   };
//
// Its kernel is a pair of functions in cpu/kernel.hpp, its costs are a member of CpuCosts.
#pragma once

#include "plan/amax.hpp"
#include "plan/blocks.hpp"
#include "plan/boxes.hpp"
#include "plan/convert.hpp"
#include "plan/copy.hpp"
#include "plan/family.hpp"
#include "plan/gather.hpp"
#include "plan/pack.hpp"
#include "plan/pack_lines.hpp"
#include "plan/passes.hpp"
#include "plan/rows.hpp"
#include "plan/shuffle.hpp"
#include "plan/strided.hpp"
#include "plan/swap.hpp"
#include "plan/tile.hpp"
#include "plan/units.hpp"

namespace cornerturn::plan {

// clang-format off
using CpuFamilies = TypeList<
    copy::Family,
    rows::Family,
    units::Family,
    tile::Family,
    pack_lines::Family,
    pack::Family,
    boxes::Family,
    shuffle::Family,
    strided::Family,
    convert::Family,
    gather::Family,
    blocks::Family,
    amax::Family,
    swap::Family,
    passes::Family>;
// clang-format on

}  // namespace cornerturn::plan
