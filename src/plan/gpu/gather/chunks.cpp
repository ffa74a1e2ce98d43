#include "plan/gpu/gather/chunks.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdlib>

#include "kernels/walk.hpp"
#include "plan/gpu/gather/places.hpp"
#include "plan/gpu/gather/repeated.hpp"
#include "plan/gpu/row_runs.hpp"

namespace cornerturn::plan::gpu::gather {

namespace {

// Bytes of the destination: of what repeats, less stays in the L2.
constexpr std::int64_t least_of_chunks = 16 << 20;
constexpr std::int64_t least_of_fields = 1 << 20;
constexpr int least_chunks = 4;  // of a row

// The modes of a problem by their part in chunks.
struct ChunkParts {
  int row = -1;   // rows of the destination
  int near = -1;  // the neighbours in the source

  explicit ChunkParts(const Problem& normal) {
    const std::int64_t size = normal.dst_type.size();
    row = normal.rank() - 1;
    if (row >= 0 && normal.modes[row].src_stride == size && normal.modes[row].dst_stride == size) {
      --row;  // elements that both sides have next to each other
    }
    for (int i = 0; i < row; ++i) {
      const std::int64_t step = std::abs(normal.modes[i].src_stride);
      if (step != 0 && (near < 0 || step < std::abs(normal.modes[near].src_stride))) near = i;
    }
  }
};

// Modes in the order of chunks that hold `extent` elements of the row, of which `chunks` follow
// one another.
Problem ordered(const Problem& normal, std::int64_t chunks, std::int64_t extent) {
  const ChunkParts parts(normal);
  const Mode& row = normal.modes[parts.row];
  Problem order = normal;
  order.modes.clear();
  for (int i = 0; i < parts.row; ++i) {
    if (i != parts.near) order.modes.push_back(normal.modes[i]);
  }
  order.modes.push_back({chunks, extent * row.src_stride, extent * row.dst_stride});
  order.modes.push_back(normal.modes[parts.near]);
  order.modes.push_back({extent, row.src_stride, row.dst_stride});
  for (int i = parts.row + 1; i < normal.rank(); ++i) order.modes.push_back(normal.modes[i]);
  return order;
}

}  // namespace

bool takes_chunks(const Problem& normal) {
  return !normal.converts() && normal.elements() > 0 && normal.rank() < kernels::Walk::max_rank &&
         ChunkParts(normal).near >= 0;
}

bool are_chunks_worth_it(const Problem& normal) {
  const bool repeats = can_repeat(normal);
  if (!(repeats || holds_fields(normal)) || !takes_chunks(normal)) return false;
  const std::int64_t bytes = normal.elements() * normal.dst_type.size();
  const ChunkParts parts(normal);
  const Mode& row = normal.modes[parts.row];
  const int longest = chunk_of(normal, (repeats ? chunk_bytes : chunk_bytes_of_fields).back());
  if (bytes < (repeats ? least_of_chunks : least_of_fields)) return false;
  if (row.extent < least_chunks * longest) return false;
  if (!repeats) return true;
  const std::int64_t step = std::abs(normal.modes[parts.near].src_stride);
  // Where neighbours touch each other, other kernels move them together.
  return step > Rows(normal).bytes && step < burst_bytes && std::abs(row.src_stride) >= burst_bytes;
}

int chunk_of(const Problem& normal, int bytes) {
  const std::int64_t step = std::abs(normal.modes[ChunkParts(normal).row].dst_stride);
  return static_cast<int>(std::max<std::int64_t>(2, bytes / step));
}

Problem in_chunks(const Problem& normal, int chunk) {
  return ordered(normal, normal.modes[ChunkParts(normal).row].extent / chunk, chunk);
}

Problem behind_chunks(const Problem& normal, int chunk) {
  const Mode& row = normal.modes[ChunkParts(normal).row];
  const std::int64_t rest = row.extent % chunk;
  Problem order = ordered(normal, 1, rest);
  order.src_offset += (row.extent - rest) * row.src_stride;
  order.dst_offset += (row.extent - rest) * row.dst_stride;
  return order;
}

MovedRuns runs_of_chunks(const Problem& order) {
  Rows rows(order);
  const Mode chunk = rows.outer.back();
  rows.outer.pop_back();
  const auto step = static_cast<double>(std::abs(chunk.dst_stride));
  const std::int64_t granule = granule_of(rows, &Mode::dst_stride);
  if (step > static_cast<double>(rows.bytes)) return {static_cast<double>(rows.bytes), granule};
  return {static_cast<double>(chunk.extent) * step, granule};
}

}  // namespace cornerturn::plan::gpu::gather
