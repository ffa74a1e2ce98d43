// The layout algebra: laws on small cases, and pycute's answers on thousands of random ones.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <map>
#include <set>
#include <sstream>
#include <vector>

#include "maps/composed.hpp"
#include "workshop/analyse/notation.hpp"

namespace cornerturn {
namespace {

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);) parts.push_back(part);
  return parts;
}

std::string answer(const std::function<Layout()>& compute) {
  try {
    return to_string(compute());
  } catch (const Error&) {
    return "-";
  }
}

using Binary = Layout (*)(const Layout&, const Layout&);
using ByMode = Layout (*)(const Layout&, const Tiles&);

struct Operation {
  Binary whole;
  ByMode by_mode;
};

const std::map<std::string, Operation>& operations() {
  static const std::map<std::string, Operation> all = {
      {"logical_divide", {logical_divide, logical_divide}},
      {"zipped_divide", {zipped_divide, zipped_divide}},
      {"tiled_divide", {tiled_divide, tiled_divide}},
      {"logical_product", {logical_product, logical_product}},
      {"zipped_product", {zipped_product, zipped_product}},
      {"tiled_product", {tiled_product, tiled_product}},
  };
  return all;
}

Layout by_mode(ByMode operation, const Layout& layout, const std::vector<Layout>& tiles) {
  switch (tiles.size()) {
    case 1:
      return operation(layout, {tiles[0]});
    case 2:
      return operation(layout, {tiles[0], tiles[1]});
    default:
      return operation(layout, {tiles[0], tiles[1], tiles[2]});
  }
}

// Pycute's answer, or none where it is none: what the law says of it is asked of
// layout_laws_test.cpp.
void expect_answer(const std::vector<std::string>& fields, const std::string& got,
                   std::map<std::string, int>& refused_alone) {
  if (got == "-" && fields.back() != "-") {
    ++refused_alone[fields[0]];
  } else {
    EXPECT_EQ(got, fields.back());
  }
}

// Is what pycute answers to this line right for every index?
bool pycute_is_right(const std::vector<std::string>& f) {
  const Layout layout = parse_layout(f[1]);
  const Layout answered = parse_layout(f[3]);
  if (f[0] == "composition") {
    const Layout second = parse_layout(f[2]);
    const Layout first = coalesce(layout);
    for (std::int64_t i = 0; i < second.size(); ++i) {
      if (answered(i) != first(second(i))) return false;
    }
    return true;
  }
  std::set<std::int64_t> own;
  std::set<std::int64_t> reached;
  for (std::int64_t i = 0; i < layout.size(); ++i) own.insert(layout(i));
  std::int64_t pairs = 0;
  for (std::int64_t i = 0; i < answered.size(); ++i) {
    for (const std::int64_t offset : own) {
      reached.insert(offset + answered(i));
      ++pairs;
    }
  }
  if (static_cast<std::int64_t>(reached.size()) != pairs) return false;
  const std::int64_t target = std::max<std::int64_t>(std::stoll(f[2]), layout.cosize());
  for (std::int64_t offset = 0; offset < target; ++offset) {
    if (!reached.contains(offset)) return false;
  }
  return true;
}

void check_line(const std::vector<std::string>& f, std::map<std::string, int>& refused_alone) {
  const std::string& name = f[0];
  if (name == "layout") {
    const Layout layout = parse_layout(f[1]);
    EXPECT_EQ(to_string(layout), f[1]);
    EXPECT_EQ(layout.size(), std::stoll(f[2]));
    EXPECT_EQ(layout.cosize(), std::stoll(f[3]));
    for (const std::string& value : split(f[4], ',')) {
      const std::size_t arrow = value.find('>');
      EXPECT_EQ(layout(std::stoll(value.substr(0, arrow))), std::stoll(value.substr(arrow + 1)));
    }
  } else if (name == "swizzle") {
    const AnySwizzle swizzle = parse_swizzle(f[1]);
    EXPECT_EQ(swizzle(std::stoll(f[2])), std::stoll(f[3]));
    if (swizzle.bits > 0) {
      EXPECT_EQ(swizzle.period(), std::stoll(f[4]));
    }
  } else if (name == "coalesce") {
    EXPECT_EQ(answer([&] { return coalesce(parse_layout(f[1])); }), f[2]);
  } else if (name == "composition") {
    const std::string got =
        answer([&] { return composition(parse_layout(f[1]), parse_layout(f[2])); });
    expect_answer(f, got, refused_alone);
    if (got == "-" && f[3] != "-") {
      EXPECT_FALSE(pycute_is_right(f));
    }
  } else if (name == "complement") {
    const std::string got =
        answer([&] { return complement(parse_layout(f[1]), std::stoll(f[2])); });
    expect_answer(f, got, refused_alone);
    if (got == "-" && f[3] != "-") {
      EXPECT_FALSE(pycute_is_right(f));
    }
  } else if (name == "right_inverse") {
    EXPECT_EQ(answer([&] { return right_inverse(parse_layout(f[1])); }), f[2]);
  } else if (name == "left_inverse") {
    expect_answer(f, answer([&] { return left_inverse(parse_layout(f[1])); }), refused_alone);
  } else {
    const Operation& operation = operations().at(name);
    const std::vector<std::string> operands = split(f[2], ';');
    const bool tuple = f[2].find(';') != std::string::npos;
    const auto compute = [&] {
      const Layout layout = parse_layout(f[1]);
      if (!tuple) return operation.whole(layout, parse_layout(f[2]));
      std::vector<Layout> tiles;
      for (const std::string& tile : operands) tiles.push_back(parse_layout(tile));
      return by_mode(operation.by_mode, layout, tiles);
    };
    expect_answer(f, answer(compute), refused_alone);
  }
}

