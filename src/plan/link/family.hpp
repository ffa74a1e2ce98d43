// What a family of routes across the link offers to everything else. A family is one type, which
// stands in plan/link/NAME.hpp in a namespace of its name:
//
//   struct Family {
//     static constexpr std::string_view name, idea;   // the name forces it; the idea is its reason
//     static constexpr Operations operations;         // that it takes
//     static constexpr bool sees_lists = true;        // problems with lists are taken as well
//     static const char* why_not(normal, link);       // null, or the rule that the problem breaks
//     static void configure(question, add);           // offers routes, with their times
//   };
//
// families.hpp lists all of them.
#pragma once

#include <functional>
#include <memory>

#include "core/normalise.hpp"
#include "core/problem.hpp"
#include "plan/link/link_info.hpp"
#include "plan/link/route.hpp"
#include "plan/machine.hpp"

namespace cornerturn::plan::link {

/// What routes are asked for.
struct Question {
  const Problem& normal;
  Alignment start;  ///< of the addresses of first elements
  const Machine& machine;

  const LinkInfo& link() const { return *machine.link(); }
  Machine gpu() const { return {link().gpu, machine.gpu_costs()}; }
  /// What a piece reads has not been read before, and what it writes goes on to the link.
  Machine cpu() const {
    CpuInfo cpu = link().cpu;
    cpu.caches_taken = true;
    return {cpu};
  }
};

using AddRoute = std::function<void(std::shared_ptr<const Route>)>;

}  // namespace cornerturn::plan::link
