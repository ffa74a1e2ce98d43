#include <fmt/format.h>

#include "cornerturn/error.hpp"
#include "workshop/analyse/cute_legs.hpp"
#include "workshop/ladder/emulate.hpp"
#include "workshop/rungs/matrix.hpp"

namespace cornerturn::ladder {

Prediction predict(const Rung& rung, const Matrix& matrix) {
  if (rung.family == Family::kernel_form) return emulate(rung, matrix);
  const CuteInfo& info = *find_cute(rung.name);
  Prediction result;
  result.matrix = matrix;
  result.report = cute_report(rung.name, matrix.rows, matrix.cols, matrix.bytes, &result.first);
  result.report.tile = kind_of(rung.cute_tile);
  result.shared_bytes = info.shared_bytes;
  const std::int64_t blocks =
      info.tile_rows == 1
          ? tiles_of(matrix.rows * matrix.cols, info.tile_cols)
          : tiles_of(matrix.rows, info.tile_rows) * tiles_of(matrix.cols, info.tile_cols);
  result.launch.grid.x = static_cast<unsigned>(blocks);
  result.launch.block.x = static_cast<unsigned>(info.threads);
  return result;
}

void emulate(const Rung& rung, std::int64_t rows, std::int64_t cols, const Conversion& types,
             const void* src, void* dst) {
  if (const auto reason = why_not(rung, types)) {
    throw Error(Status::unsupported, fmt::format("{}: {}", rung.name, *reason));
  }
  const Matrix from = make_matrix(rows, cols, types.src.size());
  const Matrix to = make_matrix(rows, cols, types.dst.size());
  if (from.size() == 0) return;
  simt::Emulator emulator;
  emulator.input("src", src, static_cast<std::size_t>(from.size()));
  emulator.output("dst", dst, static_cast<std::size_t>(to.size()));
  rung.convert(emulator, src, dst, rows, cols, types);
  check_findings(rung, emulator);
}

}  // namespace cornerturn::ladder
