// The solver: against a search over the same layouts that knows none of its short cuts, against
// explain() and the proofs, and in its answers.
#include "workshop/lab/solve.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "cornerturn/error.hpp"
#include "maps/proofs.hpp"
#include "plan/gpu/device_files.hpp"
#include "workshop/analyse/notation.hpp"
#include "workshop/lab/explain.hpp"

namespace cornerturn::lab {
namespace {

Solution solved(std::int64_t rows, std::int64_t columns, int bytes, int width,
                Side write = Side::rows, Side read = Side::columns) {
  Question question;
  question.tile = {rows, columns, bytes};
  question.write = write;
  question.read = read;
  question.width = width;
  return solve(question, plan::gpu::device_named("h200"));
}

// No conflict in any request: every address of every request looked at.
bool clean(const TileChoice& choice, const Access& access) {
  for (const LanePoints& points : access.requests) {
    WarpRequest request;
    request.active = 0;
    request.width = access.vector * choice.tile.bytes;
    for (std::size_t lane = 0; lane < warp_lanes; ++lane) {
      if (!points[lane].inside) continue;
      const std::int64_t at = choice(points[lane].row, points[lane].column);
      for (int k = 0; k < access.vector; ++k) {
        if (choice(points[lane].row, points[lane].column + k) != at + k) return false;
      }
      if (at * choice.tile.bytes % request.width != 0) return false;
      request.active |= 1U << lane;
      request.address[lane] = static_cast<std::uint64_t>(at * choice.tile.bytes);
    }
    if (!shared_cost(request, access.op).clean()) return false;
  }
  return true;
}

bool any_clean(const TileShape& tile, int vector) {
  for (const TileChoice& choice : tile_choices(tile, false, false)) {
    for (const TileWalk& write : walks_of(Side::rows, tile, vector)) {
      if (!clean(choice, walk_access(write, SharedOp::store))) continue;
      for (const TileWalk& read : walks_of(Side::columns, tile, vector)) {
        if (clean(choice, walk_access(read, SharedOp::load))) return true;
      }
    }
  }
  return false;
}

TEST(Solve, FindsAnAnswerWhereverThereIsOne) {
  const std::pair<int, int> tiles[] = {{16, 16}, {32, 32},  {64, 64}, {128, 128},
                                       {32, 64}, {64, 128}, {24, 40}, {48, 80}};
  int answers = 0;
  for (const auto& [rows, columns] : tiles) {
    for (const int bytes : {1, 2, 4, 8}) {
      for (const int width : {bytes, 16}) {
        const TileShape tile = {rows, columns, bytes};
        const int vector = width / bytes;
        const bool fits = !walks_of(Side::rows, tile, vector).empty() &&
                          !walks_of(Side::columns, tile, vector).empty();
        if (!fits) {
          EXPECT_THROW(solved(rows, columns, bytes, width), Error);
          continue;
        }
        const Solution solution = solved(rows, columns, bytes, width);
        EXPECT_EQ(solution.winner().clean(), any_clean(tile, vector))
            << rows << " x " << columns << " of " << bytes << " B, " << width << " B a lane";
        answers += solution.winner().clean() ? 1 : 0;
      }
    }
  }
  EXPECT_GT(answers, 40);
}

TEST(Solve, SixtyFourByFloats16BytesBothWays) {
  const Solution solution = solved(64, 64, 4, 16);
  const Answer& winner = solution.winner();
  EXPECT_TRUE(winner.clean());
  EXPECT_EQ(to_string(*winner.choice.layout()), "Swizzle<3,2,6> o (64,64):(64,1)");
  EXPECT_EQ(winner.wavefronts(), 2 * 64 * 64 * 4 / 128);
  EXPECT_TRUE((conflict_free<float, SwizzledRows<Swizzle<3, 2, 6>, 64, 64>,
                             cornerturn::Access::columns, 16>));
  EXPECT_EQ(winner.choice.cute_cpp(),
            "auto tile = composition(Swizzle<3, 2, 6>{}, Layout<Shape<Int<64>, Int<64>>, "
            "Stride<Int<64>, Int<1>>>{});");
  EXPECT_EQ(winner.choice.cute_python(),
            "tile = cute.make_composed_layout(cute.make_swizzle(3, 2, 6), 0, cute.make_layout((64, "
            "64), stride=(64, 1)))");
  EXPECT_EQ(winner.choice.gluon(),
            "tile = gl.SwizzledSharedLayout(vec=4, per_phase=4, max_phase=8, order=[1, 0])");
  EXPECT_NE(winner.choice.cuda().find("return x ^ (x & 0x700) >> 6;"), std::string::npos);
  EXPECT_EQ(solution.textbook.gives, "Swizzle<3,2,4>");
  EXPECT_FALSE(solution.textbook.right);
  EXPECT_NE(solution.textbook.why.find("4 rows apart: S = log2(row) = 6"), std::string::npos);
  EXPECT_NE(solution.proof.find("words of rank 3 in banks of rank 3"), std::string::npos);
  bool diagonal = false;
  for (const Answer& answer : solution.ranked) {
    diagonal = diagonal || (answer.choice.family == Family::plain && answer.clean() &&
                            answer.read.walk == LayoutWalk::diagonal);
  }
  EXPECT_TRUE(diagonal);
}

TEST(Solve, TheTextbookRuleIsRightForScalarsAndMatrices) {
  const Solution scalars = solved(64, 64, 4, 4);
  EXPECT_EQ(scalars.textbook.gives, "Swizzle<5,0,6>");
  EXPECT_TRUE(scalars.textbook.right);
  const Solution matrices = solved(64, 64, 2, 16, Side::rows, Side::matrices);
  EXPECT_EQ(matrices.textbook.gives, "Swizzle<3,3,3>");
  EXPECT_TRUE(matrices.textbook.right);
  EXPECT_TRUE(matrices.winner().clean());
  const Solution shorter = solved(32, 16, 4, 4);
  EXPECT_EQ(shorter.textbook.gives, "Swizzle<5,0,4>");
  EXPECT_NE(shorter.textbook.why.find("no such swizzle"), std::string::npos);
  EXPECT_TRUE(shorter.winner().clean());
}

TEST(Solve, EveryRankedAnswerCostsWhatExplainSays) {
  for (const auto& [rows, columns] : {std::pair{64, 64}, std::pair{24, 40}, std::pair{32, 128}}) {
    const Solution solution = solved(rows, columns, 4, 0);
    const TileShape& tile = solution.question.tile;
    EXPECT_GT(solution.ranked.size(), 2U);
    for (const Answer& answer : solution.ranked) {
      const auto layout = answer.choice.layout();
      if (!layout) continue;
      const auto access = [&](const Leg& leg) {
        return walk_access({leg.walk, tile.rows, tile.columns, leg.vector, 4}, leg.op);
      };
      const Explanation e = explain(*layout, 4, {access(answer.write), access(answer.read)},
                                    plan::gpu::device_named("h200"));
      EXPECT_EQ(e.accesses[0].wavefronts, answer.write.wavefronts) << answer.choice.text();
      EXPECT_EQ(e.accesses[1].wavefronts, answer.read.wavefronts) << answer.choice.text();
      EXPECT_EQ(e.accesses[1].floor, answer.read.floor) << answer.choice.text();
      EXPECT_FALSE(e.same_place) << answer.choice.text();
      EXPECT_EQ(e.shared_bytes, answer.choice.shared_bytes()) << answer.choice.text();
    }
  }
}

TEST(Solve, EveryChoicePutsEveryElementAtItsOwnPlace) {
  for (const TileShape tile : {TileShape{24, 40, 4}, TileShape{32, 32, 2}, TileShape{48, 80, 1}}) {
    for (const TileChoice& choice : tile_choices(tile, false, false)) {
      std::vector<bool> taken(static_cast<std::size_t>(choice.shared_bytes() / tile.bytes));
      for (int row = 0; row < tile.rows; ++row) {
        for (int column = 0; column < tile.columns; ++column) {
          const auto at = static_cast<std::size_t>(choice(row, column));
          ASSERT_LT(at, taken.size()) << choice.text();
          ASSERT_FALSE(taken[at]) << choice.text();
          taken[at] = true;
        }
      }
      const auto layout = choice.layout();
      if (!layout) continue;
      for (int row = 0; row < tile.rows; ++row) {
        for (int column = 0; column < tile.columns; ++column) {
          ASSERT_EQ((*layout)(row, column), choice(row, column)) << choice.text();
        }
      }
    }
  }
}

TEST(Solve, WhatTmaAndPaddingAllow) {
  Question question;
  question.tile = {64, 64, 4};
  question.width = 4;
  question.only_tma = true;
  const Solution tma = solve(question, plan::gpu::device_named("h200"));
  EXPECT_TRUE(tma.winner().choice.fits_tma());
  EXPECT_TRUE(tma.winner().write.by_tma);
  // Nothing below 16 bytes moves: four lanes at least share a bank.
  EXPECT_EQ(tma.winner().read.wavefronts, 4 * tma.winner().read.floor);
  question.width = 16;
  EXPECT_TRUE(solve(question, plan::gpu::device_named("h200")).winner().clean());

  question.only_tma = false;
  question.only_padding = true;
  question.width = 4;
  const Solution padded = solve(question, plan::gpu::device_named("h200"));
  EXPECT_EQ(to_string(*padded.winner().choice.layout()), "(64,64):(65,1)");
  EXPECT_TRUE(padded.winner().clean());
  // Aligned rows and V x V blocks: no padding is enough, a diagonal is.
  question.width = 16;
  question.read = Side::blocks;
  EXPECT_FALSE(solve(question, plan::gpu::device_named("h200")).winner().clean());
  question.read = Side::columns;
  EXPECT_EQ(solve(question, plan::gpu::device_named("h200")).winner().read.walk,
            LayoutWalk::diagonal);
}

TEST(Solve, CodeIsThereWhereALanguageHasTheForm) {
  TileChoice boxes;
  boxes.family = Family::tma;
  boxes.tile = {64, 64, 4};
  boxes.box = 4;
  EXPECT_EQ(boxes.gluon(), "");  // its boxes without a swizzle are as wide as the tile
  boxes.box = 32;
  boxes.swizzle = {3, 2, 3};
  EXPECT_NE(boxes.gluon().find("swizzle_byte_width=128"), std::string::npos);
  boxes.tile.rows = 4;
  EXPECT_EQ(boxes.gluon(), "");
  TileChoice padded;
  padded.family = Family::padding;
  padded.tile = {64, 64, 4};
  padded.pad = 4;
  EXPECT_NE(padded.gluon().find("[[64, 4]]"), std::string::npos);
  padded.pad = 12;
  EXPECT_EQ(padded.gluon(), "");
  EXPECT_NE(padded.cuda().find("__shared__ alignas(1024) float tile[4852];"), std::string::npos);
  padded.tile = {128, 128, 4};
  EXPECT_NE(padded.cuda().find("extern __shared__ float tile[];  // 71632 B"), std::string::npos);
}

// With no answer free of conflicts, too, the winner is what a search without short cuts finds.
TEST(Solve, TheWinnerIsTheBestOfAll) {
  for (const TileShape tile : {TileShape{24, 50, 2}, TileShape{33, 35, 4}, TileShape{40, 36, 1}}) {
    const Solution solution = solved(tile.rows, tile.columns, tile.bytes, 0);
    std::int64_t best = std::numeric_limits<std::int64_t>::max();
    for (const TileChoice& choice : tile_choices(tile, false, false)) {
      std::int64_t least[] = {best, best};
      for (int vector = 1; vector * tile.bytes <= 16; vector *= 2) {
        for (const bool writes : {true, false}) {
          for (const TileWalk& walk : walks_of(writes ? Side::rows : Side::columns, tile, vector)) {
            const auto counted = count_wavefronts(
                choice, walk_access(walk, writes ? SharedOp::store : SharedOp::load), best);
            if (counted) least[writes] = std::min(least[writes], *counted);
          }
        }
      }
      if (least[0] < best && least[1] < best) best = std::min(best, least[0] + least[1]);
    }
    EXPECT_EQ(solution.winner().wavefronts(), best) << tile.rows << " x " << tile.columns;
  }
}

TEST(Solve, WhatKeepsVectorsNeverTearsThem) {
  const TileShape tile = {24, 48, 2};
  for (const TileChoice& choice : tile_choices(tile, false, false)) {
    for (const int vector : {2, 4, 8}) {
      if (!choice.keeps(vector)) continue;
      for (int row = 0; row < tile.rows; ++row) {
        for (int column = 0; column < tile.columns; ++column) {
          const std::int64_t first = choice(row, column - column % vector);
          ASSERT_EQ(choice(row, column), first + column % vector) << choice.text();
        }
      }
    }
  }
}

TEST(Solve, SaysWhyThereIsNoAnswer) {
  const auto refusal = [](std::int64_t rows, std::int64_t columns, int bytes, int width) {
    try {
      solved(rows, columns, bytes, width);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("nothing refused");
  };
  EXPECT_EQ(
      refusal(256, 256, 4, 4),
      "256 x 256 elements of 4 B are 262144 B: more than the 232448 B of shared memory that a "
      "block of NVIDIA H200 can have");
  EXPECT_EQ(refusal(24, 40, 1, 16),
            "write rows: 24 x 40 elements of 1 B are no whole number of such accesses of 16 B");
  EXPECT_NE(refusal(24, 40, 3, 0).find("elements of 3 B"), std::string::npos);
}

TEST(Solve, JsonAndTextSayTheSame) {
  const Solution solution = solved(64, 64, 4, 16);
  const nlohmann::json json = nlohmann::json::parse(solution.to_json());
  EXPECT_EQ(json["answers"][0]["layout"], "Swizzle<3,2,6> o (64,64):(64,1)");
  EXPECT_EQ(json["conflict_free"], true);
  EXPECT_EQ(json["textbook"]["right"], false);
  const std::string text = solution.to_text();
  EXPECT_NE(text.find(json["code"]["cuda"].get<std::string>().substr(0, 20)), std::string::npos);
  EXPECT_NE(text.find("free of bank conflicts"), std::string::npos);
}

}  // namespace
}  // namespace cornerturn::lab
