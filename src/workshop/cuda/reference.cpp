#include "workshop/cuda/reference.hpp"

#include <cuda_runtime_api.h>
#include <fmt/format.h>

namespace cornerturn::cuda {

namespace {

std::string describe(const Found& found, const DeviceMatrix& m, bool transposes) {
  const auto i = static_cast<std::int64_t>(found.first);
  const std::int64_t from = source_index(i, m, transposes);
  const std::int64_t width = transposes ? m.rows : m.cols;
  const std::uint64_t expected = source_value(from, m.element_bytes);
  std::uint64_t got = 0;  // the machine is little-endian, as all that CUDA runs on
  check(cudaMemcpy(&got, static_cast<const std::byte*>(m.dst) + i * m.element_bytes,
                   static_cast<std::size_t>(m.element_bytes), cudaMemcpyDeviceToHost),
        "cudaMemcpy");
  const std::uint64_t all = ~0ULL >> (64 - 8 * m.element_bytes);
  // Rows count through the whole stack.
  return fmt::format(
      "output element ({}, {}) {}, not the {:#x} of source element ({}, {}); {} of {} elements "
      "differ",
      i / width, i % width,
      got == (~expected & all) ? "was never written" : fmt::format("is {:#x}", got), expected,
      from / m.cols, from % m.cols, found.count, m.batch * m.rows * m.cols);
}

}  // namespace

std::string difference(const GuardedMatrix& src, const GuardedMatrix& dst, const DeviceMatrix& m,
                       bool transposes, Stream stream) {
  const auto found = compare(src, dst, m, transposes, stream);
  constexpr const char* names[part_count] = {"",
                                             "the source",
                                             "the guard in front of the source",
                                             "the guard behind the source",
                                             "the guard in front of the output",
                                             "the guard behind the output"};
  for (std::size_t part = source; part < part_count; ++part) {
    if (found[part].count == 0) continue;
    return fmt::format("{} was written to, first at its {} {}", names[part],
                       part == source ? "element" : "byte", found[part].first);
  }
  return found[output].count == 0 ? "" : describe(found[output], m, transposes);
}

}  // namespace cornerturn::cuda
