#include "io/pattern.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <string>

#include "cornerturn/error.hpp"

namespace cornerturn::io {
namespace {

using Axes = std::vector<int>;

std::string message_of(const std::string& pattern, int rank) {
  try {
    parse_pattern(pattern, rank);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Pattern, NamesThePermutation) {
  EXPECT_EQ(parse_pattern("h w c -> c h w", 3), (Axes{2, 0, 1}));
  EXPECT_EQ(parse_pattern("a,b->b,a", 2), (Axes{1, 0}));
  EXPECT_EQ(parse_pattern("->", 0), Axes{});
  EXPECT_EQ(parse_pattern("... h w -> ... w h", 4), (Axes{0, 1, 3, 2}));
  EXPECT_EQ(parse_pattern("n ... c -> c n ...", 5), (Axes{4, 0, 1, 2, 3}));
  EXPECT_EQ(parse_pattern("... x -> x ...", 1), (Axes{0}));
}

TEST(Pattern, IsWhatItWasMadeFrom) {
  std::mt19937 random(3);
  for (int i = 0; i < 2000; ++i) {
    Axes axes(random() % 20);
    std::iota(axes.begin(), axes.end(), 0);
    std::shuffle(axes.begin(), axes.end(), random);
    std::string pattern;
    for (std::size_t k = 0; k < axes.size(); ++k) pattern += "axis" + std::to_string(k) + " ";
    pattern += "->";
    for (const int axis : axes) pattern += " axis" + std::to_string(axis);
    EXPECT_EQ(parse_pattern(pattern, static_cast<int>(axes.size())), axes);
  }
}

TEST(Pattern, PointsAtWhatIsWrong) {
  struct Case {
    const char* pattern;
    int rank;
    const char* part;
  };
  for (const auto& [pattern, rank, part] : {
           Case{"h w c -> c h", 3, "column 3: axis 'w' is dropped"},
           Case{"h w c -> c h w h", 3, "column 16: axis 'h' is repeated"},
           Case{"h w h -> h w", 3, "column 5: axis 'h' is repeated"},
           Case{"h w -> w h x", 2, "column 12: axis 'x' does not stand on the left"},
           Case{"h w", 2, "'->' is missing"},
           Case{"h w -> w -> h", 2, "column 10: '->' stands there twice"},
           Case{"h w -> w h", 3, "2 axes are named on the left, the array has rank 3"},
           Case{"... a b c -> ... c b a", 2, "3 axes are named"},
           Case{"... a -> a", 2, "column 1: axis '...' is dropped"},
           Case{"a b -> ... a b", 2, "column 8: axis '...' does not stand"},
           Case{"a (b) -> b a", 2, "column 3: a name"},
           Case{"... a ... -> a ...", 3, "column 7: axis '...' is repeated"},
       }) {
    EXPECT_NE(message_of(pattern, rank).find(part), std::string::npos)
        << pattern << " -> " << message_of(pattern, rank);
  }
}

}  // namespace
}  // namespace cornerturn::io
