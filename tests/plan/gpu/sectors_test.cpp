// Rows of the destination that leave sectors in part: how long they are, and what estimates say
// they take. tests/simt/engine_prefetch_test.cpp is about what kernels ask for.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "plan/gpu/device_files.hpp"
#include "plan/gpu/pack.hpp"
#include "plan/gpu/pack/setup.hpp"
#include "plan/gpu/sectors.hpp"
#include "plan/planner.hpp"

namespace cornerturn::plan::gpu {
namespace {

Problem of_bytes(int size, const ModeList& modes) {
  Problem problem;
  problem.src_type = problem.dst_type = ElementType::bytes(size);
  problem.modes = modes;
  return problem;
}

TEST(CutSectors, RowsEndWithTheFirstGap) {
  // 7 x 5 elements of 2 bytes follow each other, and 10 bytes of others; 9 such rows, and more.
  const Problem problem =
      of_bytes(2, {{4, 2, 4000}, {9, 8, 80}, {1, 8, 3}, {5, 72, 14}, {7, 360, 2}});
  const DstRow row = dst_row(problem);
  EXPECT_EQ(row.bytes, 70);
  EXPECT_EQ(row.modes, 2);
  EXPECT_EQ(row.gap, 10);
  EXPECT_FALSE(row.whole_sectors);
  EXPECT_DOUBLE_EQ(least_traffic(problem).cut_rows, 4 * 9);
  // Short rows count no more than there are sectors.
  const Problem shorter = of_bytes(2, {{100, 2, 16}, {7, 200, 2}});
  EXPECT_DOUBLE_EQ(least_traffic(shorter).cut_rows, 100 * 16 / 32.0);
  const Problem dense = of_bytes(2, {{100, 2, 14}, {7, 200, 2}});
  EXPECT_EQ(dst_row(dense).gap, 0);
  EXPECT_EQ(least_traffic(dense).cut_rows, 0);
}

// A row may begin anywhere within a sector, but for what divides its length and the distance of the
// next one. Of a sector that two rows share each counts half.
TEST(CutSectors, SectorsThatRowsTouch) {
  const auto touched = [](std::int64_t bytes, std::int64_t gap) {
    return DstRow{.bytes = bytes, .gap = gap}.touched();
  };
  EXPECT_EQ(touched(128, 56), 128 + 32 - 8);  // begin at multiples of 8 bytes
  EXPECT_EQ(touched(128, 7), 128 + 7);
  EXPECT_EQ(touched(100, 100), 100 + 32 - 4);
  EXPECT_EQ(touched(96, 64), 96);  // begin with sectors
  EXPECT_EQ(touched(1, 1000), 32);
}

// Memory takes each of them by itself, whoever asks for it before.
TEST(CutSectors, SparseRowsAreNotAskedFor) {
  const DeviceInfo device = device_named("h200");
  const auto gains = [&](std::int64_t row, std::int64_t pitch) {
    const Problem problem = of_bytes(1, {{10'000'000, 1, pitch}, {row, 10'000'000, 1}});
    return gains_from_prefetching(dst_row(problem), problem, {true, 1, 1}, device);
  };
  EXPECT_TRUE(gains(5, 68));
  EXPECT_FALSE(gains(5, 69));
  EXPECT_FALSE(gains(63, 127));
  EXPECT_TRUE(gains(64, 200));
}

struct OfSparse {
  double read, written;  // bytes each
  double lines;          // read by kernels that ask for lines

  // A field of so many bytes, and how far they are apart on each side.
  OfSparse(int size, std::int64_t src_step, std::int64_t dst_step) {
    constexpr std::int64_t count = 20'000'000;
    const DeviceInfo device = device_named("h200");
    const SharedCosts shared;
    const Problem problem = of_bytes(size, {{count, src_step, dst_step}});
    const Model model{device, shared, least_traffic(problem)};
    read = model.src_read() / count;
    written = (model.least.dst_bytes + model.cut_bytes()) / count;
    lines = src_moved(model, {sector_bytes, size}) / count;
  }
};

// As an H200 took for structures: "bytes" are those of a large copy that takes as long.
TEST(Traffic, SparseElementsTakeABurst) {
  EXPECT_NEAR(OfSparse(4, 132, 4).read, 76, 6);
  EXPECT_NEAR(OfSparse(2, 470, 2).read, 102, 6);
  EXPECT_NEAR(OfSparse(4, 128, 4).read, 73, 6);
  EXPECT_NEAR(OfSparse(4, 132, 4).lines, 131, 1);
  EXPECT_NEAR(OfSparse(8, 100, 8).lines, 100, 1);
  EXPECT_NEAR(OfSparse(4, 4, 132).written, 182, 10);
  EXPECT_NEAR(OfSparse(8, 8, 64).written, 86, 20);
  EXPECT_NEAR(OfSparse(5, 5, 355).written, 265, 10);
  EXPECT_NEAR(OfSparse(14, 14, 161).written, 250, 10);
  EXPECT_NEAR(OfSparse(4, 4, 32).written, 65, 3);
  EXPECT_NEAR(OfSparse(2, 2, 12).written, 24, 1);
  // Dense ones are read as a whole, and those between take their sectors.
  EXPECT_NEAR(OfSparse(4, 12, 4).read, 12, 1e-3);
  EXPECT_NEAR(OfSparse(4, 60, 4).read, 32, 1e-3);
  EXPECT_NEAR(OfSparse(4, 4, 4).written, 4, 1e-3);
}

// What fits into the L2 does not leave it until the copy has ended.
TEST(Traffic, FewSparseRowsStayInTheL2) {
  const DeviceInfo device = device_named("h200");
  const SharedCosts shared;
  const Problem problem = of_bytes(4, {{100'000, 4, 132}});
  const Model model{device, shared, least_traffic(problem)};
  EXPECT_EQ(model.cut_bytes(), 0);
}

// Plans ask for cut sectors where a fifth of the L2 has no room for what rows touch.
TEST(CutSectors, PlansAskForThoseThatOutgrowTheL2) {
  DeviceInfo device = device_named("h200");
  device.l2_bytes = 5 * 152 * 1000;
  const auto gains = [&](std::int64_t rows) {
    const Problem problem = of_bytes(8, {{rows, 8, 184}, {16, 8 * rows, 8}});
    return gains_from_prefetching(dst_row(problem), problem, {true, 16, 16}, device);
  };
  EXPECT_FALSE(gains(999));
  EXPECT_TRUE(gains(1000));
}

struct Demands {
  explicit Demands(const Problem& of) : normal(of) {}

  Demand of(const PackConfig& config) {
    return pack::Family::demand(config, normal, model, costs, boxes);
  }

  const Problem& normal;
  DeviceInfo device = device_named("h200");
  SharedCosts shared;
  Model model{device, shared, least_traffic(normal)};
  pack::Family::Costs costs;
  pack::Boxes boxes{normal};
};

TEST(CutSectors, PackAsksForWhatSparseRowsTake) {
  const std::int64_t rows = 2'000'000;
  const Problem problem = of_bytes(1, {{rows, 1, 355}, {5, rows, 1}});
  Demands demands(problem);
  const Plan plan = make_plan(problem, demands.device, {1, "pack", {true, 1, 1}});
  ASSERT_FALSE(plan.candidates.empty());
  for (const Candidate& candidate : plan.candidates) {
    const double bytes = demands.of(candidate.config.as<PackConfig>()).dst_bytes;
    EXPECT_GT(bytes, 250.0 * static_cast<double>(rows));
  }
}

}  // namespace
}  // namespace cornerturn::plan::gpu
