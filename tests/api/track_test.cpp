// Cutting a problem into slices: each element lies in exactly one of them, or in the rest.
#include "api/track.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "core/normalise.hpp"
#include "support/moves.hpp"
#include "support/random_problem.hpp"

namespace cornerturn {
namespace {

// Along modes that it has not all of, a slice keeps together what lies together.
void expect_like_the_whole(const Problem& slice, const Problem& normal) {
  for (int i = 0; i < normal.rank(); ++i) {
    const Mode& mode = normal.modes[i];
    const std::int64_t extent = slice.modes[i].extent;
    if (extent == mode.extent) continue;
    EXPECT_GE(extent * std::abs(mode.src_stride), 128)
        << to_string(slice) << " of " << to_string(normal);
    EXPECT_GE(extent * mode.dst_stride, 128) << to_string(slice) << " of " << to_string(normal);
  }
}

// Slices of several lengths, and the rest.
std::vector<Problem> cut_up(Track& track, const Problem& normal) {
  std::vector<Problem> parts;
  std::int64_t indices = 0;
  for (const int slices : {1, 3, 1, 2, 5}) {
    if (track.taken() == track.indices()) break;
    parts.push_back(track.take(slices * track.slice()));
    expect_like_the_whole(parts.back(), normal);
    EXPECT_GT(track.taken(), indices) << "a slice is empty";
    indices = track.taken();
  }
  for (const Problem& part : track.rest()) parts.push_back(part);
  return parts;
}

TEST(Track, CoversEachElementOnce) {
  test::RandomProblems random(1, {.max_rank = 6, .max_bytes = 32 << 10});
  int usable = 0, parted = 0, flipped = 0, broadcast = 0;
  for (int i = 0; i < 3000; ++i) {
    const Problem normal = normalise(random.next());
    const std::int64_t slices = random.uniform(2, 40);
    Track track(normal, slices);
    if (!track.usable()) continue;
    const std::vector<Problem> parts = cut_up(track, normal);
    ASSERT_EQ(test::moves_of(parts), test::moves_of({normal}))
        << to_string(normal) << " in " << slices << " slices";
    ++usable;
    parted += track.rest().size() > 1;
    const auto some = [&](const auto& rule) {
      return std::any_of(normal.modes.begin(), normal.modes.end(), rule);
    };
    flipped += some([](const Mode& mode) { return mode.src_stride < 0; });
    broadcast += some([](const Mode& mode) { return mode.src_stride == 0; });
  }
  // What is tested above is there.
  EXPECT_GT(usable, 300);
  EXPECT_GT(parted, 30);
  EXPECT_GT(flipped, 30);
  EXPECT_GT(broadcast, 30);
}

Problem turned(std::int64_t rows, std::int64_t columns, int width) {
  Problem problem;
  problem.src_type = problem.dst_type = ElementType::bytes(width);
  problem.modes = {{rows, width, columns * width}, {columns, rows * width, width}};
  return normalise(problem);
}

TEST(Track, CutsRunsWhereLinesBegin) {
  // 153 slices need a cut through a run. Those of the source are short, in either direction; of the
  // destination's 27248 elements a slice would have 179, and has 192, which are whole lines.
  Problem problem = turned(184, 27248, 4);
  for (const std::int64_t src_stride : {4, -4}) {
    problem.modes[0].src_stride = src_stride;
    Track track(problem, 153);
    ASSERT_TRUE(track.usable());
    EXPECT_EQ(track.indices(), 27248);
    EXPECT_EQ(track.slice(), 192);
    track.take(track.slice());
    const Problem second = track.take(track.slice());
    EXPECT_EQ(second.dst_offset, 192 * 4);
    EXPECT_EQ(second.modes[0], (Mode{184, src_stride, 27248 * 4}));
    EXPECT_EQ(second.modes[1].extent, 192);
  }
}

TEST(Track, LeavesShortRunsAndBroadcastModesWhole) {
  EXPECT_TRUE(Track(turned(64, 8192, 4), 200).usable());
  EXPECT_FALSE(Track(turned(64, 4096, 4), 200).usable());
  Problem line;
  line.modes = {{100, 1, 1}};
  EXPECT_FALSE(Track(line, 2).usable());
  line.modes = {};
  EXPECT_FALSE(Track(line, 1).usable());
  line.modes = {{1000, 0, 1000}, {1000, 0, 1}};
  EXPECT_FALSE(Track(line, 2).usable());
}

}  // namespace
}  // namespace cornerturn
