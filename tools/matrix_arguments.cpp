#include "matrix_arguments.hpp"

#include <fmt/format.h>

#include "arguments.hpp"
#include "cornerturn/error.hpp"
#include "io/schedule.hpp"
#include "workshop/ladder/emulate.hpp"

namespace cornerturn::cli {

ladder::Matrix parse_matrix(const std::string& shape, const std::string& dtype) {
  const std::vector<std::int64_t> extents = parse_numbers("--shape", shape);
  if (extents.size() != 2) {
    throw Error(
        Status::invalid_argument,
        fmt::format("--shape = '{}' has {} extents: a matrix has two, M,N", shape, extents.size()));
  }
  const std::int64_t bytes = parse_dtype("--dtype", dtype).size;
  if (bytes != 1 && bytes != 2 && bytes != 4 && bytes != 8) {
    throw Error(Status::invalid_argument,
                fmt::format("--dtype = '{}' has {} bytes: rungs move elements of 1, 2, 4 or 8",
                            dtype, bytes));
  }
  return ladder::make_matrix(extents[0], extents[1], static_cast<int>(bytes));
}

void require_emulation(const ladder::Matrix& matrix) {
  std::int64_t elements = 0;
  if (__builtin_mul_overflow(matrix.rows, matrix.cols, &elements) ||
      elements > ladder::most_emulated) {
    throw Error(Status::unsupported,
                fmt::format("--shape = {},{} is too large for the emulator, which takes at most {} "
                            "elements: give a smaller shape",
                            matrix.rows, matrix.cols, ladder::most_emulated));
  }
  const std::int64_t needed = ladder::emulation_bytes(matrix);
  const std::int64_t available = available_memory();
  if (needed <= available) return;
  throw Error(
      Status::out_of_memory,
      fmt::format("--shape = {},{} takes {} of memory in the emulator, {} are free: give a "
                  "smaller shape",
                  matrix.rows, matrix.cols, io::size_text(needed), io::size_text(available)));
}

void refuse_rung(const std::string& argument, const std::string& name) {
  std::string known;
  for (const ladder::Rung& rung : ladder::rungs()) {
    known += (known.empty() ? "" : ", ") + std::string(rung.name);
  }
  throw Error(Status::invalid_argument,
              fmt::format("{} = '{}' is no rung; there are {}", argument, name, known));
}

}  // namespace cornerturn::cli
