// batch: both sides consist of the same long runs, and the copy engine moves each of them.
#pragma once

#include <string_view>

#include "plan/link/family.hpp"

namespace cornerturn::plan::link::batch {

struct Family {
  static constexpr std::string_view name = "batch";
  static constexpr std::string_view idea = "whole runs by the copy engine";
  static constexpr Operations operations{Operation::move};

  static const char* why_not(const Problem& normal, const LinkInfo& link);
  static void configure(const Question& question, const AddRoute& add);
};

}  // namespace cornerturn::plan::link::batch
