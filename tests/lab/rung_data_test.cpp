// What the page knows of the rungs is what the rungs are.
#include "workshop/lab/rung_data.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "workshop/analyse/notation.hpp"
#include "workshop/lab/rung_access.hpp"

namespace cornerturn::lab {
namespace {

using Json = nlohmann::json;

const Json& data() {
  static const Json parsed = Json::parse(rung_data());
  return parsed;
}

TEST(RungData, HasEveryRungAtEverySizeThatItTakes) {
  const auto rungs = ladder::rungs();
  ASSERT_EQ(data()["rungs"].size(), rungs.size());
  for (std::size_t i = 0; i < rungs.size(); ++i) {
    const Json& told = data()["rungs"][i];
    EXPECT_EQ(told["name"], rungs[i].name);
    for (const int bytes : {1, 2, 4, 8, 16}) {
      EXPECT_EQ(told["sizes"].contains(std::to_string(bytes)),
                !ladder::why_not(rungs[i], {512, 512, bytes}))
          << rungs[i].name << " of " << bytes << " B";
    }
  }
}

TEST(RungData, PicturesReferToPanels) {
  for (const Json& rung : data()["rungs"]) {
    for (const Json& size : rung["sizes"]) {
      EXPECT_FALSE(size["lines"].empty()) << rung["name"];
      for (const Json& line : size["lines"]) {
        for (const std::size_t number : line) {
          ASSERT_LT(number, data()["panels"].size()) << rung["name"];
          EXPECT_FALSE(data()["panels"][number]["cells"].empty()) << rung["name"];
        }
      }
    }
  }
}

TEST(RungData, LayoutsAndAccessesAreThoseOfTheTiles) {
  int layouts = 0;
  for (const Json& told : data()["rungs"]) {
    const ladder::Rung& rung = *ladder::find_rung(told["name"].get<std::string>());
    for (const auto& [bytes, size] : told["sizes"].items()) {
      if (!size.contains("accesses")) continue;
      const ladder::TileMap tile = *rung.tile(std::stoi(bytes));
      const TileShape shape{tile.rows, tile.columns, std::stoi(bytes)};
      const auto accesses = rung_accesses(rung.name, shape);
      ASSERT_EQ(size["accesses"].size(), accesses.size()) << rung.name;
      for (std::size_t i = 0; i < accesses.size(); ++i) {
        const Access read = parse_access(size["accesses"][i][1].get<std::string>(), shape, {});
        EXPECT_EQ(size["accesses"][i][0], accesses[i].name);
        EXPECT_EQ(read.requests.size(), accesses[i].requests.size()) << rung.name;
        EXPECT_EQ(read.op, accesses[i].op) << rung.name;
        EXPECT_EQ(read.vector, accesses[i].vector) << rung.name;
      }
      if (!size.contains("layout")) continue;
      ++layouts;
      const auto layout = parse_swizzled_layout(size["layout"].get<std::string>());
      for (int row = 0; row < tile.rows; ++row) {
        for (int column = 0; column < tile.columns; ++column) {
          ASSERT_EQ(layout(row, column), tile.at(row, column)) << rung.name;
        }
      }
    }
  }
  EXPECT_GT(layouts, 10);
}

TEST(RungData, ATileThatNoSwizzleMakesHasNoLayout) {
  const ladder::Rung& rotated = *ladder::find_rung("smem_rotate");
  EXPECT_FALSE(layout_of(*rotated.tile(4), 4));
  EXPECT_EQ(to_string(*layout_of(*ladder::find_rung("smem_pad")->tile(4), 4)), "(32,32):(33,1)");
}

}  // namespace
}  // namespace cornerturn::lab
