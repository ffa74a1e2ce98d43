#include "workshop/lab/picture.hpp"

#include <gtest/gtest.h>

#include <set>

#include "cornerturn/error.hpp"
#include "workshop/analyse/notation.hpp"
#include "workshop/lab/block_order.hpp"
#include "workshop/lab/warp_picture.hpp"

namespace cornerturn::lab {
namespace {

template <class Body>
std::string refusal(Body&& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.what();
  }
  return "not refused";
}

Placement placed(const char* layout) {
  return placement_of(parse_swizzled_layout(layout));
}

TEST(Tile, CellsSayWhereTheyLie) {
  const SwizzledLayout layout = parse_swizzled_layout("Swizzle<3,2,5> o (32,32):(32,1)");
  const Panel panel = tile_panel("tile", placement_of(layout), 4, {});
  ASSERT_EQ(panel.rows(), 32);
  ASSERT_EQ(panel.columns(), 32);
  for (int i = 0; i < 32; ++i) {
    for (int j = 0; j < 32; ++j) {
      const Cell& cell = panel.at(i, j);
      EXPECT_EQ(cell.offset, layout(i, j));
      EXPECT_EQ(cell.bank, layout(i, j) % 32);
      EXPECT_EQ(cell.tone, cell.bank);
      EXPECT_EQ(cell.label, std::to_string(cell.bank));
    }
  }
  EXPECT_EQ(note(panel.at(4, 1)), "(4,1) at offset 133, bank 5");
}

TEST(Tile, BanksAreThoseOfBytes) {
  const Panel wide = tile_panel("tile", placed("(4,32):(32,1)"), 8, {});
  EXPECT_EQ(wide.at(0, 15).bank, 30);
  EXPECT_EQ(wide.at(0, 16).bank, 0);
  TileView words;
  words.unit = 4;
  const Panel narrow = tile_panel("tile", placed("(4,32):(32,1)"), 1, words);
  ASSERT_EQ(narrow.columns(), 8);
  EXPECT_EQ(narrow.at(1, 0).bank, 8);
  EXPECT_EQ(narrow.at(1, 7).column, 28);
}

TEST(Tile, AUnitIsWhatLiesTogether) {
  EXPECT_EQ(drawn_unit(placed("(32,32):(32,1)"), 4, 4), 4);
  EXPECT_EQ(drawn_unit(placed("(32,32):(32,1)"), 1, 1), 4);
  EXPECT_EQ(drawn_unit(placed("(32,32):(1,32)"), 1, 1), 1);
  EXPECT_EQ(drawn_unit(placed("Swizzle<5,0,5> o (32,32):(32,1)"), 4, 4), 1);
  EXPECT_EQ(drawn_unit(placed("Swizzle<2,1,5> o (32,32):(32,1)"), 4, 4), 2);
}

TEST(Tile, LargeOnesAreCutAndSayIt) {
  const Panel panel = tile_panel("tile", placed("(128,80):(80,1)"), 4, {});
  EXPECT_EQ(panel.rows(), 64);
  EXPECT_EQ(panel.columns(), 64);
  EXPECT_NE(panel.description.find("the first 64 rows and 64 columns of 128 x 80"),
            std::string::npos)
      << panel.description;
}

TEST(Tile, ThePictureHasBothSidesOfASwizzle) {
  const Picture swizzled =
      tile_picture(parse_swizzled_layout("Swizzle<2,0,3> o (8,8):(8,1)"), 4, 1, false);
  ASSERT_EQ(swizzled.lines.size(), 2U);
  ASSERT_EQ(swizzled.lines[0].size(), 2U);
  EXPECT_EQ(swizzled.lines[0][0].at(1, 0).bank, 8);
  EXPECT_EQ(swizzled.lines[0][1].at(1, 0).bank, 9);
  EXPECT_EQ(tile_picture(parse_swizzled_layout("(8,8):(8,1)"), 4, 1, false).lines.size(), 1U);
}

TEST(Tile, RefusesWhatIsNoTile) {
  const auto draw = [](const char* text, int bytes) {
    return refusal([&] { tile_picture(parse_swizzled_layout(text), bytes, 1, false); });
  };
  EXPECT_EQ(draw("(8,8):(8,1)", 3), "elements of 3 B: they have 1, 2, 4, 8 or 16");
  EXPECT_EQ(draw("(2,2,2):(4,2,1)", 4),
            "the layout has 3 modes: rows and columns are two; group the others, as in ((2,4),8)");
  EXPECT_EQ(draw("(8,8):(-8,1)", 4), "(1,0) lies at offset -8, which is negative");
}

TEST(Bits, ShowYAndZOfBytes) {
  const Panel panel = bits_panel({3, 2, 5}, 4);
  std::set<std::string> y;
  std::set<std::string> z;
  for (int j = 0; j < panel.columns(); ++j) {
    if (panel.at(2, j).label == "Y") y.insert(panel.at(0, j).label);
    if (panel.at(2, j).label == "Z") z.insert(panel.at(0, j).label);
  }
  EXPECT_EQ(y, (std::set<std::string>{"9", "10", "11"}));
  EXPECT_EQ(z, (std::set<std::string>{"4", "5", "6"}));
}

TEST(Tones, FallEvenlyInGrey) {
  int last = 256000;
  for (int tone = 0; tone < 32; ++tone) {
    const Colour c = tone_colour(tone, 32);
    const int grey = 299 * c.red + 587 * c.green + 114 * c.blue;
    EXPECT_LT(grey, last) << tone;
    last = grey;
    EXPECT_EQ(c.dark(), grey < 117500) << tone;
  }
}

TEST(Sectors, OfARowAndOfAColumn) {
  const Picture row = sectors_picture(warp_request(parse_layout("32:1"), 4, 1));
  const Panel& lines = row.lines[0][0];
  ASSERT_EQ(lines.rows(), 1);
  EXPECT_EQ(lines.at(0, 1).label, "8-15");
  EXPECT_EQ(lines.at(0, 1).mark, Mark::none);
  EXPECT_EQ(row.description, "4 sectors in 1 line; 128 of their 128 bytes are asked for.");

  const Picture column = sectors_picture(warp_request(parse_layout("32:64"), 4, 1));
  ASSERT_EQ(column.lines[0][0].rows(), 32);
  EXPECT_EQ(column.lines[0][0].at(31, 0).mark, Mark::conflict);
  EXPECT_EQ(column.lines[0][0].at(31, 0).label, "31");
  EXPECT_TRUE(column.lines[0][0].at(31, 1).empty());
}

TEST(Sectors, RefuseWhatIsNoRequest) {
  const auto ask = [](const char* lanes, int bytes, int vector) {
    return refusal([&] { warp_request(parse_layout(lanes), bytes, vector); });
  };
  EXPECT_EQ(ask("64:1", 4, 1), "a layout of 64 lanes: a warp has 32");
  EXPECT_EQ(ask("32:1", 4, 3), "3 x 4 B a lane: an access has 1, 2, 4, 8 or 16");
  EXPECT_EQ(ask("32:1", 4, 4), "lane 1 has address 4, no multiple of its 16 B");
  EXPECT_EQ(ask("32:-1", 4, 1), "lane 1 has address -4, which is negative");
}

TEST(Threads, HoldTheirElements) {
  // The accumulator of an mma of 16 x 8: lanes in quads, two rows of two values.
  const Picture picture = threads_picture(parse_layout("((4,8),(2,2)):((32,1),(16,8))"), 16, 8);
  const Panel& panel = picture.lines[0][0];
  EXPECT_EQ(panel.at(0, 0).label, "T0 V0");
  EXPECT_EQ(panel.at(0, 1).label, "T0 V1");
  EXPECT_EQ(panel.at(8, 0).label, "T0 V2");
  EXPECT_EQ(panel.at(1, 0).label, "T4 V0");
  EXPECT_EQ(picture.description, "128 of 128 elements are held, 0 of them more than once.");
  EXPECT_EQ(refusal([] { threads_picture(parse_layout("(32,4):(1,32)"), 8, 8); }),
            "T0 V2 is element 64 of a tile of 64");
  EXPECT_EQ(threads_picture(parse_layout("(4,2):(0,1)"), 2, 1).lines[0][0].at(1, 0).mark,
            Mark::conflict);
}

TEST(Blocks, OrdersReachEveryTileOnce) {
  const TiledMatrix matrix = {100, 70, 4, 32, 16};
  for (const BlockOrder order :
       {BlockOrder::input_rows, BlockOrder::output_rows, BlockOrder::groups}) {
    std::set<std::pair<std::int64_t, std::int64_t>> seen;
    for (const TilePlace& place : block_order(matrix, order, 3)) {
      seen.insert({place.down, place.across});
    }
    EXPECT_EQ(seen.size(), 4U * 5U);
  }
}

TEST(Blocks, AllTogetherTouchEveryLineAndFinishIt) {
  const TiledMatrix matrix = {100, 70, 4, 32, 16};
  const auto places = block_order(matrix, BlockOrder::input_rows, 1);
  const L2Footprint all = l2_footprint(matrix, places, 0, places.size());
  EXPECT_EQ(all.read_lines, (100 * 70 * 4 + 127) / 128);
  EXPECT_EQ(all.written_lines, all.read_lines);
  EXPECT_EQ(all.unfinished_lines, 0);
}

TEST(Blocks, AlongOutputRowsLinesAreFinishedTogether) {
  // Rows of 16 floats of a tile are half a line of the destination.
  const TiledMatrix matrix = {256, 256, 4, 16, 16};
  const auto unfinished = [&](BlockOrder order) {
    return l2_footprint(matrix, block_order(matrix, order, 1), 0, 16).unfinished_lines;
  };
  EXPECT_EQ(unfinished(BlockOrder::output_rows), 0);
  EXPECT_EQ(unfinished(BlockOrder::input_rows), 256);
}

TEST(Svg, HasTextAlternativesAndEscapes) {
  const std::string svg =
      to_svg(tile_picture(parse_swizzled_layout("Swizzle<2,0,3> o (8,8):(8,1)"), 4, 1, false));
  EXPECT_EQ(svg.rfind("<svg ", 0), 0U);
  EXPECT_NE(svg.find("<title id=\"title\">8 x 8 elements of 4 B"), std::string::npos);
  EXPECT_NE(svg.find("<desc id=\"desc\">"), std::string::npos);
  EXPECT_NE(svg.find(">Swizzle&lt;2,0,3&gt;</text>"), std::string::npos);
  EXPECT_EQ(svg.find("http", svg.find("w3.org")), std::string::npos) << "refers to another file";
}

TEST(Text, IsPlainWithoutColours) {
  const Picture picture = sectors_picture(warp_request(parse_layout("(2,2):(8,64)"), 4, 1));
  EXPECT_EQ(to_text(picture, {false, 80}),
            "Lines of 128 bytes, sectors of 32\n"
            "address\\byte   0  32  64  96\n"
            "           0   0!  1!  .   .\n"
            "         256   2!  3!  .   .\n");
  const std::string coloured = to_text(picture, {true, 80});
  EXPECT_NE(coloured.find("\x1b[48;2;"), std::string::npos);
  EXPECT_NE(coloured.find("0!"), std::string::npos);
}

TEST(Text, FitsTheWidth) {
  const Picture picture =
      tile_picture(parse_swizzled_layout("Swizzle<2,0,3> o (8,8):(8,1)"), 4, 1, false);
  for (const int width : {30, 50, 90, 200}) {
    const std::string text = to_text(picture, {false, width});
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = text.find('\n', at);
      const std::string line = text.substr(at, end - at);
      if (line.find("more to the right") == std::string::npos) {
        EXPECT_LE(line.size(), static_cast<std::size_t>(width)) << line;
      }
      at = end + 1;
    }
  }
  EXPECT_NE(to_text(picture, {false, 30}).find("4 more to the right"), std::string::npos)
      << to_text(picture, {false, 30});
}

}  // namespace
}  // namespace cornerturn::lab
