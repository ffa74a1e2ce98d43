// What stands at a source's outer level, in namespaces or not: which names it declares, and which
// words it uses. That is enough to leave out what a kernel does not need.
#pragma once

#include <cstddef>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "workshop/cuda_source/front/tokens.hpp"

namespace cornerturn::cuda_source {

struct Declaration {
  std::size_t begin = 0;  ///< tokens [begin, end)
  std::size_t end = 0;
  std::size_t line = 0;  ///< where its name stands
  bool is_function = false;
  bool is_kernel = false;  ///< __global__
  bool is_device = false;  ///< __device__ or __global__, and not __host__
  bool is_macro = false;   ///< #define
  bool is_call = false;    ///< of a macro, which may declare anything
  bool is_needed = false;  ///< by whatever else stands here: it declares no name that is known
  std::vector<std::string_view> names;
  std::set<std::string_view> uses;
  std::vector<std::shared_ptr<const std::string>> expansions;  ///< texts that names may refer to

  bool declares(std::string_view name) const;
};

/// In the order of the source. They refer to its text, and to what macros of it become.
std::vector<Declaration> declarations_of(const Tokens& tokens);

/// Adds to `names` what the declarations that declare one of them use, again and again.
void add_what_is_used(const std::vector<const Declaration*>& declarations,
                      std::set<std::string_view>& names);

}  // namespace cornerturn::cuda_source
