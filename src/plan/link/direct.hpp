// direct: one of the GPU's kernels loads from, or stores into, the host's pinned memory.
#pragma once

#include <string_view>

#include "plan/link/family.hpp"

namespace cornerturn::plan::link::direct {

struct Family {
  static constexpr std::string_view name = "direct";
  static constexpr std::string_view idea = "kernels reach over the link";
  static constexpr Operations operations{Operation::move, Operation::convert, Operation::quantise,
                                         Operation::dequantise};
  static constexpr bool sees_lists = true;

  static const char* why_not(const Problem& normal, const LinkInfo& link);
  static void configure(const Question& question, const AddRoute& add);
};

}  // namespace cornerturn::plan::link::direct
