// What the compiler made of the rungs: counted in the compiled code by scripts/compiled_rungs.py.
#pragma once

#include <array>
#include <string_view>

#include "workshop/ladder/rung.hpp"

namespace cornerturn::ladder {

/// What a thread runs that moves its share of a whole tile, for compute capability 9.0: the
/// shortest way through the code that makes as many accesses as the emulator saw.
struct CompiledPath {
  int instructions = 0;  ///< 0: not counted
  int accesses = 0;      ///< of global and of shared memory
  int trips = 0;         ///< how often it waits for global loads that are on their way
  int turn = 0;          ///< instructions of one more turn of its loop over matrices, if it has one
};

struct CompiledRung {
  std::string_view rung;
  int bytes = 0;                      ///< of an element
  int instructions = 0;               ///< of the kernel, all its paths; 0: not counted
  std::array<int, 2> registers = {};  ///< of a thread, for each of `sms` (explain.hpp)
  CompiledPath vectors = {};          ///< where it moves as many bytes at a time as it can
  CompiledPath elements = {};         ///< where it moves single elements
};

/// Null where there is no such rung for elements of this size. A stack has an instance of its own.
const CompiledRung* find_compiled(std::string_view rung, int bytes, bool stack = false);
/// Of the instance that moves this matrix, or stack of matrices.
const CompiledRung* find_compiled(std::string_view rung, const Matrix& matrix);

}  // namespace cornerturn::ladder
