// Accesses as text: what access_text() writes, parse_access() reads as the same access.
#include <gtest/gtest.h>

#include "cornerturn/error.hpp"
#include "plan/gpu/device_files.hpp"
#include "workshop/analyse/notation.hpp"
#include "workshop/lab/access.hpp"
#include "workshop/lab/explain.hpp"
#include "workshop/lab/rung_access.hpp"

namespace cornerturn::lab {
namespace {

void expect_same(const Access& a, const Access& b) {
  EXPECT_EQ(a.op, b.op);
  EXPECT_EQ(a.vector, b.vector);
  ASSERT_EQ(a.requests.size(), b.requests.size());
  for (std::size_t i = 0; i < a.requests.size(); ++i) {
    for (std::size_t lane = 0; lane < warp_lanes; ++lane) {
      const TilePoint& x = a.requests[i][lane];
      const TilePoint& y = b.requests[i][lane];
      ASSERT_EQ(x.inside, y.inside) << i << ", lane " << lane;
      if (!x.inside) continue;
      ASSERT_EQ(x.row, y.row) << i << ", lane " << lane;
      ASSERT_EQ(x.column, y.column) << i << ", lane " << lane;
    }
  }
}

TEST(AccessText, IsReadAsTheSameAccess) {
  const TileShape tile = {64, 64, 4};
  for (const char* text :
       {"rows", "rows:store:16", "columns:load:8", "blocks:16", "diagonal:store:16", "ldmatrix",
        "stmatrix.x2", "table:0,(1,0),-,5:store", "table:0,64:16", "tv:((8,4),2):((1,16),8)"}) {
    const Access access = parse_access(text, tile, {});
    SCOPED_TRACE(text);
    expect_same(access, parse_access(access_text(access, tile), tile, {}));
  }
  // The last request is not full.
  const TileShape odd = {3, 13, 2};
  const Access rows = parse_access("rows", odd, {});
  expect_same(rows, parse_access(access_text(rows, odd), odd, {}));
}

TEST(AccessText, IsALayoutWhereOneSaysIt) {
  const TileShape tile = {64, 64, 4};
  const auto text = [&](const char* access) {
    return access_text(parse_access(access, tile, {}), tile);
  };
  EXPECT_EQ(text("rows:store:16"), "tv:((16,2),32):((256,1),2):store:16");
  EXPECT_EQ(text("columns"), "tv:(32,128):(1,32):load:4");
  EXPECT_EQ(text("stmatrix"), "tv:((16,2),(4,8)):((1,256),(16,512)):stmatrix:16");
  EXPECT_EQ(text("diagonal:16").substr(0, 8), "table:0,");
}

TEST(AccessText, BytesBehindALayoutNeedItsStrides) {
  const TileShape tile = {64, 64, 4};
  EXPECT_EQ(parse_access("tv:32:16", tile, {}).vector, 1);
  EXPECT_EQ(parse_access("tv:32:16:8", tile, {}).vector, 2);
  EXPECT_EQ(parse_access("table:5", tile, {}).requests[0][0].row, 5);
  EXPECT_EQ(parse_access("table:5:16", tile, {}).vector, 4);
  EXPECT_THROW(parse_access("table:5:3", tile, {}), Error);
  EXPECT_THROW(parse_access("tv:32:1:ldmatrix:8", tile, {}), Error);
  EXPECT_THROW(parse_access("rows:ldmatrix", tile, {}), Error);
}

TEST(AccessText, MatricesByTheirNamesInPtxAndCute) {
  const TileShape tile = {64, 64, 2};
  for (const auto& [name, same] :
       {std::pair{"ldmatrix.trans", "ldmatrix"}, std::pair{"ldmatrix.x2.trans", "ldmatrix.x2"},
        std::pair{"ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16", "ldmatrix.x4"},
        std::pair{"stmatrix.sync.aligned.m8n8.x1.shared.b16", "stmatrix.x1"},
        std::pair{"SM75_U32x4_LDSM_N", "ldmatrix"}, std::pair{"SM75_U16x2_LDSM_T", "ldmatrix.x1"},
        std::pair{"SM90_U16x8_STSM_T", "stmatrix"},
        std::pair{"SM90_U32x2_STSM_N", "stmatrix.x2"}}) {
    SCOPED_TRACE(name);
    expect_same(parse_access(name, tile, {}), parse_access(same, tile, {}));
  }
  for (const char* name : {"ldmatrix.x3", "ldmatrix.", "ldmatrix.trans.", "ldmatrixtrans",
                           "SM75_U32x8_LDSM_N", "SM75_U16x1_LDSM_T", "SM90_U32x4_LDSM_N"}) {
    EXPECT_THROW(parse_access(name, tile, {}), Error) << name;
  }
}

// What the page gets of a rung costs what the rung's accesses do.
TEST(AccessText, OfRungsCostsTheSame) {
  for (const auto& [rung, layout] :
       {std::pair{"smem", "(32,32):(32,1)"}, std::pair{"smem_chunk_xor", "(64,64):(64,1)"},
        std::pair{"cute_smem_swizzle_64", "Swizzle<5,0,6> o (64,64):(64,1)"}}) {
    const SwizzledLayout parsed = parse_swizzled_layout(layout);
    const TileShape tile = tile_shape(parsed.layout, 4);
    for (const Access& access : rung_accesses(rung, tile)) {
      const Access read = parse_access(access_text(access, tile), tile, {});
      expect_same(access, read);
      const Explanation e =
          explain(parsed, 4, {access, read}, plan::gpu::device_named("h200"), false);
      EXPECT_EQ(e.accesses[0].wavefronts, e.accesses[1].wavefronts) << rung;
    }
  }
}

}  // namespace
}  // namespace cornerturn::lab
