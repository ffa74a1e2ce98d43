// The kernels of the GPU engine in the configurations that the planner offers, in the emulator;
// those of pack are tested in engine_pack_test.cpp.
#include "simt/engine_support.hpp"
#include "support/draws.hpp"
#include "support/random_problem.hpp"
#include "support/shapes.hpp"

namespace cornerturn::simt {
namespace {

TEST(Engine, SharedShapes) {
  int turn = 0;
  for (const test::Shape& shape : test::shapes()) {
    for (const int size : {1, 2, 4, 8, 16}) {
      const Problem problem = test::problem_of(shape, size);
      if (problem.elements() > 30'000) continue;
      // Aligned, and in turns one side, the other, and both where they should not be.
      // So that no size and no phase always meets the same candidate.
      const int which = turn + turn / 15;
      run_and_compare(problem, 0, 0, {}, which);
      switch (turn++ % 3) {
        case 0:
          run_and_compare(problem, size, 0, {}, which + 1);
          break;
        case 1:
          run_and_compare(problem, 0, size, {}, which + 1);
          break;
        default:
          run_and_compare(problem, 3, 5, {}, which + 1);
      }
      if (HasFailure()) FAIL() << shape.name << " of " << size << " B";
    }
  }
}

TEST(Engine, RandomProblems) {
  test::RandomProblems problems(20, {.max_rank = 12, .max_bytes = 20 << 10});
  int with_units = 0;
  for (int i = 0; i < test::draws(600); ++i) {
    const Problem problem = problems.next();
    with_units += takes_units(problem) ? 1 : 0;
    run_and_compare(problem, problems.chance(0.5) ? 0 : problems.uniform(0, 31),
                    problems.chance(0.5) ? 0 : problems.uniform(0, 31), {}, i);
    if (HasFailure()) FAIL() << "problem " << i;
  }
  EXPECT_GT(with_units, test::draws(20));
}

// Units of gather: rows of whole units, and of one byte or more than that, at any phase.
TEST(Engine, UnitsOfGather) {
  for (const std::int64_t row : {32, 33, 47}) {
    for (const int size : {1, 2, 4, 8}) {
      const std::int64_t elements = row / size;
      const std::int64_t step = 24 * size;
      const std::int64_t pitch = elements * size + 3 * size;
      const Problem matrix = problem_of(size, {{20, size, pitch}, {elements, step, size}});
      const Problem flipped = problem_of(size, {{20, -size, pitch}, {elements, -step, size}});
      const Problem repeated =
          problem_of(size, {{3, 0, 20 * pitch}, {20, size, pitch}, {elements, step, size}});
      const Problem same_in_row = problem_of(
          size, {{3, 5 * size, 20 * pitch}, {20, 40 * size, pitch}, {elements, 0, size}});
      for (const Problem& problem : {matrix, flipped, repeated, same_in_row}) {
        ASSERT_TRUE(takes_units(problem)) << to_string(problem);
        for (std::int64_t phase = 0; phase < 16; phase += size) {
          run_and_compare(problem, phase % 5 * size, phase, "gather");
        }
      }
      if (HasFailure()) FAIL() << row << " bytes, of " << size << " B";
    }
  }
}

// Chunks of gather: rows of whole chunks, of fewer elements, and of more; elements by themselves
// and in runs; flipped, broadcast along two modes, and some fields of structures.
TEST(Engine, ChunksOfGather) {
  for (const std::int64_t row : {3, 4, 28, 31, 65}) {
    for (const int size : {1, 2, 4, 8, 16}) {
      const std::int64_t step = 24 * size, pitch = (row + 3) * size, all = 128 * pitch;
      const Problem matrix =
          problem_of(size, {{3, 0, all}, {9, 3 * size, pitch}, {row, step, size}});
      const Problem flipped =
          problem_of(size, {{3, 0, all}, {9, -3 * size, pitch}, {row, step, -size}});
      const Problem twice = problem_of(size, {{2, 0, 3 * all},
                                              {2, 5 * size, 60 * pitch},
                                              {3, 0, all},
                                              {7, 9 * size, pitch},
                                              {row, step, size}});
      const Problem runs = problem_of(
          size, {{3, 0, all}, {4, 7 * size, 5 * pitch}, {row, step, 5 * size}, {5, size, size}});
      const Problem fields = problem_of(size, {{3, size, pitch}, {row, -step, size}});
      for (const Problem& problem : {matrix, flipped, twice, runs, fields}) {
        ASSERT_TRUE(takes_chunks(problem)) << to_string(problem);
        run_and_compare(problem, 0, 0, "gather");
        run_and_compare(problem, 3, 5, "gather");
      }
      if (HasFailure()) FAIL() << row << " elements of " << size << " B";
    }
  }
}

TEST(Engine, UnitsOfGatherOfManyModes) {
  ModeList modes;
  std::int64_t src = 1, dst = 48;
  for (int i = 0; i < 9; ++i, src *= 2, dst *= 2) modes.push_back({2, i == 0 ? 1 : 2 * src, dst});
  std::reverse(modes.begin(), modes.end());
  modes.push_back({40, 4096, 1});
  const Problem problem = problem_of(1, modes);
  ASSERT_TRUE(takes_units(problem)) << to_string(problem);
  run_and_compare(problem, 0, 0, "gather");
  run_and_compare(problem, 3, 7, "gather");
}

// Broadcast along outer modes, one and two of them, beside others that are in another order.
TEST(Engine, RepeatedSources) {
  for (const int size : {1, 2, 4, 8, 16}) {
    const std::int64_t row = 200 * size;
    const Problem column = problem_of(size, {{7, 0, row}, {200, 5 * size, size}});
    const Problem middle = problem_of(
        size, {{3, size, 9 * row}, {9, 0, row}, {20, 30 * size, 10 * size}, {10, 3 * size, size}});
    const Problem apart = problem_of(
        size, {{2, 0, 40 * row}, {3, size, 13 * row}, {4, 0, 3 * row}, {200, 3 * size, size}});
    for (const Problem& problem : {column, middle, apart}) {
      for (const auto& [src, dst] : {std::pair{0, 0}, {size % 16, 0}, {0, size % 16}, {3, 5}}) {
        run_and_compare(problem, src, dst, "repeat");
        ASSERT_TRUE(plan::gpu::gather::can_repeat(problem)) << to_string(problem);
        run_and_compare(problem, src, dst, "gather");
      }
    }
    if (HasFailure()) FAIL() << size << " B";
  }
}

TEST(Engine, Copies) {
  for (const std::int64_t bytes : {16, 17, 31, 4096, 12288, 16384, 50003}) {
    const Problem problem = problem_of(1, {{bytes, 1, 1}});
    for (const auto& [src, dst] :
         {std::pair{0, 0}, {1, 0}, {0, 1}, {5, 5}, {3, 14}, {8, 4}, {8, 0}}) {
      run_and_compare(problem, src, dst, "copy");
    }
    if (HasFailure()) FAIL() << bytes << " B";
  }
}

// Large enough for the largest tile of each element, aligned and not; all configurations.
TEST(Engine, TilesOfEveryShape) {
  for (const int size : {1, 2, 4, 8, 16}) {
    const std::int64_t side = size <= 2 ? 288 : 192;
    for (const bool grouped : {false, true}) {
      const Problem problem =
          grouped ? reversed(size, 4, side / 4, side / 4, 4) : reversed(size, 1, side, side, 1);
      for (const int phase : {0, size % 16}) {
        run_and_compare(problem, phase, 0, {}, each);
        if (HasFailure()) FAIL() << size << " B";
      }
    }
  }
}

// Matrices of which one side is shorter than a usual tile.
TEST(Engine, NarrowTiles) {
  for (const int size : {1, 2, 4}) {
    for (const std::int64_t shorter : {23 / size, 61 / size}) {
      const std::int64_t longer = 611 / size;
      for (const Problem& problem :
           {reversed(size, 1, shorter, longer, 1), reversed(size, 1, longer, shorter, 1)}) {
        for (const int phase : {0, 3 * size}) {
          run_and_compare(problem, phase, 0, "skew", each);
          if (HasFailure()) FAIL() << size << " B, " << shorter;
        }
      }
    }
  }
}

// Rows shorter and longer than a block's work; pitches that keep the phase, and others.
TEST(Engine, Rows) {
  for (const std::int64_t bytes : {16, 24, 57, 80, 256, 2052, 16384, 16400, 20001}) {
    const std::int64_t rows = std::max<std::int64_t>(3, 20000 / bytes);
    for (const std::int64_t src_gap : {0, 4, 13, 16}) {
      for (const std::int64_t dst_gap : {0, 4, 13, 16}) {
        const std::int64_t src_pitch = bytes + src_gap, dst_pitch = bytes + dst_gap;
        // Two planes whose rows change places.
        const Problem problem = problem_of(
            1, {{rows, 2 * src_pitch, dst_pitch}, {2, src_pitch, rows * dst_pitch}, {bytes, 1, 1}});
        run_and_compare(problem, 0, 0, "rows");
        run_and_compare(problem, 4, 0, "rows");
        run_and_compare(problem, 7, 2, "rows");
        if (HasFailure()) FAIL() << bytes << " B, gaps " << src_gap << ", " << dst_gap;
      }
    }
  }
}

// A source that is read again and again, and one that is read backwards.
TEST(Engine, RowsRepeatedAndFlipped) {
  run_and_compare(problem_of(1, {{40, 0, 50}, {50, 1, 1}}), 0, 0, "rows");
  run_and_compare(problem_of(4, {{3, 0, 8000}, {40, -200, 200}, {50, 4, 4}}), 4, 4, "rows");
  run_and_compare(problem_of(2, {{40, -102, 110}, {50, 2, 2}}), 6, 2, "rows");
}

// Structures of `length` elements, `members` of them moved, and planes `gap` elements apart.
struct Structures {
  std::int64_t batches, count;
  int length, members;
  std::int64_t gap;

  Problem to_planes(int size) const {
    const std::int64_t plane = (count + gap) * size;
    return problem_of(size, {{batches, count * length * size, members * plane},
                             {members, size, plane},
                             {count, length * size, size}});
  }
  Problem from_planes(int size) const {
    Problem problem = to_planes(size);
    for (auto& mode : problem.modes) std::swap(mode.src_stride, mode.dst_stride);
    return problem;
  }
};

// Structures of every length and element size; planes and batches that keep the phase, and others.
TEST(Engine, Structures) {
  for (const int size : {1, 2, 4, 8}) {
    for (int length = 2; length <= 8; ++length) {
      for (const Structures& s : {Structures{1, 4096, length, length, 0},
                                  {3, 520, length, length, 8},
                                  {2, 1201, length, length, 0},
                                  {5, 64, length, length, 3}}) {
        for (const auto& [src, dst] :
             {std::pair{0, 0}, {size, 0}, {0, size}, {3 * size, 5 * size}}) {
          run_and_compare(s.to_planes(size), src, dst, "structures");
          run_and_compare(s.from_planes(size), src, dst, "structures");
        }
      }
      if (HasFailure()) FAIL() << size << " B x " << length;
    }
  }
}

// Some members of every structure only: every second element, RGB out of RGBA.
TEST(Engine, MembersOfStructures) {
  for (const int size : {1, 2, 4, 8}) {
    for (int length = 2; length <= 8; ++length) {
      for (const int members : {1, length - 1}) {
        const Structures s{2, 777, length, members, 0};
        run_and_compare(s.to_planes(size), 0, 0, "structures");
        run_and_compare(s.to_planes(size), size, 3 * size, "structures");
      }
      if (HasFailure()) FAIL() << size << " B x " << length;
    }
  }
}

}  // namespace
}  // namespace cornerturn::simt
