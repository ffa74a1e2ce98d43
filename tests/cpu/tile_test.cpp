// The tile kernel in configurations that the planner would not choose for problems so small:
// narrow strips, streaming stores, rows copied first.
#include <gtest/gtest.h>

#include <cstring>

#include "core/normalise.hpp"
#include "core/validate.hpp"
#include "cpu/cpu_info.hpp"
#include "cpu/kernel.hpp"
#include "cpu/targets.hpp"
#include "cpu/tile_grid.hpp"
#include "support/guarded_buffer.hpp"
#include "support/random_problem.hpp"
#include "support/reference.hpp"

namespace cornerturn::test {
namespace {

class Tile : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { cpu::use_target(GetParam()); }
  void TearDown() override { cpu::use_target(""); }
};

INSTANTIATE_TEST_SUITE_P(Targets, Tile, testing::ValuesIn(cpu::targets()),
                         [](const auto& target) { return target.param; });

// Runs one configuration, in shares of random size, and compares every byte of the destination.
class Comparison {
 public:
  explicit Comparison(RandomProblems& random) : random_(random) {
    std::byte* bytes = src_.place(capacity, GuardedBuffer::Touching::front);
    for (std::size_t i = 0; i < capacity; ++i) {
      bytes[i] = static_cast<std::byte>(random.uniform(0, 255));
    }
  }

  int pick(std::initializer_list<int> list) {
    return list.begin()[random_.uniform(0, static_cast<std::int64_t>(list.size()) - 1)];
  }

  /// `phase`: so many bytes lie before the destination, in front of which is a guard page.
  /// `whole`: in one call instead of shares.
  void run(const plan::TileConfig& config, const Problem& problem, std::int64_t phase,
           bool whole = false) {
    const Reach from = src_reach(problem);
    const Reach to = dst_reach(problem);
    const auto src_bytes = static_cast<std::size_t>(from.high - from.low);
    const auto dst_bytes = static_cast<std::size_t>(to.high - to.low + phase);
    const auto touching = phase != 0 || random_.chance(0.5) ? GuardedBuffer::Touching::front
                                                            : GuardedBuffer::Touching::back;
    const std::byte* in = src_.place(src_bytes, touching) - from.low;
    std::byte* out = dst_.place(dst_bytes, touching);
    std::byte* reference = expected_.place(dst_bytes, touching);
    std::memset(out, 0xA5, dst_bytes);
    std::memset(reference, 0xA5, dst_bytes);
    const std::int64_t origin = phase - to.low;
    reference_copy(problem, in, reference + origin);
    const Buffers buffers{out + origin + problem.dst_offset, in + problem.src_offset};
    const std::int64_t pieces = cpu::pieces(config, problem);
    if (whole) cpu::run_all(config, problem, buffers);
    for (std::int64_t first = whole ? pieces : 0; first < pieces;) {
      const std::int64_t last = random_.uniform(first + 1, pieces);
      cpu::run(config, problem, buffers, first, last);
      first = last;
    }
    ASSERT_EQ(std::memcmp(out, reference, dst_bytes), 0)
        << to_string(problem) << ", phase " << phase << "\n  "
        << plan::tile::Family::describe(config, problem);
  }

 private:
  static constexpr std::size_t capacity = 4 << 20;
  RandomProblems& random_;
  GuardedBuffer src_{capacity};
  GuardedBuffer dst_{capacity};
  GuardedBuffer expected_{capacity};
};

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
    comparison.run(config, problem, 0);
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
  for (int i = 0; i < 1000; ++i) {
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
    comparison.run(
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

// In one call, and not in shares: every number of rows and columns about the sizes of units.
TEST_P(Tile, SmallMatrices) {
  RandomProblems random(11, {});
  Comparison comparison(random);
  int small = 0;
  for (int i = 0; i < 2000; ++i) {
    const std::int64_t width = std::int64_t{1} << random.uniform(0, 4);
    const std::int64_t columns = 16 / width + random.uniform(0, 20);
    const std::int64_t rows = random.uniform(2, 140) / width + 2;
    const std::int64_t src_pitch = (columns + random.uniform(0, 3)) * width;
    const std::int64_t dst_pitch = (rows + random.uniform(0, 3)) * width;
    Problem problem;
    problem.src_type = problem.dst_type = ElementType::bytes(width);
    problem.modes.push_back({columns, width, random.chance(0.8) ? dst_pitch : -dst_pitch});
    problem.modes.push_back({rows, random.chance(0.8) ? src_pitch : -src_pitch, width});
    const plan::TileConfig config = offered_for(problem, cpu::cpu_info()).front();
    small += plan::tile::is_small_matrix(config, problem, 16);
    comparison.run(config, problem, random.uniform(0, 63), true);
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(small, 1000);
}

}  // namespace
}  // namespace cornerturn::test
