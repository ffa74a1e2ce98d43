#include "maps/swizzle.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "maps/composed.hpp"
#include "maps/tile_maps.hpp"

namespace cornerturn {
namespace {

std::vector<AnySwizzle> small_swizzles() {
  std::vector<AnySwizzle> all;
  for (int bits = 0; bits <= 4; ++bits) {
    for (int base = 0; base <= 3; ++base) {
      for (int shift = -5; shift <= 5; ++shift) {
        if (std::abs(shift) >= bits) all.push_back(make_swizzle(bits, base, shift));
      }
    }
  }
  return all;
}

TEST(Swizzle, IsItsOwnInverse) {
  for (const AnySwizzle& swizzle : small_swizzles()) {
    for (std::int64_t x = 0; x < 1 << 13; ++x) ASSERT_EQ(swizzle.inverse()(swizzle(x)), x);
  }
}

TEST(Swizzle, ThePeriodIsTheSmallest) {
  const auto repeats_after = [](const AnySwizzle& swizzle, std::int64_t period) {
    for (std::int64_t x = 0; x < 1 << 13; ++x) {
      if (swizzle(x + period) != swizzle(x) + period) return false;
    }
    return true;
  };
  for (const AnySwizzle& swizzle : small_swizzles()) {
    const std::int64_t period = swizzle.period();
    EXPECT_TRUE(repeats_after(swizzle, period));
    if (period > 1) {
      EXPECT_FALSE(repeats_after(swizzle, period / 2));
    }
  }
}

TEST(Swizzle, ThePeriodInRows) {
  EXPECT_EQ((Swizzle<4, 0, 4>::period_rows(16)), 16);
  EXPECT_EQ((Swizzle<3, 0, 3>::period_rows(16)), 4);
  EXPECT_EQ((Swizzle<3, 0, 5>::period_rows(16)), 16);
  EXPECT_EQ((Swizzle<3, 3, 3>::period_rows(64)), 8);
  EXPECT_EQ((Swizzle<3, 0, 3>::period_rows(48)), 4);  // 64 and 48 meet at 192
  EXPECT_EQ((Swizzle<0, 4, 3>::period_rows(7)), 1);
}

TEST(Swizzle, StaysBelowItsSpan) {
  for (const AnySwizzle& swizzle : small_swizzles()) {
    std::int64_t largest = 0;
    for (std::int64_t cosize = 1; cosize < 600; ++cosize) {
      largest = std::max(largest, swizzle(cosize - 1));
      EXPECT_LT(largest, swizzle.span(cosize));
    }
  }
}

TEST(Swizzle, TheTypeAndTheValueAgree) {
  constexpr Swizzle<3, 2, -4> swizzle;
  static_assert(swizzle(4) == (4 ^ 64));
  for (std::int64_t x = 0; x < 4096; ++x) EXPECT_EQ(swizzle(x), make_swizzle(3, 2, -4)(x));
}

TEST(Swizzle, RefusesWithTheReason) {
  const auto message = [](int b, int m, int s) -> std::string {
    try {
      make_swizzle(b, m, s);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(message(3, 0, 2),
            "Swizzle<3,0,2>: |S| = 2 is less than B = 3, so the bits that change and the bits they "
            "are xor-ed with would overlap");
  EXPECT_EQ(message(3, 0, -2).substr(0, 37), "Swizzle<3,0,-2>: |S| = 2 is less than");
  EXPECT_EQ(message(-1, 0, 2), "Swizzle<-1,0,2>: B is negative");
  EXPECT_EQ(message(1, -1, 2), "Swizzle<1,-1,2>: M is negative");
  EXPECT_EQ(message(3, 40, 30), "Swizzle<3,40,30>: B + M + |S| is more than 60 bits");
}

template <class Map>
void expect_one_place_each() {
  std::vector<bool> taken(static_cast<std::size_t>(Map::required_span_size()));
  for (int row = 0; row < Map::rows; ++row) {
    for (int column = 0; column < Map::columns; ++column) {
      const std::int64_t place = Map::at(row, column);
      ASSERT_GE(place, 0);
      ASSERT_LT(place, Map::required_span_size());
      EXPECT_FALSE(taken[static_cast<std::size_t>(place)]) << row << ", " << column;
      taken[static_cast<std::size_t>(place)] = true;
    }
  }
  if (Map::linear) {  // the claim that proofs by rank rest on
    for (int row = 0; row < Map::rows; ++row) {
      for (int column = 0; column < Map::columns; ++column) {
        EXPECT_EQ(Map::at(row, column), Map::at(row, 0) ^ Map::at(0, column) ^ Map::at(0, 0));
        EXPECT_EQ(Map::at(row ^ 1, column), Map::at(row, column) ^ Map::at(1, 0) ^ Map::at(0, 0));
      }
    }
  }
}

TEST(TileMaps, EveryElementHasAPlaceOfItsOwn) {
  expect_one_place_each<RowMajor<32, 32>>();
  expect_one_place_each<Padded<32, 32, 1>>();
  expect_one_place_each<Padded<32, 64, 4, 4>>();
  expect_one_place_each<Rotated<32, 32>>();
  expect_one_place_each<Rotated<16, 24, 5>>();
  expect_one_place_each<ChunkXor<32, 32, 1>>();
  expect_one_place_each<ChunkXor<64, 64, 4>>();
  expect_one_place_each<ChunkXor<20, 48, 4>>();
  expect_one_place_each<ChunkXor<128, 128, 16>>();
  expect_one_place_each<SwizzledRows<Swizzle<5, 0, 5>, 32, 32>>();
  expect_one_place_each<Swizzled<Swizzle<3, 2, -4>, row_major(20, 12)>>();
  expect_one_place_each<Swizzled<Swizzle<2, 1, 3>, column_major(24, 10)>>();
}

TEST(TileMaps, SwizzledIsTheSwizzledLayout) {
  constexpr Layout nested = make_layout({make_layout({make_leaf(4, 2), make_leaf(3, 64)}),
                                         make_layout({make_leaf(2, 1), make_leaf(8, 8)})});
  using Map = Swizzled<Swizzle<2, 1, 3>, nested>;
  const SwizzledLayout expected = composition(AnySwizzle{2, 1, 3}, nested);
  for (int row = 0; row < 12; ++row) {
    for (int column = 0; column < 16; ++column) {
      EXPECT_EQ(Map::at(row, column), expected(row, column));
    }
  }
  expect_one_place_each<Map>();
}

}  // namespace
}  // namespace cornerturn
