// The check of a result against its source: plain loops that share nothing with the kernels.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "cornerturn/error.hpp"
#include "io/grid.hpp"
#include "io/rearrange.hpp"
#include "io/schedule.hpp"
#include "io/workers.hpp"

namespace cornerturn::io {
namespace {

constexpr std::int64_t compared_box = std::int64_t{1} << 20;

// One side of a box: its first element and its strides in bytes.
struct Place {
  const std::byte* data;
  Extents strides;
};

template <std::int64_t Size>
bool same(const std::byte* a, const std::byte* b, std::int64_t) {
  return std::memcmp(a, b, Size) == 0;
}
bool same_bytes(const std::byte* a, const std::byte* b, std::int64_t size) {
  return std::memcmp(a, b, static_cast<std::size_t>(size)) == 0;
}

// False when an element differs; `different` is then its index.
template <class Same>
bool equal_boxes(const Place& a, const Place& b, const Extents& extent, std::int64_t size,
                 const Same& same_element, Extents& different) {
  const std::size_t rank = extent.size();
  Extents index(rank, 0);
  if (rank == 0) return same_element(a.data, b.data, size);
  const std::int64_t row = extent[rank - 1];
  while (true) {
    const std::byte* left = a.data;
    const std::byte* right = b.data;
    for (std::size_t m = 0; m + 1 < rank; ++m) {
      left += index[m] * a.strides[m];
      right += index[m] * b.strides[m];
    }
    for (std::int64_t i = 0; i < row; ++i) {
      if (!same_element(left, right, size)) {
        index[rank - 1] = i;
        different = index;
        return false;
      }
      left += a.strides[rank - 1];
      right += b.strides[rank - 1];
    }
    std::size_t m = rank - 1;
    while (m > 0 && ++index[m - 1] == extent[m - 1]) index[--m] = 0;
    if (m == 0) return true;
  }
}

bool equal(const Place& a, const Place& b, const Extents& extent, std::int64_t size,
           Extents& different) {
  switch (size) {
    case 1:
      return equal_boxes(a, b, extent, size, same<1>, different);
    case 2:
      return equal_boxes(a, b, extent, size, same<2>, different);
    case 4:
      return equal_boxes(a, b, extent, size, same<4>, different);
    case 8:
      return equal_boxes(a, b, extent, size, same<8>, different);
    case 16:
      return equal_boxes(a, b, extent, size, same<16>, different);
    default:
      return equal_boxes(a, b, extent, size, same_bytes, different);
  }
}

// Are values equal that change on their way? Each one is converted by itself.
bool equal_converted(const Place& from, const Place& to, const Problem& problem, const Box& box,
                     const FileConversion& conversion, Extents& different) {
  const std::size_t rank = box.extent.size();
  const auto size = static_cast<std::size_t>(conversion.dst_size());
  Extents index(rank, 0);
  while (true) {
    const std::byte* left = from.data;
    const std::byte* right = to.data;
    std::int64_t offset = problem.dst_offset;
    for (std::size_t m = 0; m < rank; ++m) {
      left += index[m] * from.strides[m];
      right += index[m] * to.strides[m];
      offset += (box.start[m] + index[m]) * problem.modes[static_cast<int>(m)].dst_stride;
    }
    std::byte expected[16];
    conversion.run_singly(left, offset, expected);
    if (std::memcmp(expected, right, size) != 0) {
      different = index;
      return false;
    }
    std::size_t m = rank;
    while (m > 0 && ++index[m - 1] == box.extent[m - 1]) index[--m] = 0;
    if (m == 0) return true;
  }
}

// Elements of `box` on one side, brought together in `buffer`: they would share cache sets where
// the strides are powers of two.
Place place_of(const Problem& problem, const Source& source, const Box& box, Side side,
               const Buffer& buffer, Progress& progress) {
  std::byte* next = buffer.data();
  const std::int64_t run = run_bytes(problem, box.extent, side);
  for_each_run(problem, box, side, [&](std::int64_t offset) {
    if (source.memory != nullptr) {
      std::memcpy(next, source.memory + offset, static_cast<std::size_t>(run));
    } else {
      source.file->read_at(next, run, source.offset + offset);
    }
    next += run;
  });
  progress.bytes_read += next - buffer.data();
  return {buffer.data(), packed_like(problem, box.extent, side)};
}

}  // namespace

void verify(const Problem& problem, const Source& source, const Source& result, int threads,
            std::int64_t memory, Progress& progress, const FileConversion& conversion) {
  if (problem.bytes() == 0) return;
  // The result's side, where its elements have another size.
  Problem converted = problem;
  converted.dst_type = converted.src_type =
      conversion.converts() ? conversion.dst_type() : problem.dst_type;
  for (Mode& mode : converted.modes) {
    mode.dst_stride = conversion.result_bytes(mode.dst_stride);
    mode.src_stride = conversion.result_bytes(mode.src_stride);
  }
  const int workers = std::max(1, threads);
  const std::int64_t budget = memory > 0 ? (memory - program_memory) / (2 * workers) : compared_box;
  const Grid grid = balanced_grid(problem, budget, 1, 1);
  const std::int64_t size = problem.dst_type.size();
  std::vector<Buffer> buffers;
  buffers.reserve(2 * static_cast<std::size_t>(workers));
  const std::int64_t widest = std::max<std::int64_t>(size, converted.dst_type.size());
  for (int i = 0; i < 2 * workers; ++i) buffers.emplace_back(grid.tile_elements() * widest);
  run_workers(workers, grid.size(), [&](int worker, std::int64_t index) {
    const Box box = grid.box(index);
    const std::size_t w = 2 * static_cast<std::size_t>(worker);
    const Place from = place_of(problem, source, box, Side::source, buffers[w], progress);
    const Place to = place_of(converted, result, box, Side::destination, buffers[w + 1], progress);
    Extents different;
    progress.bytes_compared += box.elements() * size;
    const bool right = conversion.converts()
                           ? equal_converted(from, to, problem, box, conversion, different)
                           : equal(from, to, box.extent, size, different);
    if (right) return;
    for (std::size_t m = 0; m < different.size(); ++m) different[m] += box.start[m];
    throw Error(Status::internal, fmt::format("verification found a wrong element at index ({})",
                                              fmt::join(different, ", ")));
  });
}

}  // namespace cornerturn::io
