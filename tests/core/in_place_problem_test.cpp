// Which arrays are put into another order within their memory, and which are refused.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "core/in_place.hpp"
#include "cornerturn/error.hpp"
#include "support/draws.hpp"
#include "support/refusal.hpp"

namespace cornerturn::in_place {
namespace {

constexpr const char* taken = "nothing";  // is what it is refused with

View array_of(int element, Extents shape, Extents strides) {
  return View(nullptr, ElementType::bytes(element), std::move(shape), std::move(strides));
}

std::string refusal_of(const View& array, const std::vector<int>& perm) {
  return test::refusal([&] { problem_in_place(array, perm); });
}

// The bytes of the elements, counted one by one.
bool elements_share_a_byte(const View& array) {
  std::set<std::int64_t> bytes;
  Extents index(array.shape.size(), 0);
  std::int64_t count = 1;
  for (const std::int64_t extent : array.shape) count *= extent;
  for (std::int64_t n = 0; n < count; ++n) {
    std::int64_t at = 0;
    for (std::size_t i = 0; i < index.size(); ++i) at += index[i] * array.strides[i];
    for (int byte = 0; byte < array.type.size(); ++byte) {
      if (!bytes.insert(at + byte).second) return true;
    }
    for (std::size_t i = index.size(); i-- > 0 && ++index[i] == array.shape[i];) index[i] = 0;
  }
  return false;
}

TEST(InPlaceProblem, ElementsThatShareBytesAreRefused) {
  EXPECT_EQ(refusal_of(array_of(4, {3, 3}, {6, 2}), {1, 0}),
            "array.strides = (6,2) with shape (3,3) and elements of 4 bytes: two elements must not "
            "share a byte");
  EXPECT_EQ(refusal_of(array_of(4, {3, 3}, {11, 4}), {1, 0}),
            "array.strides = (11,4) with shape (3,3) and elements of 4 bytes: two elements must "
            "not share a byte");
  EXPECT_EQ(refusal_of(array_of(4, {3, 3}, {12, 4}), {1, 0}), taken);
  std::mt19937 random(3);
  const auto uniform = [&](int low, int high) {
    return std::uniform_int_distribution<int>(low, high)(random);
  };
  int sharing = 0;
  for (int i = 0; i < test::draws(3000); ++i) {
    const int element = uniform(1, 4), rank = uniform(1, 3), extent = uniform(2, 4);
    const View array = array_of(element, Extents(static_cast<std::size_t>(rank), extent), [&] {
      Extents strides;
      for (int axis = 0; axis < rank; ++axis) strides.push_back(uniform(1, 24));
      return strides;
    }());
    std::vector<int> perm(static_cast<std::size_t>(rank));
    std::iota(perm.begin(), perm.end(), 0);
    if (!elements_share_a_byte(array)) continue;
    ++sharing;
    const std::string rule = refusal_of(array, perm);
    EXPECT_TRUE(rule.starts_with("array.strides = (") &&
                rule.ends_with("two elements must not share a byte"))
        << testing::PrintToString(array.strides) << " of " << element;
  }
  EXPECT_GT(sharing, test::draws(500));
}

// Rows of any pitch, in any order of axes, without gaps or with some: none of them share a byte.
TEST(InPlaceProblem, ElementsThatShareNoByteAreTaken) {
  std::mt19937 random(4);
  const auto uniform = [&](int low, int high) {
    return std::uniform_int_distribution<int>(low, high)(random);
  };
  for (int i = 0; i < test::draws(1000); ++i) {
    const int element = uniform(1, 4), rank = uniform(1, 4);
    std::vector<int> by_stride(static_cast<std::size_t>(rank));
    std::iota(by_stride.begin(), by_stride.end(), 0);
    const std::vector<int> same = by_stride;
    std::shuffle(by_stride.begin(), by_stride.end(), random);
    Extents shape(by_stride.size()), strides(by_stride.size());
    std::int64_t next = element;
    for (const int axis : by_stride) {
      const auto at = static_cast<std::size_t>(axis);
      shape[at] = uniform(1, 4);
      strides[at] = next + (uniform(0, 2) == 0 ? uniform(1, 9) : 0);
      next = strides[at] * shape[at];
    }
    EXPECT_EQ(refusal_of(array_of(element, shape, strides), same), taken)
        << testing::PrintToString(shape) << " with " << testing::PrintToString(strides);
  }
}

// There is no second element along an axis of one: its stride says nothing.
TEST(InPlaceProblem, StridesOfAxesOfOneDoNotMatter) {
  for (const std::int64_t stride : {-7, 0, 1, 3, 4, 1000}) {
    const View matrix = array_of(4, {5, 1, 6}, {24, stride, 4});
    const InPlaceProblem turned = problem_in_place(matrix, std::vector{2, 1, 0});
    EXPECT_EQ(turned.result.shape, (Extents{6, 1, 5})) << stride;
    EXPECT_EQ(turned.result.strides, (Extents{20, 20, 4})) << "packed";
    // In an array with gaps as well, where only equal axes may change places.
    const View apart = array_of(4, {5, 1, 5}, {32, stride, 4});
    EXPECT_EQ(refusal_of(apart, {2, 1, 0}), taken) << stride;
    EXPECT_EQ(refusal_of(apart, {0, 1, 2}), taken) << stride;
  }
  EXPECT_EQ(refusal_of(array_of(4, {1, 1}, {0, -4}), {1, 0}), taken);
  EXPECT_EQ(refusal_of(array_of(4, {1, 1, 1, 5}, {100, 200, 300, 8}), {1, 2, 0, 3}), taken)
      << "axes of one change places in a ring";
}

TEST(InPlaceProblem, RepeatedAndBackwardElementsAreRefused) {
  EXPECT_NE(refusal_of(array_of(4, {5, 5}, {0, 4}), {1, 0}).find("repeated element"),
            std::string::npos);
  EXPECT_NE(refusal_of(array_of(4, {5, 5}, {20, -4}), {1, 0}).find("no stride may be negative"),
            std::string::npos);
  EXPECT_NE(refusal_of(array_of(4, {5, -5}, {20, 4}), {1, 0}).find("array.shape[1] = -5"),
            std::string::npos);
  EXPECT_NE(refusal_of(View(nullptr, ElementType::bytes(1), Extents(65, 1)), {}).find("65"),
            std::string::npos);
}

TEST(InPlaceProblem, GapsAllowPairsOfEqualAxesAlone) {
  EXPECT_NE(refusal_of(array_of(4, {5, 6}, {28, 4}), {1, 0}).find("its shape stays the same"),
            std::string::npos);
  EXPECT_EQ(refusal_of(array_of(4, {5, 6}, {28, 4}), {0, 1}), taken);
  const View cube = array_of(4, {5, 5, 5}, {200, 40, 4});
  EXPECT_NE(refusal_of(cube, {1, 2, 0}).find("only pairs of equal axes"), std::string::npos);
  for (const std::vector<int>& pair : {std::vector{1, 0, 2}, {2, 1, 0}, {0, 2, 1}}) {
    EXPECT_EQ(refusal_of(cube, pair), taken);
    EXPECT_EQ(problem_in_place(cube, pair).result.strides, cube.strides);
  }
}

TEST(InPlaceProblem, PackedProblemsHaveGapsOnNeitherSide) {
  Problem turned;  // 5 x 6 elements, which become 6 x 5
  turned.src_type = turned.dst_type = ElementType::bytes(4);
  turned.modes = {{6, 4, 20}, {5, 24, 4}};
  const auto all = packed(turned);
  ASSERT_TRUE(all.has_value());
  EXPECT_EQ(all->shape, (Extents{5, 6}));
  EXPECT_EQ(all->perm, (std::vector{1, 0}));
  turned.modes = {{6, 4, 24}, {5, 24, 4}};
  EXPECT_FALSE(packed(turned).has_value()) << "afterwards";
  turned.modes = {{6, 4, 20}, {5, 28, 4}};
  EXPECT_FALSE(packed(turned).has_value()) << "before";
}

TEST(InPlaceProblem, NothingIsAskedOfAnEmptyArray) {
  const InPlaceProblem none = problem_in_place(array_of(4, {0, 7}, {0, -4}), std::vector{1, 0});
  EXPECT_EQ(none.result.shape, (Extents{7, 0}));
  EXPECT_TRUE(none.problem.in_place);
  EXPECT_EQ(none.problem.elements(), 0);
}

}  // namespace
}  // namespace cornerturn::in_place
