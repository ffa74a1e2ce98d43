// Rows whose stores may go through the caches or around them: either way moves all of them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <vector>

#include "cpu/engine.hpp"
#include "plan/cpu/rows.hpp"
#include "plan/planner.hpp"
#include "support/reference.hpp"

namespace cornerturn::cpu {
namespace {

// `heads` of `rows` rows of `row` bytes each, to rows that lie head by head.
Problem split_heads(std::int64_t heads, std::int64_t rows, std::int64_t row) {
  Problem problem;
  problem.modes = {{heads, row, rows * row}, {rows, heads * row, row}, {row, 1, 1}};
  return problem;
}

// The plans of rows for a processor with caches of these sizes: one for each way to store.
std::vector<plan::Plan> plans_of(const Problem& problem, int threads) {
  plan::CpuInfo cpu;
  cpu.l2_bytes = 64 << 10;
  cpu.l3_bytes = std::int64_t{1} << 30;
  const plan::Plan plan = plan::make_plan(problem, cpu, {threads, "rows"});
  std::vector<plan::Plan> all;
  for (const plan::Candidate& candidate : plan.candidates) {
    all.push_back(plan);
    all.back().choose(candidate, plan::Choice::forced);
  }
  return all;
}

void expect_moved(std::int64_t heads, std::int64_t rows, std::int64_t row, int threads) {
  const Problem problem = split_heads(heads, rows, row);
  std::vector<std::byte> src(static_cast<std::size_t>(problem.bytes())), expected(src.size());
  std::uint32_t number = 1;
  for (std::byte& byte : src) byte = static_cast<std::byte>((number += 2654435769) >> 24);
  for (std::int64_t h = 0; h < heads; ++h) {
    for (std::int64_t r = 0; r < rows; ++r) {
      std::memcpy(expected.data() + (h * rows + r) * row, src.data() + (r * heads + h) * row,
                  static_cast<std::size_t>(row));
    }
  }
  std::set<plan::Stores> ways;
  for (const plan::Plan& plan : plans_of(problem, threads)) {
    ways.insert(plan.chosen.config.as<plan::RowsConfig>().stores);
    std::vector<std::byte> dst(src.size());
    execute(plan, {dst.data(), src.data()});
    EXPECT_TRUE(dst == expected) << heads << " heads of " << rows << " rows of " << row << " B on "
                                 << threads << " threads by " << to_string(plan);
  }
  EXPECT_EQ(ways, (std::set{plan::Stores::regular, plan::Stores::past_caches}));
}

TEST(RowsStoredEitherWay, AllPiecesAreMoved) {
  for (const int threads : {1, 2, 3}) {
    expect_moved(16, 2048, 128, threads);
    expect_moved(12, 1001, 64, threads);
    expect_moved(7, 555, 200, threads);
    expect_moved(3, 300, 5000, threads);
    expect_moved(40, 9001, 12, threads);
  }
}

// The lines of few boxes are fetched ahead, and stored through the caches: rows that follow each
// other, and rows that stand alone.
TEST(RowsStoredEitherWay, NotOfTooFewBoxes) {
  plan::CpuInfo cpu;
  cpu.l2_bytes = 1 << 20;
  for (const std::int64_t gap : {0, 8}) {
    for (const std::int64_t row : {11, 96}) {
      const std::int64_t heads = row == 11 ? 1026 : 200;
      const std::int64_t rows = row == 11 ? 93 : 40;
      Problem problem = split_heads(heads, rows, row);
      problem.modes[1].dst_stride += gap;
      problem.modes[0].dst_stride += gap * rows;
      plan::Plan plan = plan::make_plan(problem, cpu, {1, "rows"});
      const auto fetched = std::find_if(plan.candidates.begin(), plan.candidates.end(),
                                        [](const plan::Candidate& candidate) {
                                          return candidate.config.as<plan::RowsConfig>().fetched;
                                        });
      ASSERT_NE(fetched, plan.candidates.end()) << row;
      plan.choose(plan::Candidate(*fetched), plan::Choice::forced);
      EXPECT_EQ(plan.chosen.config.as<plan::RowsConfig>().stores, plan::Stores::regular);
      std::vector<std::byte> src(static_cast<std::size_t>(problem.bytes()));
      std::uint32_t number = 1;
      for (std::byte& byte : src) byte = static_cast<std::byte>((number += 2654435769) >> 24);
      std::vector<std::byte> dst(static_cast<std::size_t>(heads * rows * (row + gap)));
      std::vector<std::byte> expected = dst;
      for (std::int64_t i = 0; i < heads * rows; ++i) {
        std::memcpy(expected.data() + i * (row + gap),
                    src.data() + (i % rows * heads + i / rows) * row,
                    static_cast<std::size_t>(row));
      }
      execute(plan, {dst.data(), src.data()});
      EXPECT_TRUE(dst == expected) << row << " B, gaps of " << gap;
    }
  }
}

// Rows of whole lines with gaps between them: from any address to any other, in both ways.
TEST(RowsApart, LeaveGapsAsTheyAre) {
  constexpr std::int64_t heads = 9, rows = 5;
  std::uint32_t number = 1;
  for (const bool around : {false, true}) {
    plan::CpuInfo cpu;
    cpu.l2_bytes = around ? 1 << 10 : std::int64_t{1} << 30;
    if (around) cpu.l3_bytes = 1 << 10;
    for (std::int64_t phase = 0; phase < 64; ++phase) {
      const std::int64_t row = 1024 + (phase * 97) % 5000;
      const std::int64_t gap = 1 + phase % 9 * 8;
      Problem problem = split_heads(heads, rows, row);
      problem.modes[1].dst_stride += gap;
      problem.modes[0].dst_stride += gap * rows;
      problem.dst_offset = phase;
      problem.src_offset = phase / 3;
      const plan::Plan plan = plan::make_plan(problem, cpu, {1, "rows"});
      EXPECT_EQ(plan.chosen.config.as<plan::RowsConfig>().stores,
                around ? plan::Stores::past_caches : plan::Stores::regular);
      std::vector<std::byte> src(static_cast<std::size_t>(problem.bytes() + 64));
      for (std::byte& byte : src) byte = static_cast<std::byte>((number += 2654435769) >> 24);
      std::vector<std::byte> dst(static_cast<std::size_t>(heads * rows * (row + gap) + 128),
                                 std::byte{0xA5});
      std::vector<std::byte> expected = dst;
      test::reference_copy(problem, src.data(), expected.data());
      execute(plan, {dst.data(), src.data()});
      EXPECT_TRUE(dst == expected) << row << " B, gaps of " << gap << ", from byte " << phase;
    }
  }
}

// An element for each run of the destination, which may have gaps between them.
TEST(Gather, FillsRuns) {
  for (const int width : {1, 2, 4, 8, 16}) {
    for (std::int64_t run = 1; run < 200; ++run) {
      const std::int64_t gap = run % 3 * width;
      Problem problem;
      problem.src_type = problem.dst_type = ElementType::bytes(width);
      problem.modes = {{5, width, run * width + gap}, {run, 0, width}};
      problem.dst_offset = run % 7 * width;
      const plan::Plan plan = plan::make_plan(problem, plan::CpuInfo{}, {1, "gather"});
      std::vector<std::byte> src(static_cast<std::size_t>(5 * width));
      for (std::size_t i = 0; i < src.size(); ++i) src[i] = static_cast<std::byte>(7 * i + 1);
      std::vector<std::byte> dst(static_cast<std::size_t>(5 * (run * width + gap) + 8 * width),
                                 std::byte{0xA5});
      std::vector<std::byte> expected = dst;
      test::reference_copy(problem, src.data(), expected.data());
      execute(plan, {dst.data(), src.data()});
      EXPECT_TRUE(dst == expected) << run << " elements of " << width << " B";
    }
  }
}

}  // namespace
}  // namespace cornerturn::cpu
