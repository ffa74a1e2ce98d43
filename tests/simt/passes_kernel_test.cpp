// The kernels of transpositions in place that are no swaps, in the emulator, with all detectors:
// panels in shared memory, runs that follow cycles, and whole permutations.
#include "in_place_support.hpp"
#include "plan/gpu/cycles.hpp"

namespace cornerturn::simt {
namespace {

const std::vector<int> transposed_axes{1, 0};

TEST(PanelsKernel, MatricesOfEveryElement) {
  for (const int element : {1, 2, 3, 4, 6, 8, 12, 16, 24, 256}) {
    for (const auto& [rows, columns] :
         {std::pair{2, 3}, {1, 7}, {7, 1}, {64, 32}, {31, 17}, {5, 100}, {96, 4}}) {
      SCOPED_TRACE(testing::Message() << rows << " x " << columns << " of " << element);
      InPlaceArray array(element, {rows, columns});
      if (rows > 1 && columns > 1 && rows * columns * element < 150'000) {
        expect_permuted_in_place(array, transposed_axes, "panels");
      }
      InPlaceArray batch(element, {9, rows, columns});
      if (rows > 1 && columns > 1 && rows * columns * element < 50'000) {
        expect_permuted_in_place(batch, {0, 2, 1}, "panels");
      }
      if (testing::Test::HasFailure()) return;
    }
  }
}

TEST(PanelsKernel, BatchesOfSmallMatricesShareABlock) {
  for (const int element : {1, 2, 4, 8, 16}) {
    SCOPED_TRACE(element);
    InPlaceArray structures(element, {1000, 3, 8});
    expect_permuted_in_place(structures, {0, 2, 1}, "panels");
    InPlaceArray shifted(element, {70, 6, 4}, {}, element < 16 ? element : 0);
    expect_permuted_in_place(shifted, {0, 2, 1}, "panels");
  }
}

TEST(CyclesKernel, RunsOfEveryLength) {
  for (const int run : {1, 2, 3, 4, 6, 8, 16, 20, 24, 48, 64, 512, 1040}) {
    for (const auto& [rows, columns] : {std::pair{2, 3}, {16, 8}, {13, 7}, {12, 18}, {3, 101}}) {
      SCOPED_TRACE(testing::Message() << rows << " x " << columns << " runs of " << run);
      InPlaceArray array(1, {rows, columns, run});
      expect_permuted_in_place(array, {1, 0, 2}, "cycles");
      InPlaceArray batch(1, {3, rows, columns, run});
      expect_permuted_in_place(batch, {0, 2, 1, 3}, "cycles");
      if (testing::Test::HasFailure()) return;
    }
  }
}

// Cycles with cuts, without, and of both kinds: every candidate does the same.
TEST(CyclesKernel, EveryNumberOfCuts) {
  struct Case {
    std::int64_t rows, columns;
    int run;
  };
  // The last two have segments of several rounds, which blocks move.
  for (const Case& c : {Case{64, 32, 16},
                        {63, 65, 16},
                        {101, 97, 16},
                        {4, 512, 16},
                        {2, 1021, 16},
                        {16, 61, 520},
                        {3, 401, 512}}) {
    InPlaceArray array(1, {c.rows, c.columns, c.run});
    const auto asked = in_place::problem_in_place(array.view(), std::vector<int>{1, 0, 2});
    plan::Plan plan = plan_in_place_for(asked.problem, array.data(), "cycles");
    const plan::Candidates candidates = plan.candidates;
    std::vector<std::byte> workspace(1 << 20);
    bool with = false, without = false;
    for (const plan::Candidate& candidate : candidates) {
      plan.choose(candidate, plan::Choice::forced);
      SCOPED_TRACE(plan::to_string(plan));
      const auto expected = array.permuted(asked);
      Emulator emulator;
      emulator.update("array", array.data(), static_cast<std::size_t>(array.bytes()));
      emulator.update("workspace", workspace.data(), workspace.size());
      Buffers buffers{array.data(), array.data()};
      buffers.workspace = workspace.data();
      run_parts(emulator, plan, buffers, Mode::recording);
      EXPECT_TRUE(expected == array.contents());
      (plan.workspace() > 0 ? with : without) = true;
    }
    EXPECT_TRUE(with);
    EXPECT_TRUE(without);
  }
}

TEST(SlideKernel, RowsOfEveryPhase) {
  struct Case {
    std::int64_t rows, run, from, to, phase;
  };
  for (const Case& c : {Case{3, 30'001, 30'001, 30'003, 0},
                        {3, 30'001, 30'003, 30'001, 0},
                        {150, 800, 802, 816, 2},
                        {150, 800, 816, 800, 6},
                        {40, 4'096, 4'096, 4'100, 4},
                        {40, 4'096, 4'104, 4'096, 8},
                        {9, 16'384, 16'384, 17'008, 0},
                        {9, 16'384, 17'008, 16'400, 0},
                        {500, 257, 260, 261, 3},
                        {500, 257, 259, 257, 15}}) {
    SCOPED_TRACE(testing::Message() << c.rows << " rows of " << c.run << " from a pitch of "
                                    << c.from << " to " << c.to);
    const std::int64_t all = (c.rows - 1) * std::max(c.from, c.to) + c.run;
    InPlaceArray array(1, {all}, {}, c.phase);
    Problem problem;
    problem.modes.push_back({c.rows, c.from, c.to});
    problem.modes.push_back({c.run, 1, 1});
    problem.in_place = true;
    const plan::Plan plan = plan_in_place_for(problem, array.data(), "slide");
    std::vector<std::byte> expected(array.data(), array.data() + all);
    for (std::int64_t i = 0; i < c.rows; ++i) {
      std::memcpy(expected.data() + i * c.to, array.data() + i * c.from,
                  static_cast<std::size_t>(c.run));
    }
    std::vector<std::uint32_t> state(static_cast<std::size_t>(plan.workspace() / 4), 7);
    Emulator emulator;
    emulator.update("array", array.data(), static_cast<std::size_t>(all));
    emulator.update("workspace", state.data(), static_cast<std::size_t>(plan.workspace()));
    Buffers buffers{array.data(), array.data()};
    buffers.workspace = reinterpret_cast<std::byte*>(state.data());
    run_parts(emulator, plan, buffers, Mode::recording);
    for (std::int64_t i = 0; i < c.rows; ++i) {
      ASSERT_EQ(std::memcmp(expected.data() + i * c.to, array.data() + i * c.to,
                            static_cast<std::size_t>(c.run)),
                0)
          << "row " << i;
    }
    if (testing::Test::HasFailure()) return;
  }
}

TEST(SlideKernel, BlocksThatDoNotWaitWouldBeSeen) {
  std::vector<std::uint32_t> array = numbered<std::uint32_t>(64);
  std::vector<std::uint32_t> flags(2, 0);
  const auto findings = [&](bool waits) {
    Emulator emulator;
    emulator.update("array", array.data(), 256);
    emulator.update("flags", flags.data(), 8);
    emulator.launch("ordered", Mode::recording, {{2, 1, 1}, {32, 1, 1}, 0}, [&](auto& ctx) {
      const int t = ctx.thread_index();
      if (ctx.block_id().x == 0) {
        ctx.load(array.data() + t);
        ctx.barrier();
        if (t == 0) ctx.announce(flags.data());
      } else {
        if (t == 0 && waits) ctx.wait_for(flags.data());
        ctx.barrier();
        ctx.store(array.data() + t, 1U);
      }
    });
    return emulator.findings().size();
  };
  EXPECT_EQ(findings(true), 0U);
  EXPECT_GT(findings(false), 0U);
}

TEST(PassesInTheEmulator, MatricesThatNoBlockHolds) {
  struct Case {
    int element;
    std::int64_t rows, columns;
  };
  for (const Case& c : {Case{4, 512, 300},
                        {4, 509, 211},
                        {1, 1000, 700},
                        {2, 331, 1024},
                        {8, 4000, 8},
                        {4, 3, 60000},
                        {16, 127, 129},
                        {3, 600, 211}}) {
    SCOPED_TRACE(testing::Message() << c.rows << " x " << c.columns << " of " << c.element);
    InPlaceArray array(c.element, {c.rows, c.columns});
    expect_permuted_in_place(array, transposed_axes, "passes");
    if (testing::Test::HasFailure()) return;
  }
}

TEST(PassesInTheEmulator, PermutationsOfAnyRank) {
  InPlaceArray images(1, {3, 40, 50, 3});
  expect_permuted_in_place(images, {0, 3, 1, 2});
  InPlaceArray five(4, {3, 4, 5, 2, 6});
  expect_permuted_in_place(five, {4, 2, 0, 3, 1});
  InPlaceArray one(4, {1, 70});
  EXPECT_EQ(expect_permuted_in_place(one, transposed_axes), "passes");
  InPlaceArray element(8, {1, 1});
  expect_permuted_in_place(element, transposed_axes);
}

}  // namespace
}  // namespace cornerturn::simt
