// What docs/guide/case-study.md and docs/guide/5-swizzles.md say of swizzles in words, worked out
// from the maps.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bit>
#include <string>
#include <vector>

#include "maps/banks.hpp"
#include "maps/composed.hpp"
#include "workshop/analyse/notation.hpp"

namespace cornerturn {
namespace {

const std::vector<AnySwizzle> studied = {{4, 0, 4}, {3, 0, 4}, {3, 0, 3}, {3, 0, 5}, {4, 0, 5}};

SwizzledLayout rows_of_16(const AnySwizzle& swizzle) {
  return composition(swizzle, row_major(32, 16));
}

/// The wavefronts of the most expensive request in which lane i takes V elements from row
/// `distance` i, wherever the request begins.
int column_wavefronts(const SwizzledLayout& tile, int element_bytes, int v, int distance) {
  const auto rows = static_cast<int>(tile.layout.mode(0).size());
  const auto cols = static_cast<int>(tile.layout.mode(1).size());
  const int lanes = std::min(warp_lanes, rows / distance);
  int worst = 0;
  for (int col = 0; col < cols; col += v) {
    for (int first = 0; first < distance; ++first) {
      WarpRequest warp;
      warp.width = v * element_bytes;
      warp.active = 0;
      for (int lane = 0; lane < warp_lanes; ++lane) {
        // Further lanes go to the next columns.
        const int at = col + lane / lanes * v;
        if (at >= cols) continue;
        warp.active |= 1U << lane;
        warp.address[static_cast<std::size_t>(lane)] =
            static_cast<std::uint64_t>(tile(first + lane % lanes * distance, at)) *
            static_cast<std::uint64_t>(element_bytes);
      }
      worst = std::max(worst, shared_cost(warp, SharedOp::store).wavefronts);
    }
  }
  return worst;
}

std::vector<int> unchanged_rows(const SwizzledLayout& tile) {
  std::vector<int> rows;
  for (int row = 0; row < tile.layout.mode(0).size(); ++row) {
    bool same = true;
    for (int col = 0; col < tile.layout.mode(1).size(); ++col) {
      same = same && tile(row, col) == tile.layout(row, col);
    }
    if (same) rows.push_back(row);
  }
  return rows;
}

/// The smallest number of rows after which the pattern within the rows repeats.
int period_in_rows(const SwizzledLayout& tile) {
  const auto rows = static_cast<int>(tile.layout.mode(0).size());
  const auto cols = static_cast<int>(tile.layout.mode(1).size());
  const auto moved = [&](int row, int col) { return tile(row, col) - std::int64_t{row} * cols; };
  for (int period = 1;; ++period) {
    bool repeats = true;
    for (int row = 0; row + period < rows; ++row) {
      for (int col = 0; col < cols; ++col) {
        repeats = repeats && moved(row + period, col) == moved(row, col);
      }
    }
    if (repeats) return period;
  }
}

std::string chunk_picture(const SwizzledLayout& tile, int chunk) {
  const auto rows = static_cast<int>(tile.layout.mode(0).size());
  const auto cols = static_cast<int>(tile.layout.mode(1).size());
  std::string out;
  for (int row = 0; row < rows; ++row) {
    std::vector<int> places(static_cast<std::size_t>(cols / chunk));
    for (int col = 0; col < cols; col += chunk) {
      places[static_cast<std::size_t>((tile(row, col) - row * cols) / chunk)] = col / chunk;
    }
    out += fmt::format("row {}:  {}\n", row, fmt::join(places, " "));
  }
  return out;
}

const SwizzledLayout floats = composition(AnySwizzle{3, 2, 3}, row_major(8, 32));
const SwizzledLayout halves = composition(AnySwizzle{3, 3, 3}, row_major(8, 64));

int log2(int n) {
  return std::countr_zero(static_cast<unsigned>(n));
}
/// The usual design rule.
AnySwizzle rule(int element_bytes, int v, int row_length) {
  const int m = log2(v);
  return {log2(128 / element_bytes) - m, m, log2(row_length) - m};
}

TEST(SwizzleStudy, RowsOf16) {
  EXPECT_EQ(unchanged_rows(rows_of_16({4, 0, 4})), (std::vector<int>{0, 16}));
  EXPECT_EQ(unchanged_rows(rows_of_16({3, 0, 4})), (std::vector<int>{0, 8, 16, 24}));
  EXPECT_EQ(unchanged_rows(rows_of_16({3, 0, 3})), (std::vector<int>{}));
  EXPECT_EQ(unchanged_rows(rows_of_16({3, 0, 5})), (std::vector<int>{0, 1, 16, 17}));
  EXPECT_EQ(unchanged_rows(rows_of_16({4, 0, 5})), (std::vector<int>{0, 1}));
  for (const AnySwizzle& swizzle : studied) {
    EXPECT_EQ(period_in_rows(rows_of_16(swizzle)),
              std::min<std::int64_t>(swizzle.period_rows(16), 32));
  }
  // S = 3: the left half of a row is xor-ed with twice the row's number, the right half with one
  // more.
  const SwizzledLayout three = rows_of_16({3, 0, 3});
  for (int row = 0; row < 32; ++row) {
    for (int col = 0; col < 16; ++col) {
      EXPECT_EQ(three(row, col), row * 16 + (col ^ (row % 4 * 2 + col / 8)));
    }
  }
  EXPECT_EQ(column_wavefronts(rows_of_16({}), 4, 1, 1), 16);
  EXPECT_EQ(column_wavefronts(rows_of_16({4, 0, 4}), 4, 1, 1), 2);
  EXPECT_EQ(column_wavefronts(rows_of_16({3, 0, 3}), 4, 1, 1), 8);
  EXPECT_EQ(column_wavefronts(rows_of_16({4, 0, 5}), 4, 1, 1), 1);
}

TEST(SwizzleStudy, ACompositionInFrontKeepsThePlaces) {
  const SwizzledLayout tile = rows_of_16({4, 0, 4});
  const SwizzledLayout view = composition(tile, row_major(16, 32));
  for (int row = 0; row < 32; ++row) {
    for (int col = 0; col < 16; ++col) EXPECT_EQ(view(col, row), tile(row, col));
  }
}

TEST(SwizzleStudy, FloatsAndHalvesAreTheSamePattern) {
  EXPECT_EQ(chunk_picture(floats, 4), chunk_picture(halves, 8));
  for (const auto& [tile, bytes, v] : {std::tuple{floats, 4, 4}, std::tuple{halves, 2, 8}}) {
    EXPECT_EQ(column_wavefronts(tile, bytes, v, 1), 4);  // 16 bytes a lane: as few as can be
    EXPECT_EQ(column_wavefronts({{}, 0, tile.layout}, bytes, v, 1), 32);
  }
}

TEST(SwizzleStudy, WhereTheRuleFails) {
  // Rows shorter than 128 bytes: it asks for more bits than there is room for.
  const AnySwizzle short_rows = rule(4, 1, 16);
  EXPECT_EQ(short_rows, (AnySwizzle{5, 0, 4}));
  EXPECT_THROW(make_swizzle(short_rows.bits, short_rows.base, short_rows.shift), Error);
  // Rows longer than 128 bytes: it is right, and the swizzle of the square tile is not.
  EXPECT_EQ(rule(4, 1, 64), (AnySwizzle{5, 0, 6}));
  EXPECT_EQ(column_wavefronts(composition(AnySwizzle{5, 0, 6}, row_major(64, 64)), 4, 1, 1), 1);
  EXPECT_EQ(column_wavefronts(composition(AnySwizzle{5, 0, 5}, row_major(64, 64)), 4, 1, 1), 2);
  // V x V blocks: lanes are V rows apart.
  EXPECT_EQ(rule(4, 4, 32), (AnySwizzle{3, 2, 3}));
  EXPECT_EQ(column_wavefronts(composition(AnySwizzle{3, 2, 3}, row_major(32, 32)), 4, 4, 4), 16);
  EXPECT_EQ(column_wavefronts(composition(AnySwizzle{3, 2, 5}, row_major(32, 32)), 4, 4, 4), 4);
}

}  // namespace
}  // namespace cornerturn
