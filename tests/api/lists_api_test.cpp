// Copies by lists through the public functions: what they refuse, and that nothing is written then.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "cornerturn/cornerturn.hpp"

namespace cornerturn {
namespace listed_calls {

std::string refusal(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

// Three arrays of 2 x 5, and room for three more.
class Lists : public testing::Test {
 protected:
  using Array = std::vector<float>;

  void SetUp() override {
    for (int k = 0; k < 3; ++k) {
      for (int i = 0; i < 10; ++i) arrays[k].push_back(static_cast<float>(10 * k + i));
      pointers[k] = arrays[k].data();
    }
  }
  ConstListedView all() const {
    return listed<const void>(pointers, 3, ConstView(nullptr, f32, {2, 5}));
  }
  void expect_untouched() const { EXPECT_EQ(out, Array(30, -1)); }
  template <class Index>
  void put(const std::vector<Index>& indices, std::int64_t count) {
    View pool(out.data(), f32, {count, 5});
    copy(indexed(pool, 0, indices.data(), static_cast<std::int64_t>(indices.size())),
         ConstView(arrays[0].data(), f32, {static_cast<std::int64_t>(indices.size()), 5}));
  }

  const ElementType f32{Kind::f32};
  Array arrays[3];
  const void* pointers[3];
  Array out = Array(30, -1);
};

TEST_F(Lists, ArraysAreStackedAndPermutedInOnePass) {
  View to(out.data(), f32, {2, 5, 3});
  copy(to.permuted({2, 0, 1}), all());
  for (int i = 0; i < 10; ++i) {
    for (int k = 0; k < 3; ++k) EXPECT_EQ(out[static_cast<std::size_t>(3 * i + k)], 10 * k + i);
  }
}

TEST_F(Lists, ValuesAreConvertedOnTheWay) {
  std::vector<std::int16_t> small(30);
  Epilogue doubled;
  doubled.alpha = 2;
  copy(View(small.data(), ElementType(Kind::i16), {3, 2, 5}), all(), doubled);
  for (int i = 0; i < 30; ++i) EXPECT_EQ(small[static_cast<std::size_t>(i)], 2 * i);
}

TEST_F(Lists, WhatIsOutOfRangeIsNamedAndNothingIsWritten) {
  EXPECT_EQ(refusal([&] {
              put<std::int64_t>({0, 6}, 6);
            }),
            "dst.list: index 1 is 6, but it has to be less than 6, and -1 at least");
  EXPECT_EQ(refusal([&] {
              put<std::int32_t>({-2, 0}, 6);
            }),
            "dst.list: index 0 is -2, but it has to be less than 6, and -1 at least");
  EXPECT_EQ(refusal([&] {
              put<std::int32_t>({3, 3}, 6);
            }),
            "dst.list: entries 0 and 1 are equal: a place is written once at most");
  expect_untouched();
}

TEST_F(Lists, NullPointersAreNamed) {
  void* places[] = {out.data(), nullptr, out.data() + 20};
  const ListedView to = listed<void>(places, 3, View(nullptr, f32, {2, 5}));
  EXPECT_EQ(refusal([&] { copy(to, all()); }), "dst.list: pointer 1 is null");
  expect_untouched();
  pointers[1] = nullptr;  // in a source there is nothing
  copy(View(out.data(), f32, {3, 2, 5}), all());
  EXPECT_EQ(out[9], 9);
  EXPECT_EQ(out[10], 0);
  EXPECT_EQ(out[20], 20);
}

TEST_F(Lists, SidesLieApart) {
  pointers[2] = out.data() + 4;
  EXPECT_NE(refusal([&] {
              copy(View(out.data(), f32, {3, 2, 5}), all());
            }).find("dst overlaps src at the address"),
            std::string::npos);
  expect_untouched();
}

// Another kernel would read and write where -1 leads.
TEST_F(Lists, OneKernelAloneTakesEntriesWhereThereIsNothing) {
  const std::vector<std::int32_t> indices = {1, -1};
  const std::vector<float> pool(64 * 64, 7);
  std::vector<float> result(2 * 64 * 32, -1);
  const ConstView rows(pool.data(), f32, {32, 64, 2});
  const View to = View(result.data(), f32, {64, 2, 2}).permuted({1, 0, 2});
  Options options;
  options.kernel = "tile";
  EXPECT_EQ(refusal([&] { copy(to, indexed(rows, 0, indices.data(), 2), {}, options); }),
            "kernel = 'tile' takes no entries where there is nothing (-1 or null): only 'listed' "
            "does");
  EXPECT_EQ(result[0], -1);
  options.kernel = "any";
  copy(to, indexed(rows, 0, indices.data(), 2), {}, options);
  EXPECT_EQ(result[0], 7);
  EXPECT_EQ(result[2], 0);
}

TEST_F(Lists, TablesAndAxesAreNeeded) {
  ConstListedView view = all();
  view.list.table = nullptr;
  const View to(out.data(), f32, {3, 2, 5});
  EXPECT_EQ(refusal([&] { copy(to, view); }), "src.list.table = null, but it has 3 entries");
  view.list.axis = 3;
  EXPECT_EQ(refusal([&] { copy(to, view); }), "src.list.axis = 3 is out of range for rank 3");
  Epilogue epilogue;
  const float scale[3] = {1, 2, 3};
  epilogue.scale = scale;
  epilogue.scale_mode = 0;
  EXPECT_EQ(refusal([&] { copy(to, all(), epilogue); }),
            "epilogue.scale_mode = 0 is the axis of a list: it has to be another one");
  Epilogue stochastic;
  stochastic.rounding = Rounding::stochastic;
  EXPECT_EQ(refusal([&] {
              copy(View(out.data(), ElementType(Kind::f16), {3, 2, 5}), all(), stochastic);
            }),
            "epilogue.rounding = stochastic, but it depends on places, and a list has none");
  expect_untouched();
}

TEST_F(Lists, APlanSaysWhatIsDone) {
  const Plan plan = make_plan(View(nullptr, f32, {3, 2, 5}), all());
  EXPECT_NE(plan.explain().find("listed (3):pointers->+40"), std::string::npos) << plan.explain();
  EXPECT_NE(refusal([&] { execute(plan, out.data(), arrays[0].data()); }).find("it has lists"),
            std::string::npos);
  Options h200;
  h200.device = "h200";
  EXPECT_EQ(make_plan(View(nullptr, f32, {3, 2, 5}), all(), {}, h200).kernel(), "list_rows");
}

}  // namespace listed_calls
}  // namespace cornerturn
