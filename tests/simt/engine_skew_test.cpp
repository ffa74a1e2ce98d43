// Tiles of skew that have whole rows of the destination, which follow each other without a gap.
#include <algorithm>

#include "engine_support.hpp"
#include "plan/gpu/skew.hpp"

namespace cornerturn::simt {
namespace {

// Candidates that join rows: all, or those of the form that gathers.
int count_joined(const Problem& problem, bool gathered = false) {
  const std::int64_t size = problem.dst_type.size();
  const Plan plan = plan::make_plan(problem, some_device(), {1, "skew", {true, size, size}});
  return static_cast<int>(std::ranges::count_if(plan.candidates, [&](const Candidate& candidate) {
    const auto& config = candidate.config.as<plan::gpu::TileConfig>();
    if (gathered && config.shape >= kernels::skew_shape_count) return false;
    return plan::gpu::skew::Family::prepare(config, plan.normal).args.whole_rows;
  }));
}

// Matrices, or several of them one after the other.
Problem with_rows(std::int64_t size, std::int64_t rows, std::int64_t cols, std::int64_t pitch,
                  std::int64_t matrices = 1) {
  return problem_of(static_cast<int>(size), {{matrices, rows * pitch * size, rows * cols * size},
                                             {cols, size, rows * size},
                                             {rows, pitch * size, size}});
}

// Rows as short as a sector, and as long as the highest tile has room for: they begin in sectors or
// between them, and the last tile has fewer columns.
TEST(Engine, SkewJoinsRows) {
  int turn = 0;
  for (const std::int64_t size : {1, 2, 4, 8}) {
    for (const std::int64_t bytes :
         {32, 36, 60, 64, 84, 124, 128, 140, 156, 172, 256, 287, 400, 543}) {
      for (const std::int64_t odd : {0, 1}) {
        const std::int64_t rows = bytes / size + odd;
        if (size == 8 && rows % 2 == 0)
          continue;  // `tile` takes these where all else is even as well
        const std::int64_t more = 128 / size + 1;  // a column more than tiles have
        const std::int64_t cols[] = {2 + turn % 7, more, more + turn % 90};
        const Problem problem = with_rows(size, rows, cols[turn % 3], cols[turn % 3] + turn % 5);
        const bool fits = rows * size >= 32 && rows * size < (size <= 2 ? 256 : 512) + 32;
        EXPECT_EQ(count_joined(problem) > 0, fits) << to_string(problem);
        EXPECT_EQ(count_joined(problem, true) > 0, fits && size > 1) << to_string(problem);
        run_and_compare(problem, turn % 16 * size, (turn * 7) % 32 * size, "skew");
        if (HasFailure()) FAIL() << to_string(problem);
        ++turn;
      }
    }
  }
}

// Rows of several modes, and more than one matrix.
TEST(Engine, SkewJoinsRowsOfModes) {
  for (const std::int64_t size : {1, 2, 4, 8}) {
    const std::int64_t cols = 151;
    const Problem modes =
        problem_of(static_cast<int>(size), {{3, 60 * cols * size, 60 * cols * size},
                                            {cols, size, 60 * size},
                                            {5, cols * size, 12 * size},
                                            {12, 5 * cols * size, size}});
    const Problem several = with_rows(size, 57, cols, cols, 3);
    for (const Problem& problem : {modes, several}) {
      EXPECT_GT(count_joined(problem), 0) << to_string(problem);
      for (const std::int64_t phase : {0, 3}) {
        run_and_compare(problem, phase * size, 5 * phase * size, "skew");
      }
    }
  }
}

// Rows with gaps between them begin and end within sectors, at every place: what they have there
// leaves by words and by single elements, of rows that have less than a sector, too. The last tile
// has few rows.
TEST(Engine, SkewWritesTheEndsOfRows) {
  int turn = 0;
  for (const std::int64_t size : {1, 2, 4}) {
    for (const std::int64_t bytes : {20, 36, 68, 128, 132, 160, 196, 288, 292, 300}) {
      for (int more = 0; more < 4 / size; ++more) {
        const std::int64_t rows = bytes / size + more;
        const std::int64_t cols = 128 / size + 3;
        Problem problem = with_rows(size, rows, cols, cols + turn % 3, 1);
        problem.modes[1].dst_stride += (1 + turn % 5) * size;  // a column's
        run_and_compare(problem, turn % 16 * size, (turn * 5) % 32 * size, "skew");
        if (HasFailure()) FAIL() << to_string(problem);
        ++turn;
      }
    }
  }
}

// Rows with gaps, shorter than a sector, or longer than a tile are not joined, nor where values
// change.
TEST(Engine, SkewJoinsNoOthers) {
  Problem gaps = with_rows(1, 100, 150, 150);
  gaps.modes[1].dst_stride += 1;
  gaps.modes[0].dst_stride *= 2;
  EXPECT_EQ(count_joined(gaps), 0);
  EXPECT_EQ(count_joined(with_rows(1, 31, 150, 150)), 0);
  EXPECT_EQ(count_joined(with_rows(1, 600, 150, 150)), 0);
  Problem converted = with_rows(2, 50, 150, 150);
  for (cornerturn::Mode& mode : converted.modes) mode.src_stride *= 2;
  converted.src_type = ElementType(Kind::f32);
  converted.dst_type = ElementType(Kind::bf16);
  EXPECT_EQ(count_joined(converted), 0);
}

}  // namespace
}  // namespace cornerturn::simt