TEST(Layout, AgreesWithPycute) {
  std::ifstream file(CORNERTURN_SOURCE_DIR "/tests/maps/pycute_golden.txt");
  std::map<std::string, int> answered;
  std::map<std::string, int> refused;
  std::map<std::string, int> refused_alone;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    SCOPED_TRACE(line);
    const std::vector<std::string> fields = split(line, '|');
    check_line(fields, refused_alone);
    ++(fields.back() == "-" ? refused : answered)[fields[0]];
  }
  for (const char* name : {"layout", "swizzle", "coalesce", "composition", "complement",
                           "right_inverse", "left_inverse", "logical_divide", "zipped_divide",
                           "tiled_divide", "logical_product", "zipped_product", "tiled_product"}) {
    EXPECT_GE(answered[name], 90) << name;
    EXPECT_LE(refused_alone[name], answered[name] / 8) << name;
  }
  EXPECT_GE(refused["composition"], 20);
  EXPECT_GE(refused["complement"], 20);
}

TEST(Layout, ModesAndCoordinates) {
  const Layout layout = parse_layout("((2,3),4):((1,8),2)");
  EXPECT_EQ(layout.rank(), 2);
  EXPECT_EQ(to_string(layout.mode(0)), "(2,3):(1,8)");
  EXPECT_EQ(to_string(layout.mode(1)), "4:2");
  for (int i = 0; i < 6; ++i) {
    for (int j = 0; j < 4; ++j) EXPECT_EQ(layout(i, j), i % 2 + i / 2 * 8 + j * 2);
  }
  EXPECT_THROW(layout.mode(2), Error);
  EXPECT_EQ(make_layout({make_leaf(8, 32), make_leaf(32, 1)}), row_major(8, 32));
}

TEST(Layout, AllOfItIsConstexpr) {
  constexpr Layout tile = make_layout({make_leaf(4, 1), make_leaf(8, 4)});
  static_assert(tile == column_major(4, 8));
  static_assert(composition(row_major(8, 32), make_leaf(8, 1))(3) == 96);
  static_assert(complement(make_leaf(4, 1), 24) == make_leaf(6, 4));
  static_assert(
      zipped_divide(row_major(8, 32), {make_leaf(4, 1), make_leaf(8, 1)}).mode(0).size() == 32);
  static_assert(logical_product(make_leaf(4, 1), make_leaf(3, 1)) ==
                make_layout({make_leaf(4, 1), make_leaf(3, 4)}));
  SUCCEED();
}

TEST(Layout, ErrorsNameTheRule) {
  try {
    composition(parse_layout("(4,8):(8,1)"), make_leaf(4, 3));
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "composition: neither of stride 3 and extent 4 divides the other");
  } catch (...) {
    FAIL();
  }
}

// A transposed view is a composition in front: the swizzle stays where the elements are.
TEST(SwizzledLayout, CompositionInFrontKeepsTheSwizzle) {
  const SwizzledLayout tile = composition(AnySwizzle{5, 0, 5}, row_major(32, 32));
  const SwizzledLayout view = composition(tile, row_major(32, 32));
  for (int row = 0; row < 32; ++row) {
    for (int column = 0; column < 32; ++column) EXPECT_EQ(view(column, row), tile(row, column));
  }
  EXPECT_EQ(view.swizzle, tile.swizzle);
}

}  // namespace
}  // namespace cornerturn
