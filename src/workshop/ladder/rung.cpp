#include "workshop/ladder/rung.hpp"

#include <fmt/format.h>

#include "core/checked.hpp"

namespace cornerturn::ladder {

const RungBody* Rung::body(int bytes) const {
  for (const RungBody& candidate : bodies) {
    if (candidate.bytes == bytes) return &candidate;
  }
  return nullptr;
}

std::optional<TileMap> Rung::tile(int bytes) const {
  if (const RungBody* with_tile = body(bytes)) return with_tile->tile;
  return bytes == 4 ? cute_tile : std::nullopt;
}

std::optional<std::string> refused(const Rung& rung, const Matrix& matrix) {
  if (const RungBody* body = rung.body(matrix.bytes)) {
    if (body->takes_stacks || (matrix.batch == 1 && !matrix.fused)) return std::nullopt;
    return fmt::format("it takes one matrix, not a stack of {}", matrix.batch);
  }
  std::string sizes;
  for (const RungBody& body : rung.bodies) {
    sizes += fmt::format("{}{}", sizes.empty() ? "" : ", ", body.bytes);
  }
  return fmt::format("it takes elements of {} B, not of {} B", sizes, matrix.bytes);
}

Matrix make_matrix(std::int64_t rows, std::int64_t cols, int bytes, std::int64_t batch,
                   bool fused) {
  const auto what = [&] {
    return fmt::format("shape = {},{}: the size of its elements of {} B each", rows, cols, bytes);
  };
  checked_mul(checked_mul(checked_mul(rows, cols, what), bytes, what), batch, what);
  return {rows, cols, bytes, batch, fused};
}

}  // namespace cornerturn::ladder
