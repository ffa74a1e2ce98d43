// What the analyser says of the rungs in CuTe's words: each leg as it was worked out by hand.
#include "workshop/analyse/cute_legs.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "workshop/simt/warp_log.hpp"

namespace cornerturn {
namespace {

using simt::Op;

struct Cost {
  double sectors = 0;     ///< a request; 0 for shared legs
  double wavefronts = 0;  ///< a request; 0 for global legs
};

Cost cost(const std::string& rung, Op op, std::int64_t rows = 256, std::int64_t cols = 2048) {
  const KernelReport report = cute_report(rung, rows, cols);
  const Leg leg = report.total(op);
  EXPECT_GT(leg.requests, 0U) << rung;
  const auto requests = static_cast<double>(leg.requests);
  return {static_cast<double>(leg.sectors) / requests,
          static_cast<double>(leg.wavefronts) / requests};
}

TEST(CuteLegs, TheColumnReadIsWhatTheTilesDifferIn) {
  EXPECT_EQ(cost("cute_smem", Op::shared_load).wavefronts, 32);
  EXPECT_EQ(cost("cute_smem_pad", Op::shared_load).wavefronts, 1);
  EXPECT_EQ(cost("cute_smem_swizzle", Op::shared_load).wavefronts, 1);
  EXPECT_EQ(cost("cute_smem_swizzle_2way", Op::shared_load).wavefronts, 2);
  EXPECT_EQ(cost("cute_smem_swizzle_64", Op::shared_load).wavefronts, 1);
}

// The destination's view: (col, row), by a composition in front of the swizzled tile.
constexpr bool view_is_the_tile(const SwizzledLayout& tile, std::int64_t side) {
  const SwizzledLayout view = composition(tile, row_major(side, side));
  if (!(view.swizzle == tile.swizzle) || !(view.layout == column_major(side, side))) return false;
  for (std::int64_t row = 0; row < side; ++row) {
    for (std::int64_t col = 0; col < side; ++col) {
      if (view(col, row) != tile(row, col)) return false;
    }
  }
  return true;
}
static_assert(view_is_the_tile(cute_tiles::swizzled, 32));
static_assert(view_is_the_tile(cute_tiles::swizzled_two_way, 64));
static_assert(view_is_the_tile(cute_tiles::swizzled_64, 64));

// To swizzle the transposed layout instead is another buffer.
TEST(CuteLegs, OnlyTheDiagonalOfTheSwizzledTransposeIsTheTiles) {
  const SwizzledLayout other = composition(AnySwizzle{5, 0, 5}, row_major(32, 32));
  for (int row = 0; row < 32; ++row) {
    for (int col = 0; col < 32; ++col) {
      EXPECT_EQ(other(col, row) == cute_tiles::swizzled(row, col), row == col);
    }
  }
}

TEST(CuteLegs, StagedTilesAreFilledInOneWavefrontAndMoveWholeSectors) {
  for (const char* rung : {"cute_smem", "cute_smem_pad", "cute_smem_swizzle",
                           "cute_smem_swizzle_2way", "cute_smem_swizzle_64"}) {
    SCOPED_TRACE(rung);
    EXPECT_EQ(cost(rung, Op::async_copy).wavefronts, 1);
    EXPECT_EQ(cost(rung, Op::async_copy).sectors, 4);
    EXPECT_EQ(cost(rung, Op::global_store).sectors, 4);
  }
}

TEST(CuteLegs, WithoutATileTheStoresAreScattered) {
  for (const char* rung : {"cute_naive", "cute_naive_wide"}) {
    EXPECT_EQ(cost(rung, Op::global_load).sectors, 4);
    EXPECT_EQ(cost(rung, Op::global_store).sectors, 32);
  }
  EXPECT_EQ(cost("cute_copy", Op::global_load).sectors, 16);
  EXPECT_EQ(cost("cute_tma_copy", Op::global_store).sectors, 16);
}

TEST(CuteLegs, ScalarTurnsOfTmaTilesCostFourWavefrontsDiagonalOnesNone) {
  EXPECT_EQ(cost("cute_tma", Op::shared_load).wavefronts, 4);
  EXPECT_EQ(cost("cute_tma", Op::shared_store).wavefronts, 1);
  EXPECT_EQ(cost("cute_tma_diagonal", Op::shared_load).wavefronts, 4);  // 16 bytes a lane
  EXPECT_EQ(cost("cute_tma_diagonal", Op::shared_store).wavefronts, 4);
  for (const Leg& leg : cute_report("cute_tma_diagonal", 256, 2048).legs) {
    EXPECT_TRUE(leg.conflict_free());
  }
  EXPECT_EQ(cost("cute_tma_store", Op::global_load).sectors, 16);
  EXPECT_EQ(cost("cute_tma_store", Op::shared_store).wavefronts, 1);
}

// Without the diagonal, 16-byte chunks of a column of blocks meet in two places of eight.
TEST(CuteLegs, TheStraightLaneMapConflicts) {
  const SwizzledLayout& tile = cute_tiles::tma_source;
  WarpRequest warp;
  warp.width = 16;
  for (int lane = 0; lane < warp_lanes; ++lane) {
    const int k = lane % 8;
    const int c = lane / 8;
    warp.address[static_cast<std::size_t>(lane)] =
        static_cast<std::uint64_t>(tile(4 * k, 4 * c)) * 4;
  }
  EXPECT_EQ(shared_cost(warp, SharedOp::load).wavefronts, 16);
}

// Each leg takes every element once, and no two elements share a place in the tile.
TEST(CuteLegs, EveryLegCoversTheTile) {
  for (const ladder::CuteInfo& info : ladder::cute_infos) {
    const std::int64_t elements = std::int64_t{info.tile_rows} * info.tile_cols;
    for (const CuteLeg& leg : cute_legs(info.name)) {
      SCOPED_TRACE(std::string(info.name) + ", " + name(leg.op));
      const bool down = leg.op == Op::global_store || leg.op == Op::shared_store;  // runs of rows
      const std::int64_t next = down && info.transposes ? 1 : info.tile_rows;
      std::set<std::int64_t> taken;
      for (std::int64_t i = 0; i < leg.takes.size(); ++i) {
        for (int v = 0; v < leg.width / 4; ++v) taken.insert(leg.takes(i) + v * next);
      }
      EXPECT_EQ(static_cast<std::int64_t>(taken.size()), elements);
      EXPECT_EQ(*taken.rbegin(), elements - 1);
      if (leg.tile.size() == 1) continue;
      std::set<std::int64_t> places;
      for (std::int64_t i = 0; i < elements; ++i) places.insert(leg.tile(i));
      EXPECT_EQ(static_cast<std::int64_t>(places.size()), elements);
      EXPECT_LE(*places.rbegin() * 4 + 4, info.shared_bytes);
    }
  }
}

TEST(CuteLegs, EdgesAndWhatDoesNotApply) {
  for (const ladder::CuteInfo& info : ladder::cute_infos) {
    EXPECT_TRUE(cute_report(info.name, 0, 0).legs.empty());
    for (const auto& [rows, cols] : {std::pair{1, 1}, {5, 7}, {33, 65}, {8, 100}, {100, 36}}) {
      if (ladder::cute_why_not(info, rows, cols, 4) != nullptr) {
        EXPECT_THROW(cute_report(info.name, rows, cols), Error);
        continue;
      }
      for (const Leg& leg : cute_report(info.name, rows, cols).legs) {
        if (leg.is_global()) {
          EXPECT_EQ(leg.bytes_used, static_cast<std::uint64_t>(rows * cols) * 4) << info.name;
        }
      }
    }
  }
  EXPECT_THROW(cute_report("cute_smem", 8, 8, 2), Error);
  EXPECT_THROW(cute_report("smem", 8, 8), Error);
}

}  // namespace
}  // namespace cornerturn
