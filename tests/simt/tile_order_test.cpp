// The order in which blocks take tiles, and kernels that take them in bands.
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/skew.hpp"
#include "kernels/tile.hpp"
#include "plan/gpu/bind.hpp"
#include "plan/gpu/device_files.hpp"
#include "plan/gpu/skew.hpp"
#include "plan/gpu/tile.hpp"
#include "plan/planner.hpp"
#include "support.hpp"

namespace cornerturn::simt {
namespace {

using kernels::TileOrder;

void expect_order(std::uint32_t down, std::uint32_t across, std::uint32_t of_band) {
  constexpr std::uint32_t matrices = 2;
  const TileOrder order(down, of_band, matrices);
  const kernels::TileBands bands = order.bands(down, across);
  const FastDivide tiles(down * across);
  std::uint32_t number = 0;
  for (std::uint32_t matrix = 0; matrix < matrices; ++matrix) {
    for (std::uint32_t band = 0; band < down; band += of_band) {
      for (std::uint32_t column = 0; column < across; ++column) {
        for (std::uint32_t row = band; row < std::min(band + of_band, down); ++row) {
          const TileOrder::Place place = order.at(number++, tiles, bands);
          ASSERT_EQ(place.matrix, matrix) << number;
          ASSERT_EQ(place.across, column) << number;
          ASSERT_EQ(place.down, row) << number;
        }
      }
    }
  }
}

TEST(TileOrder, GoesThroughBandsColumnByColumn) {
  for (std::uint32_t down = 1; down <= 9; ++down) {
    for (std::uint32_t across = 1; across <= 4; ++across) {
      for (std::uint32_t of_band = 1; of_band <= down; ++of_band) {
        SCOPED_TRACE(testing::Message() << down << " x " << across << " in bands of " << of_band);
        expect_order(down, across, of_band);
      }
    }
  }
}

// A transposition of 2-byte elements.
Problem transposition(std::int64_t rows, std::int64_t cols) {
  Problem problem;
  problem.src_type = ElementType::bytes(2);
  problem.dst_type = problem.src_type;
  problem.modes = {{cols, 2, rows * 2}, {rows, cols * 2, 2}};
  return problem;
}

// Transposed by a kernel whose tiles come in two bands.
template <class Family>
void expect_transposed_in_bands(std::int64_t rows, std::int64_t cols) {
  const std::vector<std::uint16_t> src = numbered<std::uint16_t>(rows * cols);
  std::vector<std::uint16_t> dst(src.size(), poison<std::uint16_t>);
  const Problem problem = transposition(rows, cols);
  const Buffers buffers{dst.data(), src.data()};
  const plan::Plan plan = plan::make_plan(
      problem, plan::gpu::device_named("h200"),
      {1, std::string(Family::name), {true, alignment_of(src.data()), alignment_of(dst.data())}});
  Emulator emulator;
  emulator.input("src", src.data(), src.size() * 2);
  emulator.output("dst", dst.data(), dst.size() * 2);
  plan::gpu::for_each_launch<Family>(plan, buffers, [&](auto args, const Launch& launch) {
    const std::uint32_t down = args.matrix.order.column.divisor;
    const std::uint32_t across = args.tiles.divisor / down;
    ASSERT_GT(down, 2U);
    ASSERT_GT(across, 1U);
    args.matrix.order = TileOrder(down, down / 2 + 1, 1);  // the second band has fewer
    args.bands = args.matrix.order.bands(down, across);
    kernels::dispatch(args, [&]<class Kernel>() {
      emulator.launch("in bands", Mode::recording, launch,
                      [&](auto& ctx) { Kernel::run(ctx, args); });
    });
  });
  expect_clean(emulator);
  EXPECT_EQ(dst, transposed(src, rows, cols));
}

TEST(TileOrder, TilesInBands) {
  expect_transposed_in_bands<plan::gpu::tile::Family>(1152, 144);
}

TEST(TileOrder, SkewedTilesInBands) {
  expect_transposed_in_bands<plan::gpu::skew::Family>(1143, 133);
}

TEST(TileOrder, OnlyLongColumnsAreCutIntoBands) {
  using plan::gpu::TileCounts;
  const plan::gpu::TileSides sides{64, 128, 0};
  const Problem problem = transposition(4096, 4096);  // 32 KiB a tile, of both sides
  const auto of_band = [&](std::int64_t down, std::int64_t across) {
    return plan::gpu::tiles_of_band(TileCounts{down, across, down * across}, sides, problem);
  };
  EXPECT_EQ(of_band(512, 90), 512);
  EXPECT_EQ(of_band(513, 90), 171);  // three bands
  EXPECT_EQ(of_band(513, 1), 513);   // no neighbours
  EXPECT_EQ(of_band(1 << 20, 90), 256);
}

TEST(TileOrder, BlocksReadShortRowsWhole) {
  using plan::gpu::TileCounts;
  const plan::gpu::TileSides sides{64, 128, 0};  // columns of 256 bytes
  const Problem problem = transposition(4096, 4096);
  const auto of_band = [&](std::int64_t down, std::int64_t across) {
    return plan::gpu::tiles_of_band(TileCounts{down, across, down * across}, sides, problem);
  };
  EXPECT_EQ(of_band(512, 40), 512);
  EXPECT_EQ(of_band(1024, 40), 8);
  EXPECT_EQ(of_band(1024, 41), 256);
}

}  // namespace
}  // namespace cornerturn::simt
