// What the estimates of CPU kernels depend on.
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "plan/cpu/costs.hpp"
#include "plan/cpu/stores.hpp"
#include "plan/planner.hpp"

namespace cornerturn::plan {
namespace {

Problem problem_of(int size, ModeList modes) {
  Problem problem;
  problem.src_type = problem.dst_type = ElementType::bytes(size);
  problem.modes = modes;
  return problem;
}

CpuInfo server() {
  CpuInfo cpu;
  cpu.isa = "AVX3_DL";
  cpu.l2_bytes = 2 << 20;
  return cpu;
}

// The estimate of the first candidate of a kernel whose description has `part`, in ns; -1: none.
double estimate_ns(const Problem& problem, const CpuInfo& cpu, const std::string& kernel,
                   const std::string& part, int dst_phase = 0) {
  Request request{1, kernel};
  request.dst_phase = dst_phase;
  const Plan plan = make_plan(problem, cpu, request);
  for (const Candidate& candidate : plan.candidates) {
    if (describe(candidate, plan.normal).find(part) != std::string::npos) {
      return 1e9 * candidate.seconds();
    }
  }
  return -1;
}

// Makes a cost of a processor so many times as large, and adds to it.
template <class Costs>
void change(CpuInfo& cpu, Cost Costs::*which, double factor, double more = 0) {
  CpuCosts costs = *cpu.costs;
  Cost& cost = costs.of<Costs>().*which;
  cost.value = factor * cost.value + more;
  cpu.costs = std::make_shared<const CpuCosts>(costs);
}

// Matrices of 256 x 8 elements that leave a line free behind each run of the destination.
constexpr std::int64_t matrices = 256;
const Problem apart_runs = problem_of(8, {{matrices, 16384, 8 * 2112}, {8, 8, 2112}, {256, 64, 8}});

TEST(CpuEstimates, RunsThatBeginWithinALineHaveTwoEndsEach) {
  const CpuInfo cpu = server();
  const double aligned = estimate_ns(apart_runs, cpu, "tile", "lines from registers");
  const double within = estimate_ns(apart_runs, cpu, "tile", "lines from registers", 16);
  ASSERT_GT(aligned, 0);
  EXPECT_NEAR(within - aligned, 2 * 8 * matrices * tile::Costs().partial_line_ns, 1);
}

TEST(CpuEstimates, ShortRunsThatBeginWithinALineGoThroughAStage) {
  CpuInfo cpu = server();
  const Problem short_runs = problem_of(8, {{4096, 512, 8 * 192}, {8, 8, 192}, {16, 64, 8}});
  const auto of = [&](int phase) {
    return estimate_ns(short_runs, cpu, "tile", "lines from registers", phase);
  };
  const double aligned = of(0);
  const double within = of(16);
  ASSERT_GT(aligned, 0);
  change(cpu, &tile::Costs::staged_line_ns, 2);
  EXPECT_EQ(of(0), aligned);
  EXPECT_GT(of(16), within);
}

TEST(CpuEstimates, AnOffsetCanMakeUpForAnAddress) {
  Problem moved = apart_runs;
  moved.dst_offset = 48;
  const auto of = [&](const Problem& problem, int phase) {
    return estimate_ns(problem, server(), "tile", "lines from registers", phase);
  };
  EXPECT_EQ(of(moved, 16), of(apart_runs, 0));
  EXPECT_EQ(of(moved, 0), of(apart_runs, 48));
  EXPECT_GT(of(moved, 0), of(apart_runs, 0));
}

TEST(CpuEstimates, WhatGoesThroughTheCachesMayBeginAnywhere) {
  const Problem rows = problem_of(4, {{512, 48, 12 * 1024}, {1024, 24576, 12}, {3, 4, 4}});
  EXPECT_EQ(estimate_ns(rows, server(), "boxes", "", 16), estimate_ns(rows, server(), "boxes", ""));
  CpuInfo large_caches = server();
  large_caches.l3_bytes = 1 << 30;
  Request request{1, "rows"};
  const auto through_caches = [&](int phase) {
    request.dst_phase = phase;
    const Plan plan = make_plan(rows, large_caches, request);
    std::map<std::string, double> seconds;
    for (const Candidate& candidate : plan.candidates) {
      const std::string how = describe(candidate, plan.normal);
      if (how.find("around") == std::string::npos) seconds[how] = candidate.seconds();
    }
    return seconds;
  };
  EXPECT_FALSE(through_caches(0).empty());
  EXPECT_EQ(through_caches(16), through_caches(0));
}

// 192-byte groups of rows, `gap` bytes apart.
Problem grouped_rows(std::int64_t gap) {
  return problem_of(4, {{16384, 12, 192 + gap}, {16, 12 * 16384, 12}, {3, 4, 4}});
}

TEST(CpuEstimates, GroupsOfRowsEndWithinLinesOnceEachAroundTheCaches) {
  CpuInfo cpu = server();
  const auto of = [&](std::int64_t gap, int phase) {
    return estimate_ns(grouped_rows(gap), cpu, "rows", "stored around", phase);
  };
  const double whole_lines = of(64, 0);
  const double parts = of(64, 16);
  change(cpu, &rows::Costs::around_end_ns, 2);
  EXPECT_EQ(of(64, 0), whole_lines);
  EXPECT_NEAR(parts - whole_lines, of(64, 16) - parts, 1e-6 * parts);
  EXPECT_GT(parts, whole_lines);
  EXPECT_GT(of(36, 0), whole_lines);  // the stride is no multiple of a line
}

TEST(CpuEstimates, ShortRowsThatStandAloneHaveNoEndsAroundTheCaches) {
  const auto depends = [](std::int64_t row) {
    CpuInfo cpu = server();
    const Problem alone = problem_of(4, {{4096, 4 * row, 4 * row + 112}, {row, 4, 4}});
    const double before = estimate_ns(alone, cpu, "rows", "stored around");
    EXPECT_GT(before, 0);
    change(cpu, &rows::Costs::around_end_ns, 2);
    return estimate_ns(alone, cpu, "rows", "stored around") > before;
  };
  EXPECT_FALSE(depends(100));
  EXPECT_TRUE(depends(300));
}

TEST(CpuEstimates, RowsThatLieInDescendingOrderTakeLonger) {
  const auto depends = [](std::int64_t step) {
    const Problem problem = problem_of(1, {{300, step, 9 * 2000}, {2000, 5859, 9}, {9, 1, 1}});
    CpuInfo cpu = server();
    const double before = estimate_ns(problem, cpu, "rows", "");
    EXPECT_GT(before, 0);
    change(cpu, &rows::Costs::backwards_row_ns, 2);
    return estimate_ns(problem, cpu, "rows", "") > before;
  };
  EXPECT_TRUE(depends(-9));
  EXPECT_FALSE(depends(9));
  EXPECT_FALSE(depends(-2000 * 5859));  // lines apart
}

// Blocks move all elements of these boxes. A row of narrow ones costs as much as an element.
TEST(CpuEstimates, BoxesThatAreTooNarrowForBlocksCostTheirRows) {
  const auto grows_by = [](std::int64_t channels) {
    const Problem pixels = problem_of(2, {{channels, 2, 2 * 65536}, {65536, 2 * channels, 2}});
    CpuInfo cpu = server();
    const double before = estimate_ns(pixels, cpu, "pack", "");
    EXPECT_GT(before, 0);
    change(cpu, &pack::Costs::element_ns, 1, 1);
    return estimate_ns(pixels, cpu, "pack", "") - before;
  };
  EXPECT_NEAR(grows_by(3), 65536, 1);
  EXPECT_EQ(grows_by(8), 0);
}

// The kernel keeps two steps for a line, at least, or moves bytes.
TEST(CpuEstimates, PackLinesTakesWhatItsRecipesHaveRoomFor) {
  const auto refused = [](std::int64_t row) {
    const std::int64_t atom = 7 * row;
    return pack_lines::Family::why_not(problem_of(2, {{4, 2 * atom, 389 * 2 * atom},
                                                      {389, 8 * atom, 2 * atom},
                                                      {7, 2 * row, 2 * row},
                                                      {row, -2, 2}}),
                                       server()) != nullptr;
  };
  EXPECT_TRUE(refused(63));  // a pattern of 441 lines
  EXPECT_FALSE(refused(64));
  // A pattern of 225 lines: those that planning looks at come from two vectors, others from three.
  EXPECT_NE(
      pack_lines::Family::why_not(
          problem_of(2, {{6, 28800, 28800}, {64, 90, 450}, {5, 5760, 90}, {15, 6, 6}, {3, -2, 2}}),
          server()),
      nullptr);
}

TEST(CpuEstimates, BytesThatAreReadAgainComeFromTheCaches) {
  EXPECT_EQ(first_reads(problem_of(1, {{4, 100, 1}, {100, 1, 4}})), 1);
  EXPECT_EQ(first_reads(problem_of(1, {{5, 0, 400}, {4, 100, 1}, {2, 0, 9}})), 0.1);
  const Problem once = problem_of(8, {{16, 8 * 65536, 8 * 65536}, {256, 8, 2048}, {256, 2048, 8}});
  Problem again = once;
  again.modes[0].src_stride = 0;
  for (const char* kernel : {"tile", "pack", "boxes", "shuffle"}) {
    EXPECT_LT(estimate_ns(again, server(), kernel, ""), estimate_ns(once, server(), kernel, ""))
        << kernel;
  }
  const Problem rows =
      problem_of(8, {{64, 65536, 65536}, {64, 64, 1024}, {16, 4096, 64}, {8, 8, 8}});
  Problem rows_again = rows;
  rows_again.modes[0].src_stride = 0;
  EXPECT_LT(estimate_ns(rows_again, server(), "rows", ""), estimate_ns(rows, server(), "rows", ""));
}

TEST(CpuEstimates, SourcesAMultipleOfAPageApartCrowdTheFirstLevelCache) {
  const auto of = [](std::int64_t pitch) {
    return estimate_ns(problem_of(4, {{16384, 4, 80}, {20, pitch, 4}}), server(), "pack_lines", "");
  };
  EXPECT_GT(of(4 * 16384 + 4096), of(4 * 16384 + 64));
}

TEST(CpuEstimates, ElementsThatShareNoLineBringOneEach) {
  constexpr std::int64_t count = 1 << 20;
  const auto lines = [&](const ModeList& modes) {
    const Problem problem = problem_of(8, modes);
    CpuInfo slow = server();
    change(slow, &boxes::Costs::line_ns, 1, 100);
    return (estimate_ns(problem, slow, "boxes", "") - estimate_ns(problem, server(), "boxes", "")) /
           100;
  };
  // Lines of the source and of the destination, of which one is read while one is written.
  EXPECT_NEAR(lines({{count, 1600, 8}}), (count + count / 8) / 2, count * 0.03);
  EXPECT_NEAR(lines({{count, 48, 8}}), count / 8, count * 0.01);
  EXPECT_NEAR(lines({{1024, 8, 8192}, {1024, 8192, 8}}), count / 8, count * 0.01);
  // Rows of 72 bytes, of which each lies in two lines.
  EXPECT_NEAR(lines({{count / 16, 1600, 72}, {9, 8, 8}}), count / 16 * (2 + 9. / 8) / 2,
              count * 0.01);
  for (const std::int64_t pitch : {1600, 2056, 4096}) {
    EXPECT_EQ(make_plan(problem_of(8, {{count, pitch, 8}}), server(), {}).kernel(), "gather");
  }
}

TEST(CpuEstimates, BoxesThatReadTheSameAreCopied) {
  CpuInfo cpu = server();
  // Seven times the same matrix, next to each other and one after the other.
  const Problem apart = problem_of(1, {{7, 0, 512 * 512}, {512, 1, 512}, {512, 512, 1}});
  const auto atoms_ns = [&](const Problem& problem) {
    CpuInfo slow = cpu;
    change(slow, &boxes::Costs::narrow_atom_ns, 1, 100);
    return (estimate_ns(problem, slow, "boxes", "") - estimate_ns(problem, cpu, "boxes", "")) / 100;
  };
  EXPECT_NEAR(atoms_ns(apart), 512 * 512, 512 * 512 * 0.05);
  // Without runs of the destination there is nothing to copy side by side.
  const Problem single = problem_of(1, {{7, 0, 2}, {512, 1, 14 * 512}, {512, 512, 14}});
  EXPECT_NEAR(atoms_ns(single), 7 * 512 * 512, 7 * 512 * 512 * 0.05);
  // Nor where every second byte is left out.
  const Problem gaps = problem_of(1, {{7, 0, 1024 * 512}, {512, 1, 1024}, {512, 512, 2}});
  EXPECT_NEAR(atoms_ns(gaps), 7 * 512 * 512, 7 * 512 * 512 * 0.05);
  const Problem twice = problem_of(1, {{2, 0, 512 * 512}, {512, 1, 512}, {512, 512, 1}});
  EXPECT_NEAR(atoms_ns(twice), 2 * 512 * 512, 2 * 512 * 512 * 0.05);
}

TEST(CpuEstimates, BoxesThatReadTheSameFollowEachOther) {
  const Problem problem = problem_of(1, {{7, 0, 512 * 512}, {512, 1, 512}, {512, 512, 1}});
  boxes::Family::configure(problem, server(), boxes::Costs(), [&](const BoxesConfig& config) {
    const BoxGrid grid = boxes::grid_of(config, problem);
    EXPECT_EQ(grid.box(problem, 6).src_offset, 0);
    EXPECT_EQ(grid.box(problem, 6).dst_offset, 6 * 512 * 512);
    EXPECT_NE(grid.box(problem, 7).src_offset, 0);
  });
}

// Rows of any length, where several of them lie side by side in the destination.
TEST(CpuEstimates, RowsThatAreReadAgainAreCopied) {
  const auto alike = [](const Problem& problem) {
    double result = 0;
    boxes::Family::configure(problem, server(), boxes::Costs(), [&](const BoxesConfig& config) {
      result = boxes::boxes_alike(config, problem);
    });
    return result;
  };
  EXPECT_EQ(alike(problem_of(16, {{64, 0, 1998 * 16}, {999, 2048, 32}, {2, 16, 16}})), 64);
  EXPECT_EQ(alike(problem_of(16, {{64, 0, 3996 * 16}, {999, 2048, 64}, {2, 16, 16}})), 1);
}

// Boxes of several indices of a broadcast mode would read the same again, element by element.
TEST(CpuEstimates, BoxesLeaveBroadcastModesToCopies) {
  const Problem problem = problem_of(
      2, {{19, 58, 148016}, {29, 0, 5104}, {4, 775808, 1276}, {22, 1102, 58}, {29, 24244, 2}});
  boxes::Family::configure(problem, server(), boxes::Costs(), [&](const BoxesConfig& config) {
    for (int k = 0; k < config.part_count; ++k) {
      EXPECT_NE(config.parts[static_cast<std::size_t>(k)].mode, 1);
    }
    EXPECT_EQ(boxes::boxes_alike(config, problem), 29);
  });
}

TEST(CpuEstimates, BoxesTakeElementsThatShareALineOfTheSource) {
  const Problem sparse = problem_of(1, {{208, 13, 21328}, {21328, 2704, 1}});
  boxes::Family::configure(sparse, server(), boxes::Costs(), [&](const BoxesConfig& config) {
    EXPECT_GE(config.src_run, 256);
    EXPECT_GE(config.dst_run, 256);
  });
}

TEST(CpuEstimates, GatherWaitsForRunsThatBeginInManyPages) {
  CpuInfo cpu = server();
  cpu.l2_bytes = 1 << 18;
  const auto far_runs = [&](std::int64_t pages, std::int64_t pitch) {
    const Problem problem =
        problem_of(8, {{256, 384, 384 * pages}, {pages, pitch, 384}, {48, -8, 8}});
    CpuInfo slow = cpu;
    change(slow, &gather::Costs::far_run_ns, 1, 100);
    return (estimate_ns(problem, slow, "gather", "") - estimate_ns(problem, cpu, "gather", "")) /
           100;
  };
  EXPECT_NEAR(far_runs(64, 384 * 256), 256 * 64, 1);
  EXPECT_EQ(far_runs(16, 384 * 256), 0);  // so many are fetched ahead
  EXPECT_EQ(far_runs(64, 2048), 0);       // and two of these share a page
}

// Indices of its fastest mode that a window of the first configuration of shuffle has.
int window_of_rows(const Problem& normal) {
  int window = -1;
  shuffle::Family::configure(normal, server(), [&](const ShuffleConfig& config) {
    if (window >= 0) return;
    for (const ShuffleConfig::Part& part : config.parts) {
      if (part.mode == normal.rank() - 1) window = part.window;
    }
  });
  return window;
}

TEST(CpuEstimates, GatherReadsBroadcastSourcesFromTheCaches) {
  CpuInfo cpu = server();
  // 52,736 runs that begin in 64 pages or more; of the broadcast one 412 KiB are read in all.
  const Problem whole = problem_of(8, {{103, 8, 237568}, {512, 412 * 1024, 464}, {58, 824, 8}});
  const Problem broadcast = problem_of(8, {{103, 8, 237568}, {512, 824, 464}, {58, 0, 8}});
  const double whole_ns = estimate_ns(whole, cpu, "gather", "");
  const double broadcast_ns = estimate_ns(broadcast, cpu, "gather", "");
  change(cpu, &gather::Costs::far_run_ns, 2);
  EXPECT_EQ(estimate_ns(broadcast, cpu, "gather", ""), broadcast_ns);
  change(cpu, &gather::Costs::traffic_ns_a_byte, 2);
  const double traffic_ns = estimate_ns(broadcast, cpu, "gather", "");
  change(cpu, &gather::Costs::traffic_ns_a_byte, 2);
  // What is written alone counts.
  const double bytes = 8.0 * 103 * 512 * 58;
  EXPECT_NEAR(estimate_ns(broadcast, cpu, "gather", "") - traffic_ns,
              gather::Costs().traffic_ns_a_byte * bytes * (1 + 1.0 / 58), bytes * 1e-3);
  EXPECT_GT(whole_ns, broadcast_ns);
}

TEST(CpuEstimates, GatherFillsRunsOfOneElement) {
  CpuInfo cpu = server();
  const Problem filled = problem_of(8, {{400, 8, 464}, {58, 0, 8}});
  const Problem shorter = problem_of(8, {{400, 8, 56}, {7, 0, 8}});
  const auto of = [&](const Problem& problem) { return estimate_ns(problem, cpu, "gather", ""); };
  const double filled_ns = of(filled);
  const double shorter_ns = of(shorter);
  change(cpu, &gather::Costs::loop_ns, 2);
  EXPECT_EQ(of(filled), filled_ns);
  EXPECT_GT(of(shorter), shorter_ns);
}

TEST(CpuEstimates, WindowsOfShuffleAreLongEnoughForLongPieces) {
  // 16 bytes of the source have two of each of seven channels, which would make pieces of two.
  const auto channels = [](std::int64_t width) {
    return problem_of(static_cast<int>(width), {{7, width, width * 129 * 400},
                                                {129, width * 7 * 400, width * 400},
                                                {400, width * 7, width}});
  };
  EXPECT_GE(window_of_rows(channels(1)), 24);
  EXPECT_GE(window_of_rows(channels(2)), 12);
  EXPECT_LE(window_of_rows(channels(2)), 18);  // at most 256 bytes
  // The source has each element once for all indices of the row.
  EXPECT_GE(window_of_rows(problem_of(2, {{7, 2, 2 * 129 * 400}, {129, 14, 800}, {400, 0, 2}})),
            16);
}

}  // namespace
}  // namespace cornerturn::plan
