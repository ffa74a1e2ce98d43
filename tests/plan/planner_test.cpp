#include "plan/planner.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "core/validate.hpp"
#include "cornerturn/error.hpp"
#include "plan/cpu/box_moves.hpp"
#include "plan/cpu/convert_boxes.hpp"
#include "plan/cpu/families.hpp"
#include "plan/refusal.hpp"
#include "support/draws.hpp"
#include "support/random_problem.hpp"

namespace cornerturn::plan {
namespace {

Problem matrix(int size, std::int64_t rows, std::int64_t columns) {
  Problem problem;
  problem.src_type = ElementType::bytes(size);
  problem.dst_type = problem.src_type;
  problem.modes = {{columns, size, rows * size}, {rows, columns * size, size}};
  return problem;
}

TEST(Planner, TheCheapestCandidateIsChosen) {
  test::RandomProblems random(8);
  for (int i = 0; i < test::draws(2000); ++i) {
    const Plan plan = make_plan(random.next(), CpuInfo{}, {2, ""});
    ASSERT_FALSE(plan.candidates.empty());
    for (const Candidate& candidate : plan.candidates) {
      ASSERT_GE(candidate.seconds(), plan.chosen.seconds());
      ASSERT_EQ(candidate.row->why_not(plan.normal, CpuInfo{}), nullptr);
    }
    ASSERT_GE(plan.threads, 1);
    ASSERT_LE(plan.threads, 2);
  }
}

// A copy of a few bytes is over before a kernel for any layout has begun.
TEST(Planner, NoShortRunIsGathered) {
  for (const std::int64_t bytes : {16, 64, 256}) {
    Problem run;
    run.src_type = run.dst_type = ElementType::bytes(4);
    run.modes = {{bytes / 4, 4, 4}};
    EXPECT_NE(make_plan(run, CpuInfo{}, {1, ""}).kernel(), "gather") << bytes;
  }
}

TEST(Planner, EqualProblemsGetEqualPlans) {
  test::RandomProblems random(9);
  for (int i = 0; i < 200; ++i) {
    const Problem problem = random.next();
    EXPECT_EQ(make_plan(problem, CpuInfo{}, {1, ""}), make_plan(problem, CpuInfo{}, {1, ""}));
  }
}

TEST(Planner, EveryKernelCanBeForcedWhereItApplies) {
  test::RandomProblems random(10);
  std::set<std::string_view> forced;
  for (int i = 0; i < 500; ++i) {
    Problem problem = random.next();
    if (i % 5 == 0) {
      problem.src_type = problem.dst_type = ElementType(Kind::u8);
      problem.values.alpha = 3;
    }
    const ElementType f32(Kind::f32);
    if (i % 50 == 1) problem = reduce_problem(f32, {i, 64}, {256, 4});
    if (i % 50 == 2) {
      problem = block_problem(f32, {i, 64}, {256, 4}, {{}, i % 100 == 2, {1, {68, 34}, {}}, {}});
    }
    if (i % 50 == 3) {
      problem = {};
      problem.in_place = true;
      problem.modes = {{i + 1, 4, 4 * (i + 1)}, {i + 1, 4 * (i + 1), 4}, {4, 1, 1}};
    }
    const Plan free = make_plan(problem, CpuInfo{}, {1, ""});
    for (const Row& row : cpu_registry()) {
      if (why_not(row, free.normal, CpuInfo{}) != nullptr) continue;
      const Plan plan = make_plan(problem, CpuInfo{}, {1, std::string(row.name)});
      ASSERT_EQ(plan.kernel(), row.name);
      ASSERT_EQ(plan.choice, Choice::forced);
      forced.insert(row.name);
    }
  }
  const auto for_lists =
      std::count_if(cpu_registry().begin(), cpu_registry().end(),
                    [](const Row& row) { return row.lists == Row::ListRule::only; });
  EXPECT_EQ(static_cast<std::int64_t>(forced.size()) + for_lists,
            static_cast<std::int64_t>(cpu_registry().size()));
}

TEST(Planner, UnknownKernelsAreRefusedWithTheKnownOnes) {
  const std::string message = message_of(matrix(4, 100, 200), {1, "magic"});
  EXPECT_NE(message.find("kernel = 'magic' is unknown: use one of "), std::string::npos);
  for (const Row& row : cpu_registry()) {
    EXPECT_NE(message.find(row.name), std::string::npos) << row.name;
  }
}

TEST(Planner, ValuesAreConvertedByThoseThatSaySo) {
  Problem problem = matrix(4, 100, 200);
  problem.src_type = ElementType(Kind::f32);
  problem.dst_type = ElementType(Kind::i32);
  EXPECT_EQ(make_plan(problem, CpuInfo{}, {1, ""}).kernel(), "convert");
  EXPECT_EQ(message_of(problem, {1, "strided"}),
            "kernel = 'strided' does not take this problem: values are converted");
  EXPECT_EQ(message_of(matrix(4, 100, 200), {1, "convert"}),
            "kernel = 'convert' does not take this problem: values are only moved");
}

TEST(Planner, TilesConvertLargeProblemsThatDoNotNarrow) {
  const auto refusal = [](Problem problem, Kind from, Kind to) {
    problem.src_type = ElementType(from);
    problem.dst_type = ElementType(to);
    for (Mode& mode : problem.modes) {
      mode.src_stride = mode.src_stride / 4 * problem.src_type.size();
      mode.dst_stride = mode.dst_stride / 4 * problem.dst_type.size();
    }
    return message_of(problem, {1, "tile"});
  };
  const std::string refused = "kernel = 'tile' does not take this problem: ";
  EXPECT_EQ(refusal(matrix(4, 4096, 4096), Kind::bf16, Kind::f32), "");
  EXPECT_EQ(refusal(matrix(4, 4096, 4096), Kind::f32, Kind::bf16),
            refused + "values become narrower");
  EXPECT_EQ(refusal(matrix(4, 4096, 4096), Kind::bf16, Kind::f16), "");
  EXPECT_EQ(refusal(matrix(4, 4096, 4096), Kind::i64, Kind::f64),
            refused + "it takes no more than a change of type, from f32, to it or by way of it");
  EXPECT_EQ(refusal(matrix(4, 100, 200), Kind::bf16, Kind::f32),
            refused + "values are converted, and stay in the cache");
}

TEST(Planner, SmallProblemsStayOnOneThread) {
  EXPECT_EQ(make_plan(matrix(4, 64, 64), CpuInfo{}, {8, ""}).threads, 1);
  EXPECT_EQ(make_plan(matrix(4, 8192, 8192), CpuInfo{}, {8, ""}).threads, 8);
}

// Found by measuring random problems: the kernels named last were chosen, and took 4 to 70 times as
// long. Short runs of many modes need recipes again and again, or lose source lines before all of a
// line is read.
TEST(Planner, ManyShortRunsCostWhatTheyCost) {
  struct Found {
    int bytes;
    Extents shape;
    std::vector<int> permutation;
    std::string_view best;
    std::string_view worse;
  };
  const Found found[] = {
      {8, {150, 31, 25, 17, 9}, {0, 4, 2, 1, 3}, "tile", "pack_lines"},
      {8, {41, 2, 72, 5, 3, 4, 23}, {1, 4, 2, 3, 6, 0, 5}, "tile", "pack_lines"},
      {4, {31, 32, 75, 4, 13}, {2, 0, 4, 1, 3}, "tile", "pack_lines"},
      {2, {38, 84, 82, 5, 3, 3, 2}, {2, 6, 5, 3, 0, 1, 4}, "pack", "pack_lines"},
      {4, {58, 4, 37, 70, 13}, {4, 2, 1, 0, 3}, "tile", "gather"},
  };
  const CpuInfo laptop = {"laptop", "AVX2", 8, 64, 48 << 10, 512 << 10, 16 << 20};
  const CpuInfo server = {"server", "AVX3_DL", 32, 64, 32 << 10, 1 << 20, 32 << 20};
  for (const Found& one : found) {
    const ElementType type = ElementType::bytes(one.bytes);
    const ConstView src = ConstView(nullptr, type, one.shape).permuted(one.permutation);
    const Problem problem = make_problem(View(nullptr, type, src.shape), src);
    for (const CpuInfo& cpu : {laptop, server}) {
      const Plan plan = make_plan(problem, cpu, {1, ""});
      // Processors with AVX-512 have one more kernel for many short axes.
      EXPECT_TRUE(plan.kernel() == one.best ||
                  (plan.kernel() == "shuffle" && cpu.model == server.model))
          << plan.kernel() << ": " << to_string(problem) << " on a " << cpu.model;
      const auto known = std::find_if(plan.candidates.begin(), plan.candidates.end(),
                                      [&](const Candidate& c) { return c.row->name == one.worse; });
      ASSERT_NE(known, plan.candidates.end());
      EXPECT_GT(known->seconds(), plan.chosen.seconds());
    }
  }
}

// What a conversion does with its boxes is planned with it, for whole boxes and for smaller ones.
TEST(Planner, ConversionsHoldThePlansOfTheirBoxes) {
  const CpuInfo cpu;
  const ConstView src = ConstView(nullptr, ElementType(Kind::f32), {1001, 777}).permuted({1, 0});
  const Plan plan = make_plan(make_problem(View(nullptr, ElementType(Kind::bf16), src.shape), src),
                              cpu, {1, "convert"});
  const auto& config = plan.chosen.config.as<ConvertConfig>();
  ASSERT_NE(config.moves, nullptr);
  const ConvertBoxes boxes = make_boxes(config, plan.normal);
  ASSERT_EQ(boxes.shapes(), 4);  // neither extent is a multiple of a box's
  ASSERT_EQ(config.moves->of_shape.size(), 4U);
  std::int64_t elements = 0;
  for (std::int64_t i = 0; i < boxes.count; ++i) {
    const ConvertBoxes::Box box = boxes.box(plan.normal, i);
    std::int64_t count = 1;
    for (int k = 0; k < boxes.rank; ++k) {
      const auto slot = static_cast<std::size_t>(k);
      EXPECT_EQ(box.count[slot], boxes.count_of(box.shape, k, plan.normal.modes[k]));
      count *= box.count[slot];
    }
    const BoxMove& move = config.moves->of_shape[static_cast<std::size_t>(box.shape)];
    EXPECT_EQ(move.normal.elements(), count);
    elements += count;
  }
  EXPECT_EQ(elements, 1001 * 777);
  const std::string text = explain(plan);
  for (const BoxMove& move : config.moves->of_shape) {
    EXPECT_NE(text.find(to_string(move.normal) + " by "), std::string::npos);
  }
  EXPECT_EQ(plan, make_plan(plan.problem, cpu, {1, "convert"}));
}

// Where the caches are taken by something larger, small problems are planned like large ones.
TEST(Planner, WhatIsPartOfSomethingLargerIsStoredAroundTheCaches) {
  CpuInfo cpu;
  const Problem problem = matrix(4, 128, 128);
  const auto stores = [&] {
    return make_plan(problem, cpu, {1, "tile"}).chosen.config.as<TileConfig>().stores;
  };
  EXPECT_EQ(stores(), Stores::regular);
  cpu.caches_taken = true;
  EXPECT_EQ(stores(), Stores::past_caches);
}

// Both sides together have to fit into the second level to count as cached. Between that and a
// share of the third level either way of storing may be the faster one: both are offered.
// Rows of `row` bytes, `outer` x `inner` of them, to the order of `inner` x `outer`.
Problem rows_in_another_order(std::int64_t outer, std::int64_t inner, std::int64_t row) {
  Problem problem;
  problem.src_type = problem.dst_type = ElementType::bytes(1);
  problem.modes = {{inner, row, outer * row}, {outer, inner * row, row}, {row, 1, 1}};
  return problem;
}

std::vector<RowsConfig> rows_of(const Problem& problem) {
  std::vector<RowsConfig> configs;
  for (const Candidate& candidate : make_plan(problem, CpuInfo{}, {1, "rows"}).candidates) {
    configs.push_back(candidate.config.as<RowsConfig>());
  }
  return configs;
}

TEST(Planner, BoxesOfRowsLeaveNoSmallRest) {
  for (const std::int64_t outer : {5, 9, 17, 65, 80, 129}) {
    for (const std::int64_t row : {96, 122, 256, 674, 1312}) {
      for (const RowsConfig& config : rows_of(rows_in_another_order(outer, 4001, row))) {
        const std::int64_t block = config.block_of(1);
        const std::int64_t rest = outer % block;
        EXPECT_TRUE(rest == 0 || 2 * rest >= block)
            << outer << " rows of " << row << " B by " << block;
      }
    }
  }
}

TEST(Planner, PartsOfLongRowsAreAsLongAsEachOther) {
  for (const std::int64_t row : {16384, 16385, 19784, 33000, 65536, 100003}) {
    for (const RowsConfig& config : rows_of(rows_in_another_order(29, 43, row))) {
      const std::int64_t parts = (row + config.chunk_bytes - 1) / config.chunk_bytes;
      EXPECT_LE(config.chunk_bytes, 16384);
      EXPECT_LT(parts * config.chunk_bytes - row, parts * 64) << row;
    }
  }
}

TEST(Planner, RowsThatGoThroughTheCachesAreCopiedAsAWhole) {
  const std::vector<RowsConfig> configs = rows_of(rows_in_another_order(5, 7, 100003));
  ASSERT_EQ(configs.size(), 2U);
  for (const RowsConfig& config : configs) {
    const bool whole = config.chunk_bytes == config.run_bytes;
    EXPECT_EQ(whole, config.stores == Stores::regular) << config.chunk_bytes;
  }
}

TEST(Planner, RowsMayBeReadInTheOrderOfTheDestination) {
  const auto in_order = [](const RowsConfig& config) { return config.block_of(0) == 1; };
  const std::vector<RowsConfig> configs = rows_of(rows_in_another_order(182, 43, 692));
  EXPECT_TRUE(std::any_of(configs.begin(), configs.end(), in_order));
  EXPECT_FALSE(std::all_of(configs.begin(), configs.end(), in_order));
}

TEST(Planner, RowsAreStoredEitherWayWhereBothMayBeBest) {
  const CpuInfo cpu;
  const auto ways = [&](std::int64_t rows) {
    Problem problem = matrix(4, rows, 64);  // rows of 1 KiB, each in another order
    problem.modes.push_back({256, 4, 4});
    for (int i = 0; i < 2; ++i) {
      problem.modes[i].src_stride *= 256;
      problem.modes[i].dst_stride *= 256;
    }
    std::vector<Stores> found;
    for (const Candidate& candidate : make_plan(problem, cpu, {1, "rows"}).candidates) {
      found.push_back(candidate.config.as<RowsConfig>().stores);
    }
    std::sort(found.begin(), found.end());
    found.erase(std::unique(found.begin(), found.end()), found.end());
    return found;
  };
  EXPECT_EQ(ways(7), std::vector{Stores::regular});  // 448 KiB on each side
  EXPECT_EQ(ways(9), (std::vector{Stores::regular, Stores::past_caches}));
  EXPECT_EQ(ways(127), (std::vector{Stores::regular, Stores::past_caches}));
  EXPECT_EQ(ways(129), std::vector{Stores::past_caches});  // a quarter of 32 MiB, and more
}

// In place, what stays in the caches changes places block by block, and what does not is copied to
// the side: more than half of the second level where rows begin with lines, and more than eight
// times of it where they begin anywhere.
TEST(Planner, MatricesInPlaceAreStagedOnceTheyLeaveTheCaches) {
  const auto staged = [](const Problem& problem, const CpuInfo& cpu) {
    return make_plan(problem, cpu, {1, "swap"}).chosen.config.as<SwapConfig>().staged;
  };
  const auto square = [](int size, std::int64_t side, std::int64_t pitch) {
    Problem problem = matrix(size, side, side);
    problem.modes[0].dst_stride = problem.modes[1].src_stride = pitch * size;
    problem.in_place = true;
    return problem;
  };
  const CpuInfo cpu;  // 1 MiB of second level
  const CpuInfo twice = {"", "AVX2", 1, 64, 32 << 10, 2 << 20};
  EXPECT_FALSE(staged(square(4, 352, 352), cpu));  // 484 KiB
  EXPECT_TRUE(staged(square(4, 368, 368), cpu));   // 529 KiB
  EXPECT_FALSE(staged(square(4, 368, 368), twice));
  EXPECT_FALSE(staged(square(4, 369, 369), cpu));    // rows of 1476 bytes
  EXPECT_FALSE(staged(square(4, 1447, 1447), cpu));  // 8179 KiB
  EXPECT_TRUE(staged(square(4, 1449, 1449), cpu));   // 8201 KiB
  EXPECT_FALSE(staged(square(4, 1449, 1449), twice));
  // Where a row begins is a matter of how far it is from the one before, not of how long it is.
  EXPECT_TRUE(staged(square(4, 1009, 1024), cpu));
  EXPECT_FALSE(staged(square(4, 1024, 1025), cpu));
  // Elements that are not transposed in registers have no use for copies.
  EXPECT_FALSE(staged(square(3, 3000, 3000), cpu));
}

TEST(Planner, ExplainsItself) {
  const CpuInfo cpu;
  const Plan plan = make_plan(matrix(4, 3000, 5000), cpu, {2, ""});
  const std::string text = explain(plan);
  for (const Row& row : cpu_registry()) {
    if (row.lists == Row::ListRule::only) continue;
    EXPECT_NE(text.find(row.name), std::string::npos) << row.name;
  }
  EXPECT_NE(text.find("normalised"), std::string::npos);
  EXPECT_NE(text.find("why"), std::string::npos);
}

}  // namespace
}  // namespace cornerturn::plan
