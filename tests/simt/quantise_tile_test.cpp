// The kernel that quantises matrices in tiles of 128 x 128, in the emulator: every format, layout
// and direction, with bytes around the results that have to stay.
#include <algorithm>
#include <memory>
#include <string>

#include "cornerturn/error.hpp"
#include "run_blocks.hpp"
#include "support/tiles_of_blocks.hpp"

namespace cornerturn::simt {
namespace {

void check_tiles(const test::TileCase& c) {
  SCOPED_TRACE(c.text());
  const test::QuantisedTiles tiles(c);
  const Memory src(tiles.plain);
  std::vector<Memory> results;
  for (const auto& bytes : tiles.before()) results.emplace_back(bytes);
  Buffers buffers =
      tiles.buffers(src.at, [&](int i) { return results[static_cast<std::size_t>(i)].at; });
  const plan::Plan plan = plan_for(tiles.problem, buffers, "quantise");
  const auto* const table = static_cast<const std::byte*>(tiles.table());
  const Memory entries({table, table + tiles.table_bytes()});
  if (c.listed < 2) buffers.lists.src = entries.at;
  run(plan, buffers, {&src, &entries}, {&results[0], &results[1], &results[2], &results[3]});
  const auto after = tiles.after();
  constexpr const char* names[] = {"row values", "row scales", "column values", "column scales"};
  for (std::size_t i = 0; i < 4; ++i) {
    const std::vector<std::byte> got = results[i].bytes();
    const auto wrong = std::mismatch(after[i].begin(), after[i].end(), got.begin()).first;
    EXPECT_TRUE(wrong == after[i].end())
        << names[i] << " differ first at " << wrong - after[i].begin();
  }
}

TEST(QuantiseTiles, AnyLayout) {
  std::mt19937 random(3);
  for (int i = 0; i < 90 && !HasFailure(); ++i) {
    check_tiles(test::random_tile_case(random, 300));
  }
}

// Whole tiles and parts of them, for each kernel that is compiled.
TEST(QuantiseTiles, EveryKernel) {
  for (const Kind kind : {Kind::f32, Kind::f16, Kind::bf16}) {
    for (const BlockFormat format :
         {BlockFormat::fp8_1x128, BlockFormat::fp8_e5m2_1x128, BlockFormat::mxfp8_e4m3,
          BlockFormat::mxfp8_e5m2, BlockFormat::nvfp4, BlockFormat::mxfp4}) {
      for (const auto& [rows, cols] : {std::pair{256, 128}, {8, 8}, {136, 392}}) {
        for (const auto& [along_rows, along_cols] :
             {std::pair{true, false}, {false, true}, {true, true}}) {
          test::TileCase c{.kind = kind, .format = format, .rows = rows, .cols = cols};
          c.rule = c.row().standard_rule();
          c.along_rows = along_rows;
          c.along_cols = along_cols;
          check_tiles(c);
          if (HasFailure()) return;
        }
      }
    }
  }
}

std::string refused(const Problem& problem) {
  try {
    plan::make_plan(problem, plan::gpu::device_named("h200"), {1, "", {true}});
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), Status::unsupported);
    return error.what();
  }
  return "nothing";
}

TEST(QuantiseTiles, RefusedByAList) {
  const auto says = [](const Problem& problem, const std::string& part) {
    const std::string found = refused(problem);
    EXPECT_NE(found.find(part), std::string::npos) << found;
  };
  test::TileCase c{.kind = Kind::f32, .along_cols = true, .listed = 1};
  says(test::QuantisedTiles(c).problem,
       "quantise: f32 along rows and columns at once, by a list; blocks: a mode's places come "
       "from a table");
  c = {.kind = Kind::bf16, .format = BlockFormat::nvfp4, .listed = 1};
  says(test::QuantisedTiles(c).problem, "quantise: 4-bit floats by a list");
  c = {.kind = Kind::bf16, .listed = 1};
  Problem problem = test::QuantisedTiles(c).problem;
  Blocks blocks = *problem.blocks;
  blocks.rule.rounding = Rounding::stochastic;
  problem.blocks = std::make_shared<const Blocks>(blocks);
  says(problem, "quantise: values are rounded stochastically");
  blocks = *problem.blocks;
  blocks.rule = {};
  problem.blocks = std::make_shared<const Blocks>(blocks);
  says(problem, "quantise: blocks of q8_0 by a list");
}

}  // namespace
}  // namespace cornerturn::simt
