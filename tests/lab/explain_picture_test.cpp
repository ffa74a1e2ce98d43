#include "workshop/lab/explain_picture.hpp"

#include <gtest/gtest.h>

#include "cornerturn/error.hpp"
#include "plan/gpu/device_files.hpp"
#include "workshop/analyse/notation.hpp"

namespace cornerturn::lab {
namespace {

Explanation drawn(const char* layout_text, int bytes, std::vector<const char*> texts) {
  const SwizzledLayout layout = parse_swizzled_layout(layout_text);
  const TileShape tile = tile_shape(layout.layout, bytes);
  std::vector<Access> accesses;
  for (const char* text : texts) accesses.push_back(parse_access(text, tile, {}));
  return explain(layout, bytes, accesses, plan::gpu::device_named("h200"));
}

int marked(const Panel& panel, Mark mark) {
  int count = 0;
  for (const Cell& cell : panel.cells) count += cell.mark == mark ? 1 : 0;
  return count;
}

// A row for each wavefront, and in the rows each word that a bank serves once.
TEST(Phases, DrawAsManyRowsAsTheModelCounts) {
  for (const char* layout :
       {"(64,64):(64,1)", "(32,32):(33,1)", "Swizzle<5,0,5> o (64,64):(64,1)",
        "Swizzle<2,2,6> o (64,64):(64,1)", "Swizzle<3,2,6> o (64,64):(64,1)"}) {
    for (const char* text :
         {"rows", "columns", "rows:store", "columns:8", "blocks:16", "rows:16"}) {
      Explanation e;
      try {
        e = drawn(layout, 4, {text});
      } catch (const Error&) {
        continue;  // elements that do not lie together have no such access
      }
      for (const Request& request : e.accesses[0].requests) {
        const Panel panel = groups_panel(request);
        EXPECT_EQ(panel.rows(), std::min(request.cost.wavefronts, 64)) << layout << " " << text;
        int conflicts = 0;
        for (int row = 0; row < panel.rows(); ++row) {
          bool any = false;
          for (int bank = 0; bank < 32; ++bank) any |= panel.at(row, bank).mark == Mark::conflict;
          conflicts += any ? 1 : 0;
        }
        EXPECT_EQ(conflicts, request.cost.conflicts) << layout << " " << text;
      }
    }
  }
}

TEST(Phases, SayWhoMeets) {
  const Explanation e = drawn("(32,32):(32,1)", 4, {"columns"});
  const Panel panel = groups_panel(e.accesses[0].requests[0]);
  ASSERT_EQ(panel.rows(), 32);
  EXPECT_EQ(panel.at(0, 0).label, "0");
  EXPECT_EQ(panel.at(0, 0).mark, Mark::none);
  EXPECT_EQ(panel.at(31, 0).mark, Mark::conflict);
  EXPECT_EQ(note(panel.at(31, 0)), "bank 0, lane 31, word 992, one of 32 that meet here");
  EXPECT_EQ(panel.row_labels[0], "0-31");
}

TEST(Phases, SharedWordsAreNoConflict) {
  const Explanation e = drawn("(32,32):(32,1)", 4, {"tv:(32,1):(0,1)"});
  const Panel panel = groups_panel(e.accesses[0].requests[0]);
  ASSERT_EQ(panel.rows(), 1);
  EXPECT_EQ(panel.at(0, 0).label, "0+");
  EXPECT_EQ(panel.at(0, 0).lanes, "0-31");
}

TEST(Pictures, MarkLanesOnBothSides) {
  const Picture picture = picture_of(drawn("Swizzle<5,0,5> o (32,32):(32,1)", 4, {"columns"}));
  ASSERT_EQ(picture.lines.size(), 3U);  // tiles, wavefronts, bits
  ASSERT_EQ(picture.lines[0].size(), 2U);
  EXPECT_EQ(marked(picture.lines[0][0], Mark::conflict), 32);
  EXPECT_EQ(marked(picture.lines[0][1], Mark::conflict), 0);
  EXPECT_EQ(marked(picture.lines[0][1], Mark::touched), 32);
  EXPECT_EQ(picture.lines[0][1].at(7, 0).lanes, "7");
}

TEST(Pictures, OfOnePhaseShowItsLanesAlone) {
  const Explanation e = drawn("Swizzle<3,2,6> o (64,64):(64,1)", 4, {"rows:16", "blocks:16"});
  const Picture picture = picture_of(e, 1, 0, 2);
  EXPECT_EQ(picture.lines[0][0].rows(), 1);
  EXPECT_EQ(picture.lines[0][0].row_labels[0], "16-23");
  EXPECT_EQ(marked(picture.lines[1][1], Mark::touched), 8);
  EXPECT_THROW(picture_of(e, 2, 0, 0), Error);
  EXPECT_THROW(picture_of(e, 0, 999, 0), Error);
}

TEST(Pictures, NeedNoAccess) {
  const Explanation e = drawn("(8,8):(8,1)", 4, {});
  EXPECT_EQ(picture_of(e).lines.size(), 1U);
  EXPECT_EQ(marked(picture_of(e).lines[0][0], Mark::touched), 0);
}

}  // namespace
}  // namespace cornerturn::lab
