// packed: threads of the CPU pack pieces into pinned memory of the library, or unpack them from it.
#pragma once

#include <string_view>

#include "plan/link/family.hpp"

namespace cornerturn::plan::link::packed {

struct Family {
  static constexpr std::string_view name = "packed";
  static constexpr std::string_view idea = "the CPU packs or unpacks on the host's side";
  static constexpr Operations operations{Operation::move, Operation::convert};

  static const char* why_not(const Problem& normal, const LinkInfo& link);
  static void configure(const Question& question, const AddRoute& add);
};

}  // namespace cornerturn::plan::link::packed
