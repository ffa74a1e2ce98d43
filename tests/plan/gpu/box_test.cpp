// What is known of the boxes of pack before any is made.
#include "plan/gpu/pack/box.hpp"

#include <gtest/gtest.h>

#include <cstdint>

#include "core/normalise.hpp"
#include "plan/gpu/pack.hpp"
#include "plan/gpu/pack/setup.hpp"
#include "support/random_problem.hpp"

namespace cornerturn::plan::gpu {
namespace {

// Calls visit(config) for runs of all lengths.
template <class Visit>
void for_each_run(const Visit& visit) {
  for (const int shift : {-2, 0, 2}) {
    for (std::int32_t bytes = 64; bytes <= 32768; bytes *= 2) {
      visit(PackConfig{.run_bytes = bytes, .dst_shift = static_cast<std::int8_t>(shift)});
    }
  }
}

// Bytes become f32.
void convert(Problem& problem) {
  problem.src_type = ElementType(Kind::u8);
  problem.dst_type = ElementType(Kind::f32);
  problem.dst_offset *= 4;
  for (Mode& mode : problem.modes) mode.dst_stride *= 4;
}

// Calls visit(normal) for problems that have elements: some convert values, in some the source
// overlaps itself.
template <class Visit>
void for_each_problem(std::uint64_t seed, int count, const Visit& visit) {
  test::RandomProblems random(seed, {.max_bytes = 1 << 30});
  for (int i = 0; i < count; ++i) {
    Problem problem = random.next();
    if (problem.src_type.size() == 1) convert(problem);
    if (problem.rank() > 1 && random.chance(0.2)) {
      problem.modes[0].src_stride = problem.modes[1].src_stride;
    }
    const Problem normal = normalise(problem, {true, 16, 16});
    if (normal.elements() > 1) visit(normal);
  }
}

TEST(Boxes, ThatCannotBeAlignedAreNot) {
  int aligned = 0, never = 0;
  for_each_problem(51, 1000, [&](const Problem& normal) {
    pack::Boxes boxes(normal);
    bool any = false;
    for_each_run([&](const PackConfig& config) {
      const Box& box = boxes.of(config);
      any |= box.bytes <= pack::most_shared && pack::has_aligned_runs(box, normal);
    });
    if (any) {
      EXPECT_TRUE(boxes.may_be_aligned()) << to_string(normal);
    }
    aligned += any ? 1 : 0;
    never += boxes.may_be_aligned() ? 0 : 1;
  });
  EXPECT_GT(aligned, 100);
  EXPECT_GT(never, 100);
}

TEST(Boxes, LeaveNoGapsInADestinationThatHasNone) {
  int dense = 0, with_gaps = 0, followed = 0;
  for_each_problem(52, 1000, [&](const Problem& normal) {
    pack::Boxes boxes(normal);
    if (boxes.may_leave_gaps()) {
      ++with_gaps;
      return;
    }
    ++dense;
    for_each_run([&](PackConfig config) {
      config.anywhere = true;
      const Box& box = boxes.of(config);
      const Box::Side& dst = box.dst;
      if (box.bytes > pack::most_shared || dst.run_modes == dst.modes) return;
      const std::int64_t bytes = dst.run * normal.dst_type.size();
      ASSERT_GT(dst.run_modes, 0) << to_string(normal);
      const int last = dst.order[static_cast<std::size_t>(dst.run_modes - 1)];
      if (box.extent[static_cast<std::size_t>(last)] < normal.modes[last].extent) return;
      const int next = dst.order[static_cast<std::size_t>(dst.run_modes)];
      EXPECT_EQ(normal.modes[next].dst_stride, bytes) << to_string(normal);
      ++followed;
    });
  });
  EXPECT_GT(dense, 100);
  EXPECT_GT(with_gaps, 100);
  EXPECT_GT(followed, 100);
}

TEST(Boxes, AreAsLargeWhereTheyAreNotMeasured) {
  for_each_problem(53, 200, [](const Problem& normal) {
    const BoxSides sides(normal);
    for_each_run([&](const PackConfig& config) {
      BoxWish wish{.src_run_bytes = config.run_bytes, .dst_run_bytes = config.run_bytes};
      const Box measured = box_of(normal, sides, wish);
      wish.most_bytes = measured.bytes - 1;
      const Box box = box_of(normal, sides, wish);
      EXPECT_EQ(box, measured) << to_string(normal);
      EXPECT_EQ(box.dst.run_modes, 0);
      EXPECT_EQ(box.src.run_modes, 0);
    });
  });
}

// Its boxes have fewer bytes in the source than in the destination, whose runs are aligned where a
// box has all of it.
TEST(Boxes, AreMeasuredInBytesOfTheSource) {
  Problem problem;
  problem.src_type = ElementType(Kind::u8);
  problem.dst_type = ElementType(Kind::f32);
  problem.modes = {{3, 16129, 64516}, {127, 1, 508}, {127, 127, 4}};
  pack::Boxes boxes(problem);
  const Box& box = boxes.of({.run_bytes = 32768});
  EXPECT_LE(box.bytes, pack::most_shared);
  EXPECT_TRUE(pack::has_aligned_runs(box, problem));
  EXPECT_TRUE(boxes.may_be_aligned());
}

}  // namespace
}  // namespace cornerturn::plan::gpu
