// Explanations: against the hardware's table, against the proofs, and in their words.
#include "workshop/lab/explain.hpp"

#include <gtest/gtest.h>

#include <array>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>
#include <utility>

#include "access/patterns.hpp"
#include "cornerturn/error.hpp"
#include "maps/proofs.hpp"
#include "plan/gpu/device_files.hpp"
#include "workshop/analyse/notation.hpp"
#include "workshop/lab/rung_access.hpp"

namespace cornerturn::lab {
namespace {

Explanation explained(const char* layout, int bytes, const std::vector<std::string>& accesses,
                      const AccessDefaults& defaults = {}) {
  SwizzledLayout parsed = parse_swizzled_layout(layout);
  parsed.layout = tile_layout(parsed.layout);
  std::vector<Access> list;
  for (const std::string& text : accesses) {
    list.push_back(parse_access(text, tile_shape(parsed.layout, bytes), defaults));
  }
  return explain(parsed, bytes, list, plan::gpu::device_named("h200"));
}

std::string refusal(const char* layout, int bytes, const std::string& access) {
  try {
    explained(layout, bytes, {access});
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing refused";
}

// Bytes side by side, each lane at the address of the pattern.
std::string table_of(const WarpRequest& request) {
  std::string text = "table:";
  for (int lane = 0; lane < warp_lanes; ++lane) {
    if (lane > 0) text += ",";
    text += request.is_active(lane)
                ? std::to_string(request.address[static_cast<std::size_t>(lane)] /
                                 static_cast<std::uint64_t>(request.width))
                : "-";
  }
  return text;
}

TEST(Explain, TheVerdictIsTheHardwaresOnEveryPattern) {
  std::ifstream file(CORNERTURN_SOURCE_DIR "/bench/results/access/h200.json");
  const nlohmann::json table = nlohmann::json::parse(file);
  const std::vector<bench::Pattern> patterns = bench::access_patterns();
  int compared = 0;
  for (std::size_t i = 0; i < patterns.size(); ++i) {
    const bench::Pattern& pattern = patterns[i];
    const bool load = pattern.instruction == bench::Instruction::shared_load;
    if (!load && pattern.instruction != bench::Instruction::shared_store) continue;
    const int width = pattern.request.width;
    const Layout line = make_leaf(static_cast<std::int64_t>(bench::shared_span) / width, 1);
    const SwizzledLayout layout = {{}, 0, line};
    const Explanation e =
        explain(layout, width,
                {parse_access(table_of(pattern.request) + (load ? ":load" : ":store"),
                              tile_shape(line, width), {})},
                plan::gpu::device_named("h200"));
    const std::string counter = std::string("l1tex__data_pipe_lsu_wavefronts_mem_shared_op_") +
                                (load ? "ld" : "st") + ".sum";
    const nlohmann::json& row = table["patterns"][i];
    ASSERT_EQ(row["name"], pattern.name);
    const nlohmann::json& counters = table["counters"][row["instruction"].get<std::string>()];
    for (std::size_t c = 0; c < counters.size(); ++c) {
      if (counters[c] != counter) continue;
      EXPECT_EQ(e.accesses[0].wavefronts, row["counts"][c]) << pattern.name;
      ++compared;
    }
    int groups = 0;
    for (const LaneGroup& group : e.accesses[0].requests[0].groups) groups += group.wavefronts;
    EXPECT_EQ(std::max(groups, 1), e.accesses[0].wavefronts) << pattern.name;
    EXPECT_EQ(e.accesses[0].clean(), e.accesses[0].why.empty()) << pattern.name;
  }
  EXPECT_GT(compared, 300);
}

TEST(Explain, SixtyFourByFloatsBothWays) {
  const Explanation e = explained("(64,64):(64,1)", 4, {"rows:store:16", "blocks:load:16"});
  ASSERT_EQ(e.accesses.size(), 2U);
  EXPECT_TRUE(e.accesses[0].clean());
  EXPECT_EQ(e.accesses[0].op, SharedOp::store);
  EXPECT_EQ(e.accesses[1].worst_request().cost.wavefronts, 32);
  EXPECT_EQ(e.accesses[1].why,
            "lanes 0-7 of a 16-byte load, one group of them, want banks 0-3 with 8 different words "
            "each, because they are 4 rows apart, 1024 bytes, a multiple of 128");
  ASSERT_TRUE(e.remedy);
  EXPECT_EQ(e.remedy->text,
            "xor address bits 10-12 into bits 4-6 to part them: Swizzle<3,2,6> o (64,64):(64,1)");
  EXPECT_TRUE(
      explained("Swizzle<3,2,6> o (64,64):(64,1)", 4, {"rows:store:16", "blocks:load:16"}).clean());
}

TEST(Explain, TheRemedyPartsTheLanes) {
  for (const char* layout :
       {"(32,32):(32,1)", "(32,40):(40,1)", "(64,80):(80,1)", "Swizzle<5,0,5> o (64,64):(64,1)",
        "(32,32):(1,32)", "(128,64):(64,1)"}) {
    for (const char* access : {"columns", "rows"}) {
      const Explanation e = explained(layout, 4, {access});
      if (e.clean()) continue;
      ASSERT_TRUE(e.remedy) << layout;
      const Explanation after = explain(e.remedy->layout, 4, {parse_access(access, e.tile, {})},
                                        plan::gpu::device_named("h200"));
      EXPECT_TRUE(after.clean()) << layout << " " << access << ": " << e.remedy->text;
    }
  }
}

TEST(Explain, AgreesWithTheProofs) {
  using Map = SwizzledRows<Swizzle<3, 2, 6>, 64, 64>;
  const char* text = "Swizzle<3,2,6> o (64,64):(64,1)";
  EXPECT_EQ(explained(text, 4, {"blocks:16"}).clean(),
            (conflict_free<float, Map, cornerturn::Access::columns, 16>));
  EXPECT_EQ(explained(text, 4, {"columns"}).clean(),
            (conflict_free<float, Map, cornerturn::Access::columns, 4>));
  EXPECT_EQ(explained("(64,64):(64,1)", 4, {"diagonal:16"}).clean(),
            (conflict_free<float, RowMajor<64, 64>, cornerturn::Access::diagonal, 16>));
  EXPECT_TRUE(explained("(64,64):(64,1)", 4, {"diagonal:16"}).clean());
}

// Banks counted with nothing but sets: of eight lanes that take 16 bytes each.
int plain_count(const std::vector<std::int64_t>& addresses) {
  int wavefronts = 0;
  for (std::size_t first = 0; first < addresses.size(); first += 8) {
    std::array<std::set<std::int64_t>, 8> wanted;  // of banks, four at a time
    for (std::size_t i = first; i < first + 8; ++i) {
      const std::int64_t place = addresses[i] / 16;
      wanted[static_cast<std::size_t>(place % 8)].insert(place);
    }
    std::size_t most = 0;
    for (const std::set<std::int64_t>& places : wanted) most = std::max(most, places.size());
    wavefronts += static_cast<int>(most);
  }
  return wavefronts;
}

TEST(Explain, WhereColumnsLieTogetherLanesTakeThem) {
  for (const auto& [layout, swizzled] :
       {std::pair{"(64,48):(1,64)", false}, std::pair{"Swizzle<3,3,3> o (64,48):(1,64)", true}}) {
    const auto address = [swizzled = swizzled](int row, int column) {
      const int offset = row + 64 * column;
      return std::int64_t{2} * (swizzled ? offset ^ ((offset / 64 % 8) * 8) : offset);
    };
    std::vector<std::int64_t> rows;  // lane i takes column i
    for (int i = 0; i < 48 * 8; ++i) rows.push_back(address(i / 48 * 8, i % 48));
    std::vector<std::int64_t> columns;
    for (int i = 0; i < 48 * 8; ++i) columns.push_back(address(i % 8 * 8, i / 8));
    std::vector<std::int64_t> matrices;
    for (int row = 0; row < 64; row += 16) {
      for (int column = 0; column < 48; column += 16) {
        for (int lane = 0; lane < 32; ++lane) {
          matrices.push_back(address(row + lane / 16 * 8, column + lane % 16));
        }
      }
    }
    const Explanation e =
        explained(layout, 2, {"rows:load:16", "columns:store:16", "ldmatrix", "stmatrix.x4.trans"});
    EXPECT_EQ(e.accesses[0].wavefronts, plain_count(rows)) << layout;
    EXPECT_EQ(e.accesses[1].wavefronts, plain_count(columns)) << layout;
    EXPECT_EQ(e.accesses[2].wavefronts, plain_count(matrices)) << layout;
    EXPECT_EQ(e.accesses[3].wavefronts, plain_count(matrices)) << layout;
    EXPECT_EQ(e.accesses[2].clean(), swizzled);
    EXPECT_EQ(e.accesses[2].floor, 48 * 64 / 64);
  }
  EXPECT_EQ(refusal("(64,40):(1,64)", 2, "ldmatrix"),
            "access 'ldmatrix': 64 x 40 elements are no whole number of 16 x 16, what 4 matrices "
            "take");
  EXPECT_EQ(refusal("(64,8):(1,60)", 2, "rows:16"),
            "access 'rows:16': lane 1 takes 16 B at byte 120, element (0,1): the address is no "
            "multiple of 16");
  EXPECT_EQ(refusal("((4,2),8):((1,64),8)", 2, "rows:16"),
            "access 'rows:16': lane 0 takes 16 B from (0,0) on, but (0,0) lies at byte 0 and (4,0) "
            "at byte 128: they are no neighbours");
}

// What a tile and its transpose cost for the same lanes.
TEST(Explain, ATransposedTileCostsTheSame) {
  for (const auto& [access, other] :
       {std::pair{"rows:16", "columns:16"}, std::pair{"columns:8", "rows:8"},
        std::pair{"blocks:16", "blocks:16"}, std::pair{"diagonal:store:16", "diagonal:store:16"},
        std::pair{"ldmatrix.x2", "ldmatrix.x2"}, std::pair{"rows", "rows"}}) {
    const bool one = std::string_view(access) == "rows";  // of one element along the rows of either
    const Explanation down = explained("Swizzle<2,2,5> o (64,32):(1,64)", 4, {access});
    const Explanation across =
        explained("Swizzle<2,2,5> o (32,64):(64,1)", 4, {one ? "columns" : other});
    EXPECT_EQ(down.accesses[0].wavefronts, across.accesses[0].wavefronts) << access;
    EXPECT_EQ(down.accesses[0].floor, across.accesses[0].floor) << access;
  }
  const Explanation padded = explained("(24,32):(1,24)", 4, {"rows"});
  ASSERT_TRUE(padded.remedy);
  EXPECT_TRUE(explain(padded.remedy->layout, 4, {parse_access("rows", padded.tile, {})},
                      plan::gpu::device_named("h200"))
                  .clean());
}

TEST(Explain, ThreeModesAreRowsAndColumns) {
  for (const auto& [given, read] :
       {std::pair{"(64,32,3):(32,1,2048)", "(64,(32,3)):(32,(1,2048))"},
        std::pair{"(3,64,32):(2048,32,1)", "((64,3),32):((32,2048),1)"},
        std::pair{"(64,32,3):(1,64,2048)", "(64,(32,3)):(1,(64,2048))"},
        std::pair{"((8,2),1,(4,2),2):((8,256),0,(64,512),1)",
                  "((1,(8,2),(4,2)),2):((0,(8,256),(64,512)),1)"},
        std::pair{"(4,4,4):(64,16,4)", "(4,(4,4)):(64,(16,4))"},
        std::pair{"(4,8):(8,1)", "(4,8):(8,1)"}, std::pair{"32:1", "32:1"}}) {
    EXPECT_EQ(to_string(tile_layout(parse_layout(given))), read);
  }
  // Two stages of a tile cost twice as much as one.
  const Explanation one = explained("Swizzle<3,3,3> o (64,64):(64,1)", 2, {"ldmatrix", "rows:16"});
  const Explanation two =
      explained("Swizzle<3,3,3> o (64,64,2):(64,1,4096)", 2, {"ldmatrix", "rows:16"});
  EXPECT_EQ(two.tile.columns, 128);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(two.accesses[i].wavefronts, 2 * one.accesses[i].wavefronts);
  }
  EXPECT_TRUE(two.clean());
}

TEST(Explain, BitsPeriodAndNumbers) {
  const Explanation e = explained("Swizzle<4,0,4> o (32,16):(16,1)", 4, {});
  EXPECT_EQ(e.period.unchanged, (std::vector<std::int64_t>{0}));
  EXPECT_EQ(e.period.rows, 16);
  ASSERT_EQ(e.bits.size(), 11U);
  EXPECT_EQ(e.bits[0].from, "b0");
  EXPECT_EQ(e.bits[2].from, "c0");
  EXPECT_EQ(e.bits[2].bank_bit, 0);
  EXPECT_TRUE(e.bits[2].is_z);
  EXPECT_EQ(e.bits[2].xored_with, 6);
  EXPECT_TRUE(e.bits[6].is_y);
  EXPECT_EQ(e.bits[6].from, "r0");
  EXPECT_EQ(e.bits[6].bank_bit, 4);
  EXPECT_EQ(e.period.m, "M = 0: every element moves on its own, 4 B");
  EXPECT_EQ(
      e.period.s,
      "S = 4: each is xor-ed with the one 4 places higher, bits 4-7 of the offset, bits 6-9 of "
      "the byte address, here r0, r1, r2, r3");
  EXPECT_EQ(explained("Swizzle<3,0,4> o (32,16):(16,1)", 4, {}).period.rows, 8);
  EXPECT_EQ(explained("Swizzle<3,0,3> o (32,16):(16,1)", 4, {}).period.rows, 4);
  EXPECT_TRUE(explained("Swizzle<3,0,3> o (32,16):(16,1)", 4, {}).period.unchanged.empty());
  EXPECT_FALSE(explained("(32,16):(17,1)", 4, {}).linear);
}

TEST(Explain, WhatConflictsCostInTime) {
  const Explanation clean = explained("(64,64):(65,1)", 4, {"rows:store", "columns:load"});
  EXPECT_EQ(clean.time->wavefronts, 2);  // one for each of these
  EXPECT_GT(clean.time->memory_clocks(), clean.time->shared_clocks());
  EXPECT_GE(clean.time->slowdown(), 1);
  EXPECT_LT(clean.time->slowdown(), 1.1);
  const Explanation worst = explained("(64,64):(64,1)", 4, {"rows:store", "columns:load"});
  EXPECT_EQ(worst.time->wavefronts, 1 + 32);
  EXPECT_GT(worst.time->slowdown(), 2);
  EXPECT_LT(worst.time->slowdown(), 3);
  const Explanation one = explained("(64,64):(64,1)", 4, {"columns:load"});
  EXPECT_EQ(one.time->wavefronts, worst.time->wavefronts);
  EXPECT_EQ(one.time->assumed_legs, 1);
}

TEST(Explain, TwoElementsAtOnePlace) {
  const Explanation e = explained("(4,8):(4,1)", 4, {"rows"});
  ASSERT_TRUE(e.same_place);
  EXPECT_EQ(e.same_place->a.row, 0);
  EXPECT_EQ(e.same_place->a.column, 4);
  EXPECT_EQ(e.same_place->b.row, 1);
  EXPECT_EQ(e.same_place->b.column, 0);
  EXPECT_FALSE(e.clean());
  EXPECT_FALSE(explained("(4,4):(4,1)", 4, {"rows"}).same_place);
}

TEST(Explain, AccessesInTheirNotations) {
  const Explanation by_hand = explained("(32,32):(32,1)", 4, {"tv:32:1", "columns:4"});
  EXPECT_EQ(by_hand.accesses[0].wavefronts, 32);  // indices run along the first mode
  EXPECT_EQ(by_hand.accesses[1].wavefronts, 32 * 32);
  const Explanation table = explained("(32,32):(32,1)", 4, {"table:(0,0),(1,0),-,2:store"});
  EXPECT_EQ(table.accesses[0].op, SharedOp::store);
  EXPECT_EQ(table.accesses[0].requests[0].lanes.active, 0xbU);
  EXPECT_EQ(table.accesses[0].wavefronts, 3);
  const Explanation matrices =
      explained("Swizzle<3,3,3> o (64,64):(64,1)", 2, {"ldmatrix", "ldmatrix.x2", "stmatrix.x1"});
  EXPECT_TRUE(matrices.clean());
  EXPECT_EQ(matrices.accesses[0].worst_request().groups.size(), 4U);
  EXPECT_EQ(matrices.accesses[1].worst_request().groups.size(), 2U);
  EXPECT_EQ(
      explained("(64,64):(64,1)", 2, {"ldmatrix"}).accesses[0].worst_request().cost.wavefronts, 32);
}

TEST(Explain, RefusesWhatCannotBe) {
  EXPECT_EQ(refusal("(64,64):(65,1)", 4, "columns:16"),
            "access 'columns:16': lane 1 takes 16 B at byte 260, element (1,0): the address is no "
            "multiple of 16");
  EXPECT_EQ(refusal("(4,4):(2,8)", 4, "rows:16"),
            "access 'rows:16': lane 0 takes 16 B from (0,0) on, but (0,0) lies at byte 0 and (0,1) "
            "at byte 32: they are no neighbours");
  EXPECT_EQ(
      refusal("(256,256):(256,1)", 4, "rows"),
      "(256,256):(256,1) takes 262144 B: more than the 232448 B of shared memory that a block "
      "of NVIDIA H200 can have");
  EXPECT_EQ(refusal("(4,4):(4,-1)", 4, "rows"),
            "(4,4):(4,-1) reaches offset -3: offsets in shared memory begin at 0");
  EXPECT_NE(refusal("(4,4):(4,1)", 4, "sideways").find("none of rows, columns"), std::string::npos);
  EXPECT_NE(refusal("(4,4):(4,1)", 4, "rows:3").find("'3' is none of"), std::string::npos);
  EXPECT_NE(refusal("(4,4):(4,1)", 8, "rows:4").find("no whole number"), std::string::npos);
  EXPECT_NE(refusal("(4,4):(4,1)", 4, "table:0,1,99").find("character 5"), std::string::npos);
  EXPECT_NE(refusal("(4,4):(4,1)", 4, "tv:32:1").find("thread 16, step 0 takes element 16"),
            std::string::npos);
  EXPECT_THROW(tile_shape(parse_layout("(2,2,2)"), 4), Error);
}

TEST(Explain, ARungsOwnAccesses) {
  const TileShape tile{32, 32, 4};
  const auto cost = [&](const char* rung, const char* layout) {
    std::int64_t conflicts = 0;
    const Explanation e = explain(parse_swizzled_layout(layout), 4, rung_accesses(rung, tile),
                                  plan::gpu::device_named("h200"));
    EXPECT_EQ(e.accesses.size(), 2U) << rung;
    for (const AccessExplanation& a : e.accesses) conflicts += a.wavefronts - a.floor;
    return conflicts;
  };
  EXPECT_EQ(cost("smem", "(32,32):(32,1)"), 32 * 31);
  EXPECT_EQ(cost("smem", "(32,32):(33,1)"), 0);
  EXPECT_EQ(cost("cute_smem", "(32,32):(32,1)"), 32 * 31);
  EXPECT_EQ(cost("cute_smem", "Swizzle<5,0,5> o (32,32):(32,1)"), 0);
  EXPECT_THROW(rung_accesses("smem", {64, 64, 4}), Error);
  EXPECT_THROW(rung_accesses("copy", tile), Error);
  EXPECT_THROW(rung_accesses("no_such_rung", tile), Error);
}

TEST(Explain, JsonAndTextSayTheSame) {
  const Explanation e = explained("(64,64):(64,1)", 4, {"columns"});
  const nlohmann::json json = nlohmann::json::parse(e.to_json());
  EXPECT_EQ(json["accesses"][0]["wavefronts"], e.accesses[0].wavefronts);
  EXPECT_EQ(json["accesses"][0]["worst_request"]["lanes"].size(), 32U);
  EXPECT_EQ(json["shared_bytes"], 16384);
  EXPECT_EQ(json["remedy"]["layout"], to_string(e.remedy->layout));
  const std::string text = e.to_text();
  for (const std::string& part : {e.accesses[0].why, e.accesses[0].verdict, e.remedy->text}) {
    EXPECT_NE(text.find(part), std::string::npos);
  }
}

}  // namespace
}  // namespace cornerturn::lab
