// The figures and pictures of docs/swizzle-case-study.md, worked out from the maps. Each block of
// the page between `<!-- generated: NAME -->` and `<!-- end -->` is what a function here returns;
// with CORNERTURN_WRITE_DOCS=1 in the environment the page is rewritten.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bit>
#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "analyse/notation.hpp"
#include "maps/banks.hpp"
#include "maps/composed.hpp"

namespace cornerturn {
namespace {

const std::vector<AnySwizzle> studied = {{4, 0, 4}, {3, 0, 4}, {3, 0, 3}, {3, 0, 5}, {4, 0, 5}};

SwizzledLayout rows_of_16(const AnySwizzle& swizzle) {
  return composition(swizzle, row_major(32, 16));
}

/// The wavefronts of the most expensive request in which lane i takes V elements from row
/// `distance` i, wherever the request begins.
int column_wavefronts(const SwizzledLayout& tile, int element_bytes, int v, int distance) {
  const auto rows = static_cast<int>(tile.layout.mode(0).size());
  const auto cols = static_cast<int>(tile.layout.mode(1).size());
  const int lanes = std::min(warp_lanes, rows / distance);
  int worst = 0;
  for (int col = 0; col < cols; col += v) {
    for (int first = 0; first < distance; ++first) {
      WarpRequest warp;
      warp.width = v * element_bytes;
      warp.active = 0;
      for (int lane = 0; lane < warp_lanes; ++lane) {
        // Further lanes go to the next columns.
        const int at = col + lane / lanes * v;
        if (at >= cols) continue;
        warp.active |= 1U << lane;
        warp.address[static_cast<std::size_t>(lane)] =
            static_cast<std::uint64_t>(tile(first + lane % lanes * distance, at)) *
            static_cast<std::uint64_t>(element_bytes);
      }
      worst = std::max(worst, shared_cost(warp, SharedOp::store).wavefronts);
    }
  }
  return worst;
}

/// Lanes one after the other along the rows.
int row_wavefronts(const SwizzledLayout& tile) {
  const auto cols = tile.layout.mode(1).size();
  int worst = 0;
  for (std::int64_t first = 0; first < tile.size(); first += warp_lanes) {
    WarpRequest warp;
    for (int lane = 0; lane < warp_lanes; ++lane) {
      const std::int64_t element = first + lane;
      warp.address[static_cast<std::size_t>(lane)] =
          static_cast<std::uint64_t>(tile(element / cols, element % cols)) * 4;
    }
    worst = std::max(worst, shared_cost(warp, SharedOp::store).wavefronts);
  }
  return worst;
}

std::vector<int> unchanged_rows(const SwizzledLayout& tile) {
  std::vector<int> rows;
  for (int row = 0; row < tile.layout.mode(0).size(); ++row) {
    bool same = true;
    for (int col = 0; col < tile.layout.mode(1).size(); ++col) {
      same = same && tile(row, col) == tile.layout(row, col);
    }
    if (same) rows.push_back(row);
  }
  return rows;
}

/// The smallest number of rows after which the pattern within the rows repeats.
int period_in_rows(const SwizzledLayout& tile) {
  const auto rows = static_cast<int>(tile.layout.mode(0).size());
  const auto cols = static_cast<int>(tile.layout.mode(1).size());
  const auto moved = [&](int row, int col) { return tile(row, col) - std::int64_t{row} * cols; };
  for (int period = 1;; ++period) {
    bool repeats = true;
    for (int row = 0; row + period < rows; ++row) {
      for (int col = 0; col < cols; ++col) {
        repeats = repeats && moved(row + period, col) == moved(row, col);
      }
    }
    if (repeats) return period;
  }
}

std::string list(const std::vector<int>& numbers) {
  return numbers.empty() ? "none" : fmt::format("{}", fmt::join(numbers, ", "));
}

std::string summary() {
  std::string out =
      "| swizzle | rows that stay as they are | period in rows | wavefronts: a column read | two "
      "rows written |\n| --- | --- | --- | --- | --- |\n";
  const auto row = [&](const std::string& name, const SwizzledLayout& tile,
                       const std::string& same) {
    out += fmt::format("| {} | {} | {} | {} | {} |\n", name, same, period_in_rows(tile),
                       column_wavefronts(tile, 4, 1, 1), row_wavefronts(tile));
  };
  row("none", rows_of_16({}), "all");
  for (const AnySwizzle& swizzle : studied) {
    const SwizzledLayout tile = rows_of_16(swizzle);
    row("`" + to_string(swizzle) + "`", tile, list(unchanged_rows(tile)));
  }
  return out;
}

std::string picture() {
  std::string out = "row ";
  for (const AnySwizzle& swizzle : studied) out += fmt::format("  {:<16}", to_string(swizzle));
  out.resize(out.find_last_not_of(' ') + 1);
  out += "\n";
  for (int row = 0; row < 32; ++row) {
    std::string line = fmt::format("{:>3} ", row);
    for (const AnySwizzle& swizzle : studied) {
      const SwizzledLayout tile = rows_of_16(swizzle);
      std::string places(16, ' ');
      for (int col = 0; col < 16; ++col) {
        places[static_cast<std::size_t>(tile(row, col) - row * 16)] = "0123456789abcdef"[col];
      }
      line += "  " + places;
    }
    out += line + "\n";
  }
  return "```\n" + out + "```\n";
}

std::string chunk_picture(const SwizzledLayout& tile, int chunk) {
  const auto rows = static_cast<int>(tile.layout.mode(0).size());
  const auto cols = static_cast<int>(tile.layout.mode(1).size());
  std::string out;
  for (int row = 0; row < rows; ++row) {
    std::vector<int> places(static_cast<std::size_t>(cols / chunk));
    for (int col = 0; col < cols; col += chunk) {
      places[static_cast<std::size_t>((tile(row, col) - row * cols) / chunk)] = col / chunk;
    }
    out += fmt::format("row {}:  {}\n", row, fmt::join(places, " "));
  }
  return out;
}

const SwizzledLayout floats = composition(AnySwizzle{3, 2, 3}, row_major(8, 32));
const SwizzledLayout halves = composition(AnySwizzle{3, 3, 3}, row_major(8, 64));

std::string chunks() {
  return "```\n" + to_string(floats) + ", floats: chunks of 4\n" + to_string(halves) +
         ", halves: chunks of 8\n\n" + chunk_picture(floats, 4) + "```\n";
}

int log2(int n) {
  return std::countr_zero(static_cast<unsigned>(n));
}
/// The usual design rule.
AnySwizzle rule(int element_bytes, int v, int row_length) {
  const int m = log2(v);
  return {log2(128 / element_bytes) - m, m, log2(row_length) - m};
}

std::string design_rule() {
  std::string out =
      "| element, tile | rule | consecutive rows | V x V blocks | with S = log2(row) | consecutive "
      "rows | V x V blocks |\n| --- | --- | --- | --- | --- | --- | --- |\n";
  for (const int bytes : {1, 2, 4, 8}) {
    const int v = 16 / bytes;
    const int side = 8 * v;
    const AnySwizzle by_rule = rule(bytes, v, side);
    const AnySwizzle by_blocks = {by_rule.bits, by_rule.base, log2(side)};
    const auto cost = [&](const AnySwizzle& swizzle, int distance) {
      return column_wavefronts(composition(swizzle, row_major(side, side)), bytes, v, distance);
    };
    out += fmt::format("| {} B, {} x {} | `{}` | {} | {} | `{}` | {} | {} |\n", bytes, side, side,
                       to_string(by_rule), cost(by_rule, 1), cost(by_rule, v), to_string(by_blocks),
                       cost(by_blocks, 1), cost(by_blocks, v));
  }
  return out;
}

std::string in_front() {
  const SwizzledLayout tile = rows_of_16({4, 0, 4});
  const Layout transposed = row_major(16, 32);  // (col, row) -> number of (row, col)
  const SwizzledLayout view = composition(tile, transposed);
  const SwizzledLayout other = composition(AnySwizzle{4, 0, 4}, row_major(16, 32));
  int moved = 0;
  for (int row = 0; row < 32; ++row) {
    for (int col = 0; col < 16; ++col) moved += other(col, row) != tile(row, col) ? 1 : 0;
  }
  return fmt::format(
      "```\ntile   (row, col)    {}\nview   (col, row)    {}      the same elements at the same "
      "places\nother  (col, row)    {}      {} of 512 elements elsewhere\n```\n",
      to_string(tile), to_string(view), to_string(other), moved);
}

struct Block {
  std::string name;
  std::string text;
};
std::vector<Block> blocks() {
  return {{"summary", summary()},
          {"picture", picture()},
          {"chunks", chunks()},
          {"design rule", design_rule()},
          {"in front", in_front()}};
}

const std::string page_path = CORNERTURN_SOURCE_DIR "/docs/swizzle-case-study.md";

TEST(SwizzleStudy, ThePageHasTheseFigures) {
  std::ifstream file(page_path);
  std::stringstream read;
  read << file.rdbuf();
  std::string page = read.str();
  const bool write = std::getenv("CORNERTURN_WRITE_DOCS") != nullptr;
  for (const auto& [name, text] : blocks()) {
    const std::string begin = "<!-- generated: " + name + " -->\n";
    const std::size_t from = page.find(begin);
    ASSERT_NE(from, std::string::npos) << name;
    const std::size_t at = from + begin.size();
    const std::size_t end = page.find("<!-- end -->", at);
    ASSERT_NE(end, std::string::npos) << name;
    if (write) {
      page.replace(at, end - at, text);
    } else {
      EXPECT_EQ(page.substr(at, end - at), text) << name;
    }
  }
  if (write) std::ofstream(page_path) << page;
}

// What the page says in words.
TEST(SwizzleStudy, RowsOf16) {
  EXPECT_EQ(unchanged_rows(rows_of_16({4, 0, 4})), (std::vector<int>{0, 16}));
  EXPECT_EQ(unchanged_rows(rows_of_16({3, 0, 4})), (std::vector<int>{0, 8, 16, 24}));
  EXPECT_EQ(unchanged_rows(rows_of_16({3, 0, 3})), (std::vector<int>{}));
  EXPECT_EQ(unchanged_rows(rows_of_16({3, 0, 5})), (std::vector<int>{0, 1, 16, 17}));
  EXPECT_EQ(unchanged_rows(rows_of_16({4, 0, 5})), (std::vector<int>{0, 1}));
  for (const AnySwizzle& swizzle : studied) {
    EXPECT_EQ(period_in_rows(rows_of_16(swizzle)),
              std::min<std::int64_t>(swizzle.period_rows(16), 32));
  }
  // S = 3: the left half of a row is xor-ed with twice the row's number, the right half with one
  // more.
  const SwizzledLayout three = rows_of_16({3, 0, 3});
  for (int row = 0; row < 32; ++row) {
    for (int col = 0; col < 16; ++col) {
      EXPECT_EQ(three(row, col), row * 16 + (col ^ (row % 4 * 2 + col / 8)));
    }
  }
  EXPECT_EQ(column_wavefronts(rows_of_16({}), 4, 1, 1), 16);
  EXPECT_EQ(column_wavefronts(rows_of_16({4, 0, 4}), 4, 1, 1), 2);
  EXPECT_EQ(column_wavefronts(rows_of_16({3, 0, 3}), 4, 1, 1), 8);
  EXPECT_EQ(column_wavefronts(rows_of_16({4, 0, 5}), 4, 1, 1), 1);
}

TEST(SwizzleStudy, ACompositionInFrontKeepsThePlaces) {
  const SwizzledLayout tile = rows_of_16({4, 0, 4});
  const SwizzledLayout view = composition(tile, row_major(16, 32));
  for (int row = 0; row < 32; ++row) {
    for (int col = 0; col < 16; ++col) EXPECT_EQ(view(col, row), tile(row, col));
  }
}

TEST(SwizzleStudy, FloatsAndHalvesAreTheSamePattern) {
  EXPECT_EQ(chunk_picture(floats, 4), chunk_picture(halves, 8));
  for (const auto& [tile, bytes, v] : {std::tuple{floats, 4, 4}, std::tuple{halves, 2, 8}}) {
    EXPECT_EQ(column_wavefronts(tile, bytes, v, 1), 4);  // 16 bytes a lane: as few as can be
    EXPECT_EQ(column_wavefronts({{}, 0, tile.layout}, bytes, v, 1), 32);
  }
}

TEST(SwizzleStudy, WhereTheRuleFails) {
  // Rows shorter than 128 bytes: it asks for more bits than there is room for.
  const AnySwizzle short_rows = rule(4, 1, 16);
  EXPECT_EQ(short_rows, (AnySwizzle{5, 0, 4}));
  EXPECT_THROW(make_swizzle(short_rows.bits, short_rows.base, short_rows.shift), Error);
  // Rows longer than 128 bytes: it is right, and the swizzle of the square tile is not.
  EXPECT_EQ(rule(4, 1, 64), (AnySwizzle{5, 0, 6}));
  EXPECT_EQ(column_wavefronts(composition(AnySwizzle{5, 0, 6}, row_major(64, 64)), 4, 1, 1), 1);
  EXPECT_EQ(column_wavefronts(composition(AnySwizzle{5, 0, 5}, row_major(64, 64)), 4, 1, 1), 2);
  // V x V blocks: lanes are V rows apart.
  EXPECT_EQ(rule(4, 4, 32), (AnySwizzle{3, 2, 3}));
  EXPECT_EQ(column_wavefronts(composition(AnySwizzle{3, 2, 3}, row_major(32, 32)), 4, 4, 4), 16);
  EXPECT_EQ(column_wavefronts(composition(AnySwizzle{3, 2, 5}, row_major(32, 32)), 4, 4, 4), 4);
}

}  // namespace
}  // namespace cornerturn
