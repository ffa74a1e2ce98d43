#include "workshop/ladder/compiled.hpp"

#include "workshop/ladder/compiled_table.hpp"

namespace cornerturn::ladder {

const CompiledRung* find_compiled(std::string_view rung, int bytes) {
  for (const CompiledRung& row : compiled_rungs) {
    if (row.rung == rung && row.bytes == bytes) return &row;
  }
  return nullptr;
}

}  // namespace cornerturn::ladder
