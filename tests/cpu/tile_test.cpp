// The tile kernel in configurations that the planner would not choose for problems so small:
// narrow strips, streaming stores, rows copied first.
#include <gtest/gtest.h>

#include "core/normalise.hpp"
#include "cpu/cpu_info.hpp"
#include "cpu/targets.hpp"
#include "cpu/tile_grid.hpp"
#include "plan/cpu/tile.hpp"
#include "support/comparison.hpp"
#include "support/draws.hpp"
#include "support/random_problem.hpp"

namespace cornerturn::test {
namespace {

class Tile : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { cpu::use_target(GetParam()); }
  void TearDown() override { cpu::use_target(""); }
};

INSTANTIATE_TEST_SUITE_P(Targets, Tile, testing::ValuesIn(cpu::targets()),
                         [](const auto& target) { return target.param; });

std::vector<plan::TileConfig> offered_for(const Problem& problem, const plan::CpuInfo& cpu) {
  std::vector<plan::TileConfig> all;
  plan::tile::Family::configure(problem, cpu,
                                [&](const plan::TileConfig& config) { all.push_back(config); });
  return all;
}

TEST_P(Tile, AnyConfiguration) {
  RandomProblems random(5, {5, 60 << 10, true});
  Comparison comparison(random);
  int taken = 0;
  for (int i = 0; taken < 1500; ++i) {
    ASSERT_LT(i, 100'000) << "too few random problems are for the tile kernel";
    const Problem problem = normalise(random.next());
    if (plan::tile::Family::why_not(problem, cpu::cpu_info()) != nullptr) continue;
    ++taken;
    const std::vector<plan::TileConfig> offered = offered_for(problem, cpu::cpu_info());
    plan::TileConfig config = offered[static_cast<std::size_t>(
        random.uniform(0, static_cast<std::int64_t>(offered.size()) - 1))];
    config.strip_bytes = comparison.pick({64, 128, 256, 1024});
    config.window_bytes = comparison.pick({16, 64, 128, 256});
    config.prefetch_bytes = comparison.pick({0, 64, 256});
    config.copy_rows = random.chance(0.5);
    config.packed = config.packed && random.chance(0.7);
    config.stores = random.chance(0.7) ? plan::Stores::past_caches : plan::Stores::regular;
    comparison.run<plan::tile::Family>(config, problem, 0);
    if (HasFatalFailure()) return;
  }
}

// Destination rows that begin at one place within a line, wherever that is.
TEST_P(Tile, LinesFromRegisters) {
  plan::CpuInfo small_caches = cpu::cpu_info();
  small_caches.l2_bytes = 1;
  small_caches.isa = "AVX3";
  RandomProblems random(7, {});
  Comparison comparison(random);
  for (int i = 0; i < test::draws(1000); ++i) {
    const std::int64_t width = std::int64_t{1} << random.uniform(0, 4);
    const std::int64_t rows = random.uniform(128, 700) / width;
    const std::int64_t columns = random.uniform(16, 300) / width + 1;
    const std::int64_t batch = random.uniform(1, 3);
    const std::int64_t src_pitch = (columns + random.uniform(0, 3)) * width;
    const std::int64_t dst_pitch = ((rows * width + 63) / 64 + random.uniform(0, 1)) * 64;
    Problem problem;
    problem.src_type = problem.dst_type = ElementType::bytes(width);
    if (batch > 1) problem.modes.push_back({batch, rows * src_pitch, columns * dst_pitch});
    problem.modes.push_back({columns, width, dst_pitch});
    problem.modes.push_back({rows, src_pitch, width});
    ASSERT_EQ(plan::tile::Family::why_not(problem, small_caches), nullptr);
    plan::TileConfig config = offered_for(problem, small_caches).front();
    ASSERT_EQ(config.direct, rows * width >= 128);
    config.strip_bytes = comparison.pick({64, 128, 256, 512});
    config.window_bytes = comparison.pick({16, 64, 128});
    config.prefetch_bytes = comparison.pick({0, 64, 256});
    config.copy_rows = random.chance(0.5);
    comparison.run<plan::tile::Family>(
        config, problem,
        random.chance(0.2) ? random.uniform(0, 63) : random.uniform(0, 64 / width) * width);
    if (HasFatalFailure()) return;
  }
}

// Where runs begin within lines, short ones go another way than lines from registers: whole, and
// with their neighbours where these follow. The shares of the work are the same.
TEST(TileAtAPhase, ShortRunsGoWholeThroughAStage) {
  for (const std::int64_t run : {16, 24, 80, 96, 128, 136, 480}) {
    for (const std::int64_t columns : {2, 16, 100, 7200}) {
      for (const std::int64_t gap : {0, 8}) {
        Problem problem;
        problem.src_type = problem.dst_type = ElementType::bytes(8);
        problem.modes.push_back({columns, 8, (run + gap) * 8});
        problem.modes.push_back({run, columns * 8, 8});
        plan::TileConfig direct;
        direct.run_modes = 1;
        direct.direct = true;
        direct.window_bytes = 128;
        direct.stores = plan::Stores::past_caches;
        EXPECT_EQ(plan::tile::at_phase(direct, problem, 0), direct);
        const plan::TileConfig other = plan::tile::at_phase(direct, problem, 16);
        EXPECT_EQ(other.direct, run > 128) << run;
        EXPECT_EQ(other.packed, run <= 80 && gap == 0) << run << " " << gap;
        EXPECT_EQ(cpu::make_grid(other, problem).pieces(), cpu::make_grid(direct, problem).pieces())
            << run << " " << columns;
        if (!other.direct) {
          EXPECT_EQ(cpu::make_grid(other, problem).strips, 1) << run;
        }
      }
    }
  }
}

// A matrix of 3,000 columns and 2,000 rows, whose columns become runs of the destination that begin
// `pitch` bytes apart.
Problem matrix_of(int width, std::int64_t pitch) {
  Problem problem;
  problem.src_type = problem.dst_type = ElementType::bytes(width);
  problem.modes.push_back({3000, width, pitch});
  problem.modes.push_back({2000, 3000 * width, width});
  return problem;
}

std::vector<plan::TileConfig> offered_for(const Problem& problem, const std::string& isa) {
  plan::CpuInfo cpu;
  cpu.isa = isa;
  cpu.l2_bytes = 512 << 10;
  return offered_for(problem, cpu);
}

// Without vectors as long as a line, runs go through a stage, or straight to memory from few rows
// at a time or from many, whichever is estimated to be faster.
TEST(TileOffers, ShortVectorsGoBothWays) {
  const std::vector<plan::TileConfig> doubles = offered_for(matrix_of(8, 16064), "AVX2");
  ASSERT_EQ(doubles.size(), 3u);
  EXPECT_FALSE(doubles[0].direct);
  EXPECT_EQ(doubles[0].window_bytes, 256);
  EXPECT_TRUE(doubles[1].direct);
  EXPECT_EQ(doubles[1].strip_bytes, 16 * 8);
  EXPECT_TRUE(doubles[2].direct);
  EXPECT_EQ(doubles[2].strip_bytes, 1024);
  const std::vector<plan::TileConfig> shorts = offered_for(matrix_of(2, 4032), "AVX2");
  ASSERT_EQ(shorts.size(), 3u);
  EXPECT_EQ(shorts[0].window_bytes, 64);
  EXPECT_EQ(shorts[1].strip_bytes, 64);  // a line is the least
}

TEST(TileOffers, LongVectorsGoStraightToMemory) {
  const std::vector<plan::TileConfig> offered = offered_for(matrix_of(8, 16064), "AVX3");
  ASSERT_EQ(offered.size(), 1u);
  EXPECT_TRUE(offered[0].direct);
}

TEST(TileOffers, RunsWithinLinesAndCrowdedLinesGoThroughAStage) {
  for (const std::int64_t pitch : {16000 + 8, 16384, 16384 + 2048}) {
    const std::vector<plan::TileConfig> offered = offered_for(matrix_of(8, pitch), "AVX2");
    ASSERT_EQ(offered.size(), 1u) << pitch;
    EXPECT_FALSE(offered[0].direct) << pitch;
  }
  EXPECT_EQ(offered_for(matrix_of(8, 16384 + 1024), "AVX2").size(), 3u);
}

// Rows of the source that lie 4 KiB apart meet in one set of the first-level cache.
TEST(TileOffers, SourceRowsThatCollideGoThroughAStageByLongWindows) {
  for (const int width : {1, 2, 4, 8}) {
    Problem problem = matrix_of(width, 16064);
    problem.modes[0].extent = 4096 / width;
    problem.modes[1].src_stride = 4096;
    const std::vector<plan::TileConfig> offered = offered_for(problem, "AVX2");
    ASSERT_EQ(offered.size(), 1u) << width;
    EXPECT_TRUE(offered[0].copy_rows) << width;
    EXPECT_EQ(offered[0].strip_bytes, 1024) << width;
    EXPECT_EQ(offered[0].window_bytes, 256) << width;
    problem.modes[1].src_stride += 64;
    EXPECT_FALSE(offered_for(problem, "AVX2")[0].copy_rows) << width;
    EXPECT_EQ(offered_for(problem, "AVX2").size(), 3u) << width;
  }
}

}  // namespace
}  // namespace cornerturn::test
