// THE list: every family of kernels for CPUs, in the order in which equals are preferred.
//
// A family is one type, which stands in plan/cpu/NAME.hpp in a namespace of its name:
//
//   struct Family {
//     static constexpr std::string_view name, idea;   // the name forces it; the idea is its reason
//     static constexpr Operations operations;         // that it takes
//     using Config;                                   // every choice, a plain value with ==
//     struct Costs;                                   // the numbers of its estimate
//     static const char* why_not(normal, cpu);        // null, or the rule that the problem breaks
//     static void configure(normal, cpu, add);        // offers the configurations; may take costs
//                                                     // before `add`
//     static double cost_ns(config, normal, cpu, costs);  // of one thread; one that writes around
//                                                     // the caches may take Setting::dst_phase too
//     static std::string describe(config, normal);    // its name in files of winners, too
//     static std::string details(config);             // lines that explain() adds; may be missing
//     static constexpr bool spreads_lists, sees_lists, takes_lists;   // where one is there:
//                                                     // problems with lists are taken as
//                                                     // spread.hpp has them, or as they are, or
//                                                     // are all that is taken
//   };
//
// Its kernel is NAME_kernel in cpu/NAME.cpp. The build reads the list as well.
#pragma once

#include "plan/cpu/amax.hpp"
#include "plan/cpu/blocks.hpp"
#include "plan/cpu/boxes.hpp"
#include "plan/cpu/convert.hpp"
#include "plan/cpu/copy.hpp"
#include "plan/cpu/gather.hpp"
#include "plan/cpu/listed.hpp"
#include "plan/cpu/pack.hpp"
#include "plan/cpu/pack_lines.hpp"
#include "plan/cpu/passes.hpp"
#include "plan/cpu/rows.hpp"
#include "plan/cpu/shuffle.hpp"
#include "plan/cpu/strided.hpp"
#include "plan/cpu/swap.hpp"
#include "plan/cpu/tile.hpp"
#include "plan/cpu/units.hpp"
#include "plan/family.hpp"

namespace cornerturn::plan {

// The build reads one a line.
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
    listed::Family,
    blocks::Family,
    amax::Family,
    swap::Family,
    passes::Family>;
// clang-format on

}  // namespace cornerturn::plan
