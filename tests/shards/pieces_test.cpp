// In which pieces and in which order a sender works. That pieces put every element in its place is
// tested with the messages (redistribution_test.cpp).
#include "shards/pieces.hpp"

#include <gtest/gtest.h>

#include <map>

#include "kernels/turns.hpp"

namespace cornerturn::shards {
namespace {

// A matrix of floats, split by rows, transposed and split by rows again.
Redistribution floats_transposed(std::int64_t n, std::int64_t devices) {
  return {
      placed({n, n}, {devices}, {{0}}, "src"), placed({n, n}, {devices}, {{0}}, "dst"), {1, 0}, 4};
}

std::vector<Piece> pieces_by(const Redistribution& what, int from, std::int64_t piece_bytes) {
  std::vector<Numbers> dst;
  for (const Shard& shard : what.dst().shards) dst.push_back(packed(shard.shape(), 4));
  return pieces_of(what, from, packed(what.src().shards[0].shape(), 4), dst, piece_bytes);
}

std::vector<int> receivers(const std::vector<Piece>& all) {
  std::vector<int> receivers;
  for (const Piece& piece : all) receivers.push_back(piece.to);
  return receivers;
}

TEST(Pieces, TakeTurnsAndEverySenderBeginsWithAnother) {
  const Redistribution what = floats_transposed(2048, 4);  // messages of 1 MiB
  EXPECT_EQ(receivers(pieces_by(what, 0, 512 << 10)), (std::vector<int>{1, 2, 3, 0, 1, 2, 3, 0}));
  EXPECT_EQ(receivers(pieces_by(what, 2, 1 << 20)), (std::vector<int>{3, 0, 1, 2}));
}

std::vector<std::vector<int>> receivers_of_groups(const Redistribution& what, int from) {
  std::vector<Numbers> dst;
  for (const Shard& shard : what.dst().shards) dst.push_back(packed(shard.shape(), 4));
  const auto at = static_cast<std::size_t>(from);
  std::vector<std::vector<int>> groups;
  for (const auto& pieces :
       alike_pieces_of(what, from, packed(what.src().shards[at].shape(), 4), dst)) {
    groups.push_back(receivers(pieces));
    for (const Piece& piece : pieces) {
      EXPECT_EQ(piece.problem.modes, pieces[0].problem.modes);
    }
  }
  return groups;
}

TEST(Pieces, AreAlikeWhereShardsAreEven) {
  using Groups = std::vector<std::vector<int>>;
  EXPECT_EQ(receivers_of_groups(floats_transposed(2048, 4), 2), (Groups{{3, 0, 1, 2}}));
  EXPECT_EQ(receivers_of_groups(floats_transposed(2047, 2), 0), Groups());  // 1024 and 1023 rows
  // Blocks of 8 rows in rounds: in 3 shards of 16 rows everybody has 2 blocks, but not for all.
  const Redistribution rounds(placed({48, 16}, {3}, {{0, 8}}, "src"),
                              placed({48, 16}, {3}, {{0}}, "dst"), {0, 1}, 4);
  for (int from = 0; from < 3; ++from) {
    for (const auto& group : receivers_of_groups(rounds, from)) EXPECT_GE(group.size(), 2U);
  }
}

TEST(Turns, TakeStepsBeforeColumnsAndEveryTileOnce) {
  Turns turns;
  EXPECT_EQ(turns.tile(17), 17U);
  turns.rows = 3;
  turns.columns = 4;
  turns.steps = 5;
  std::vector<int> taken(60);
  for (std::uint32_t n = 0; n < 60; ++n) ++taken.at(turns.tile(n));
  EXPECT_EQ(taken, std::vector<int>(60, 1));
  EXPECT_EQ(turns.tile(2), 2U);   // the last tile of the first row
  EXPECT_EQ(turns.tile(3), 12U);  // the same row of the next step
  EXPECT_EQ(turns.tile(15), 3U);  // after all steps the next column
}

TEST(Pieces, AreOfTheSizeThatIsAskedFor) {
  const Redistribution what = floats_transposed(4096, 2);  // 16 MiB for the other, 16 MiB stay
  std::map<int, std::int64_t> bytes;
  for (const Piece& piece : pieces_by(what, 1, 3 << 20)) {
    EXPECT_EQ(piece.problem.bytes(), 2 << 20);
    bytes[piece.to] += piece.problem.bytes();
  }
  EXPECT_EQ(bytes, (std::map<int, std::int64_t>{{0, 16 << 20}, {1, 16 << 20}}));
}

TEST(Pieces, AreNotCutWhereNothingTakesTurns) {
  const Redistribution what(placed({4096, 4096}, {2}, {{0}}, "src"),
                            boxes({4096, 4096}, {{{0, 0}, {0, 0}}, {{0, 0}, {4096, 4096}}}, "dst"),
                            {0, 1}, 4);
  ASSERT_EQ(pieces_by(what, 0, 1 << 20).size(), 1U);
  EXPECT_EQ(pieces_by(what, 0, 1 << 20)[0].problem.bytes(), 32 << 20);
}

TEST(Pieces, KeepWholeRuns) {
  // Rows of 300 elements on both sides: a cut through them would leave less than whole lines.
  const Redistribution what(placed({2, 300}, {2}, {{0}}, "src"), placed({2, 300}, {2}, {{}}, "dst"),
                            {0, 1}, 4);
  EXPECT_EQ(pieces_by(what, 0, 64).size(), 2U);
}

}  // namespace
}  // namespace cornerturn::shards
