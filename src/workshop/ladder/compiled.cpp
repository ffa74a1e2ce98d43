#include "workshop/ladder/compiled.hpp"

#include <span>

#include "workshop/ladder/compiled_table.hpp"

namespace cornerturn::ladder {

const CompiledRung* find_compiled(std::string_view rung, int bytes, bool stack) {
  const std::span<const CompiledRung> rows =
      stack ? std::span<const CompiledRung>(compiled_stacks) : compiled_rungs;
  for (const CompiledRung& row : rows) {
    if (row.rung == rung && row.bytes == bytes) return &row;
  }
  return nullptr;
}

const CompiledRung* find_compiled(std::string_view rung, const Matrix& matrix) {
  return find_compiled(rung, matrix.bytes, matrix.batch != 1 || matrix.fused);
}

}  // namespace cornerturn::ladder
