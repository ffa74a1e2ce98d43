// Few arrays of elements are interleaved in registers. Of others a chunk of every array is
// collected in a stage in the second-level cache, side by side as if they were one array, and moved
// from there to the destination by whichever kernel suits that array. Meanwhile the next chunk is
// fetched.
#include "cpu/interleave.hpp"

#include <algorithm>
#include <cstring>
#include <functional>

#include "core/divide.hpp"
#include "core/per_thread.hpp"
#include "core/problem.hpp"
#include "cpu/cpu_info.hpp"
#include "cpu/engine.hpp"
#include "cpu/interleave_vector.hpp"
#include "cpu/parallel.hpp"
#include "cpu/scratch.hpp"
#include "cpu/threads.hpp"
#include "plan/cpu/box_moves.hpp"
#include "plan/cpu/stores.hpp"
#include "plan/planner.hpp"

namespace cornerturn::cpu {
namespace {

// Policies. A stage takes so much of the second-level cache. Of each array it has so many bytes at
// least, and then takes up to half of that cache.
constexpr std::int64_t stage_share = 16;
constexpr std::int64_t most_share = 2;
constexpr std::int64_t least_run = 1024;
constexpr std::int64_t short_bytes = 16 << 20;  // done in less than a time slice
constexpr std::int64_t line = 64;
constexpr std::int64_t piece = 4096;  // elements of each of few arrays that are done at a time

// What a call does, but for addresses.
struct Shape {
  std::int64_t arrays = 0;
  std::int64_t rows = 0;
  std::int64_t row = 0;  // elements
  ElementType type{Kind::u8};

  std::int64_t row_bytes() const { return row * type.size(); }
  std::int64_t bytes() const { return arrays * rows * row_bytes(); }
  friend bool operator==(const Shape&, const Shape&) = default;
};

// All arrays as one.
Problem problem_of(const Shape& shape, std::int64_t rows, std::int64_t from_array_to_array) {
  const std::int64_t width = shape.type.size();
  Problem problem;
  problem.src_type = problem.dst_type = shape.type;
  problem.modes = {{rows, shape.row_bytes(), shape.arrays * shape.row_bytes()},
                   {shape.arrays, from_array_to_array, shape.row_bytes()},
                   {shape.row, width, width}};
  return problem;
}

// How the rows are cut, and how a chunk goes from the stage to its place.
struct Chunks {
  Shape shape;
  std::int64_t rows = 0;   // of a chunk
  std::int64_t count = 0;  // chunks; the last one may have fewer rows
  std::int64_t pitch = 0;  // bytes from one array to the next, in the stage
  plan::BoxMoves moves;    // of whole chunks, and of the last one

  Chunks() = default;
  explicit Chunks(const Shape& of) : shape(of) {
    const plan::CpuInfo& cpu = cpu_info();
    const std::int64_t a_row = shape.row_bytes();
    const std::int64_t most = cpu.l2_bytes / most_share / shape.arrays;
    const std::int64_t run =
        std::clamp(cpu.l2_bytes / stage_share / shape.arrays, std::min(least_run, most), most);
    rows = std::clamp<std::int64_t>(run / a_row, 1, shape.rows);
    if (rows > line) rows -= rows % line;  // whole lines of the destination
    count = ceil_div(shape.rows, rows);
    // An odd number of lines spreads the arrays over the sets of the cache.
    pitch = (ceil_div(rows * a_row, line) | 1) * line;
    plan::CpuInfo stage = cpu;
    // What is stored in pieces may be large as a whole.
    stage.caches_taken = plan::past_caches(plan::stores_for(problem_of(shape, shape.rows, 0), cpu));
    moves = plan::plan_moves(
        2, [&](int which) { return problem_of(shape, which == 0 ? rows : last_rows(), pitch); },
        stage);
  }

  std::int64_t last_rows() const { return shape.rows - (count - 1) * rows; }
  std::size_t stage_bytes() const { return static_cast<std::size_t>(shape.arrays * pitch); }
};

// Those of the thread's call before, for calls in a loop.
const Chunks& chunks_of(const Shape& shape) {
  auto& known = PerThread<Chunks>::get();
  if (!(known.shape == shape)) known = Chunks(shape);
  return known;
}

// Copies `bytes` bytes, of which as many follow that will be read next.
void collect(std::byte* to, const std::byte* from, std::int64_t bytes, bool fetches) {
  std::int64_t at = 0;
  for (; at + line <= bytes; at += line) {
    if (fetches) __builtin_prefetch(from + at + bytes, 0, 2);
    std::memcpy(to + at, from + at, line);
  }
  std::memcpy(to + at, from + at, static_cast<std::size_t>(bytes - at));
}

void run_chunks(const Chunks& chunks, std::byte* dst, std::span<const void* const> arrays,
                std::int64_t first, std::int64_t last) {
  std::byte* const stage = thread_scratch(Scratch::converting, chunks.stage_bytes());
  const std::int64_t a_row = chunks.shape.row_bytes();
  for (std::int64_t i = first; i < last; ++i) {
    const bool is_last = i + 1 == chunks.count;
    const std::int64_t before = i * chunks.rows * a_row;
    const std::int64_t bytes = (is_last ? chunks.last_rows() : chunks.rows) * a_row;
    std::byte* to = stage;
    for (const void* array : arrays) {
      collect(to, static_cast<const std::byte*>(array) + before, bytes, !is_last);
      to += chunks.pitch;
    }
    run_move(chunks.moves.of_shape[is_last ? 1 : 0], dst + before * chunks.shape.arrays, stage);
  }
}

// Calls run(first, last) for ranges of `count` pieces of the work on `problem`.
void in_ranges(std::int64_t count, const Problem& problem, int threads,
               const std::function<void(std::int64_t, std::int64_t)>& run) {
  threads = resolve_threads(threads, plan::useful_threads(problem));
  if (problem.bytes() < short_bytes) threads = threads_that_run(threads);
  if (threads == 1 || count == 1) return run(0, count);
  parallel_ranges(threads, count, std::max<std::int64_t>(1, count / (threads * 16L)), run);
}

}  // namespace

void interleave(void* dst, const Interleaved& from, int threads) {
  const Shape shape{std::ssize(from.arrays), from.rows, from.row, from.type};
  if (shape.bytes() == 0) return;
  auto* const to = static_cast<std::byte*>(dst);
  const Problem whole = problem_of(shape, shape.rows, shape.rows * shape.row_bytes());
  if (interleaves_in_vectors(shape.arrays, shape.row_bytes())) {
    const bool around = plan::past_caches(plan::stores_for(whole, cpu_info()));
    const auto run = [&](std::int64_t first, std::int64_t last) {
      interleave_in_vectors(to, from.arrays, shape.row_bytes(), first * piece,
                            std::min(last * piece, shape.rows), around);
    };
    return in_ranges(ceil_div(shape.rows, piece), whole, threads, std::ref(run));
  }
  const Chunks& chunks = chunks_of(shape);
  const auto run = [&](std::int64_t first, std::int64_t last) {
    run_chunks(chunks, to, from.arrays, first, last);
  };
  in_ranges(chunks.count, whole, threads, std::ref(run));
}

}  // namespace cornerturn::cpu
