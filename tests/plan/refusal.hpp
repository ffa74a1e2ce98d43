#pragma once

#include <string>

#include "cornerturn/error.hpp"
#include "plan/planner.hpp"

namespace cornerturn::plan {

/// What the request is refused with on some CPU; empty: it is not.
inline std::string message_of(const Problem& problem, const Request& request) {
  try {
    make_plan(problem, CpuInfo{}, request);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace cornerturn::plan
