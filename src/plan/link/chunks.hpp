// chunks: the copy engine moves spans of the host's pinned memory as they lie, and the GPU's
// kernels work one span behind, or ahead, of it.
#pragma once

#include <string_view>

#include "plan/link/family.hpp"

namespace cornerturn::plan::link::chunks {

struct Family {
  static constexpr std::string_view name = "chunks";
  static constexpr std::string_view idea = "the copy engine moves spans, the GPU rearranges them";
  static constexpr Operations operations{Operation::move, Operation::convert};

  static const char* why_not(const Problem& normal, const LinkInfo& link);
  static void configure(const Question& question, const AddRoute& add);
};

}  // namespace cornerturn::plan::link::chunks
