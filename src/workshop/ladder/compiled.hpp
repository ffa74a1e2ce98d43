// What the compiler made of the rungs: counted in the compiled code by scripts/compiled_rungs.py.
#pragma once

#include <array>
#include <string_view>

namespace cornerturn::ladder {

struct CompiledRung {
  std::string_view rung;
  int bytes = 0;  ///< of an element
  int instructions =
      0;  ///< of the kernel, all its paths, for compute capability 9.0; 0: not counted
  std::array<int, 2> registers = {};  ///< of a thread, for each of `sms` (explain.hpp)
};

/// Null where there is no such rung for elements of this size.
const CompiledRung* find_compiled(std::string_view rung, int bytes);

}  // namespace cornerturn::ladder
