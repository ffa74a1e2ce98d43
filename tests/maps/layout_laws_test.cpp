// What the layout algebra says of its results, for random layouts and every index, or it refuses.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>
#include <set>
#include <vector>

#include "maps/composed.hpp"
#include "workshop/analyse/notation.hpp"

namespace cornerturn {
namespace {

class RandomLayouts {
 public:
  explicit RandomLayouts(unsigned seed) : random_(seed) {}

  Layout next(int depth = 2) {
    if (depth == 0 || below(3) == 0) return make_leaf(one_of({1, 2, 2, 3, 4, 4, 6, 8}), stride());
    detail::TupleBuilder builder;
    for (std::int64_t i = below(3) + 1; i > 0; --i) builder.add(next(depth - 1));
    return builder.layout();
  }
  // Modes that follow each other in any order, so that no offset comes twice.
  Layout packed() {
    std::vector<Layout> modes;
    std::int64_t step = 1;
    for (std::int64_t i = below(4) + 1; i > 0; --i) {
      const std::int64_t extent = one_of({1, 2, 3, 4});
      modes.push_back(make_leaf(extent, step));
      step *= extent * (below(4) == 0 ? 2 : 1);
    }
    std::shuffle(modes.begin(), modes.end(), random_);
    detail::TupleBuilder builder;
    for (const Layout& mode : modes) builder.add(mode);
    return builder.layout();
  }
  std::int64_t below(std::int64_t end) {
    return static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(end));
  }
  std::int64_t one_of(const std::vector<std::int64_t>& values) {
    return values[static_cast<std::size_t>(below(static_cast<std::int64_t>(values.size())))];
  }

 private:
  std::int64_t stride() { return one_of({0, 1, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32}); }

  std::mt19937 random_;
};

// Calls `law` with `count` results that are not refused, and wants some of both.
void hold(int count, const std::function<void()>& law) {
  int held = 0;
  int refused = 0;
  for (int tries = 0; held < count && tries < 100 * count; ++tries) {
    try {
      law();
      ++held;
    } catch (const Error&) {
      ++refused;
    }
    if (::testing::Test::HasFailure()) return;
  }
  EXPECT_EQ(held, count);
  EXPECT_GT(refused, 0);
}

TEST(LayoutLaws, Composition) {
  RandomLayouts random(1);
  hold(500, [&] {
    const Layout a = random.next();
    const Layout b = random.next();
    const Layout c = composition(a, b);
    const Layout goes_on = coalesce(a);
    ASSERT_EQ(c.size(), b.size());
    ASSERT_EQ(c.rank(), b.is_tuple() ? b.rank() : c.rank());
    for (std::int64_t i = 0; i < b.size(); ++i) {
      ASSERT_EQ(c(i), goes_on(b(i))) << to_string(a) << " o " << to_string(b);
      if (b(i) < a.size()) {
        ASSERT_EQ(c(i), a(b(i)));
      }
    }
  });
}

TEST(LayoutLaws, Coalesce) {
  RandomLayouts random(2);
  for (int k = 0; k < 300; ++k) {
    const Layout a = random.next();
    for (std::int64_t i = 0; i < a.size(); ++i) ASSERT_EQ(coalesce(a)(i), a(i)) << to_string(a);
  }
}

TEST(LayoutLaws, Complement) {
  RandomLayouts random(3);
  hold(300, [&] {
    const Layout layout = random.below(2) == 0 ? random.next() : random.packed();
    const std::int64_t target = random.below(200);
    const Layout beside = complement(layout, target);
    std::set<std::int64_t> own;
    for (std::int64_t i = 0; i < layout.size(); ++i) own.insert(layout(i));
    std::set<std::int64_t> reached;
    for (std::int64_t i = 0; i < beside.size(); ++i) {
      for (const std::int64_t offset : own) {
        ASSERT_TRUE(reached.insert(offset + beside(i)).second) << to_string(layout);
      }
    }
    for (std::int64_t offset = 0; offset < target; ++offset) {
      ASSERT_TRUE(reached.contains(offset)) << to_string(layout) << " in " << target;
    }
  });
}

TEST(LayoutLaws, Inverses) {
  RandomLayouts random(4);
  hold(300, [&] {
    const Layout layout = random.below(2) == 0 ? random.next() : random.packed();
    const Layout right = right_inverse(layout);
    for (std::int64_t i = 0; i < right.size(); ++i) {
      ASSERT_EQ(layout(right(i)), i) << to_string(layout);
    }
    std::set<std::int64_t> offsets;
    for (std::int64_t i = 0; i < layout.size(); ++i) offsets.insert(layout(i));
    if (static_cast<std::int64_t>(offsets.size()) < layout.size()) return;
    const Layout left = left_inverse(layout);
    for (std::int64_t i = 0; i < layout.size(); ++i) {
      ASSERT_EQ(left(layout(i)), i) << to_string(layout);
    }
  });
}

TEST(LayoutLaws, DivideAndProduct) {
  RandomLayouts random(5);
  hold(300, [&] {
    const Layout layout = random.packed();
    const Layout tile = random.packed();
    const Layout divided = logical_divide(layout, tile);
    const Layout order = make_layout({tile, complement(tile, layout.size())});
    for (std::int64_t i = 0; i < order.size(); ++i) {
      ASSERT_EQ(divided(i), coalesce(layout)(order(i))) << to_string(layout);
    }
  });
  hold(300, [&] {
    const Layout block = random.packed();
    const Layout repeat = random.packed();
    const Layout product = logical_product(block, repeat);
    std::set<std::int64_t> offsets;
    for (std::int64_t i = 0; i < product.size(); ++i) offsets.insert(product(i));
    // No block meets another, and each lies as the first does.
    ASSERT_EQ(static_cast<std::int64_t>(offsets.size()), product.size()) << to_string(block);
    ASSERT_EQ(product.mode(0), block);
  });
}

TEST(LayoutLaws, Cosize) {
  for (const char* text : {"(4,8):(8,1)", "4:-1", "(2,3):(-4,1)", "(2,2):(3,-1)"}) {
    const Layout layout = parse_layout(text);
    std::set<std::int64_t> offsets;
    for (std::int64_t i = 0; i < layout.size(); ++i) offsets.insert(layout(i));
    EXPECT_EQ(layout.lowest(), *offsets.begin()) << text;
    EXPECT_EQ(layout.cosize(), *offsets.rbegin() - *offsets.begin() + 1) << text;
  }
}

TEST(LayoutLaws, ASwizzleTakesNoNegativeOffsets) {
  EXPECT_THROW(parse_swizzled_layout("Swizzle<1,0,1> o 4:-1"), Error);
  EXPECT_EQ(parse_swizzled_layout("Swizzle<1,0,1> o 3 o 4:-1")(3), 0);
}

}  // namespace
}  // namespace cornerturn
