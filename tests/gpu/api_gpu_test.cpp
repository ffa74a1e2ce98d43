// The public functions on a GPU. That the kernels are right is tested elsewhere; here few shapes
// do.
#include <gtest/gtest.h>

#include "cornerturn/cornerturn.hpp"
#include "on_gpu.hpp"

namespace cornerturn {
namespace {

using namespace test::on_gpu;

TEST_F(ApiOnGpu, Transpose) {
  transpose(dst.data(), src.data(), rows, columns, ElementType(Kind::f32));
  expect_transposed();
}

TEST_F(ApiOnGpu, Permute) {
  permute(dst.data(), ConstView(src.data(), ElementType(Kind::f32), {rows, columns}), {1, 0});
  expect_transposed();
}

TEST_F(ApiOnGpu, CopyOfViews) {
  copy(packed(dst.data()), turned(src.data()));
  expect_transposed();
}

TEST_F(ApiOnGpu, PlanAndExecute) {
  const Plan plan = make_plan(packed(dst.data()), turned(src.data()));
  EXPECT_NE(plan.device(), "cpu");
  EXPECT_EQ(plan.threads(), 0);
  EXPECT_EQ(plan.bytes(), bytes);
  expect_untouched();
  execute(plan, dst.data(), src.data());
  expect_transposed();
  // That plan for other pointers.
  const Bytes others = numbered(bytes, 2);
  const OnGpu other(others);
  execute(plan, dst.data(), other.data());
  EXPECT_TRUE(dst.contents() == transposed(others));
}

TEST_F(ApiOnGpu, APlanMadeWithoutPointers) {
  Options options;
  options.device = "gpu";
  const Plan plan = make_plan(packed(nullptr), turned(nullptr), options);
  EXPECT_EQ(plan, make_plan(packed(dst.data()), turned(src.data())));
  execute(plan, dst.data(), src.data());
  expect_transposed();
}

TEST_F(ApiOnGpu, ViewsWithHolesLeaveThemAlone) {
  // Every second element of each row, backwards, into rows padded by 3 elements.
  const ElementType type(Kind::u16);
  const std::int64_t n = 100, m = 60;
  const ConstView from(src.data() + 2 * (2 * m - 1) * 1, type, {n, m}, {1000, -4});
  const View to(dst.data() + 6, type, {n, m}, {2 * (m + 3), 2});
  copy(to, from);
  Bytes expected(contents.size(), 0xa5);
  Bytes host = contents;
  copy(View(expected.data() + 6, type, to.shape, to.strides),
       ConstView(host.data() + 2 * (2 * m - 1), type, from.shape, from.strides));
  EXPECT_TRUE(dst.contents() == expected);
}

TEST_F(ApiOnGpu, NothingToDo) {
  copy(View(dst.data(), ElementType(Kind::f32), {0, 5}),
       ConstView(src.data(), ElementType(Kind::f32), {0, 5}));
  const Plan plan = make_plan(View(dst.data(), ElementType(Kind::f32), {0, 5}),
                              ConstView(src.data(), ElementType(Kind::f32), {0, 5}));
  execute(plan, nullptr, nullptr);
  expect_untouched();
}

TEST(ApiOnGpuLarge, MoreThan2To31Elements) {
  const std::int64_t n = 46349, m = 46351;  // 2^31 + 0.03 %
  const Bytes contents = numbered(n * m, 5);
  const OnGpu src(contents);
  const OnGpu dst = poisoned(n * m);
  transpose(dst.data(), src.data(), n, m, ElementType(Kind::u8));
  Bytes result = dst.contents();
  std::int64_t wrong = 0;
  for (std::int64_t j = 0; j < m; j += 97) {
    for (std::int64_t i = 0; i < n; ++i) {
      wrong += result[static_cast<std::size_t>(j * n + i)] !=
               contents[static_cast<std::size_t>(i * m + j)];
    }
  }
  EXPECT_EQ(wrong, 0);
  copy(View(dst.data(), ElementType(Kind::u8), {n * m}),
       ConstView(src.data(), ElementType(Kind::u8), {n * m}));
  EXPECT_TRUE(dst.contents() == contents);
}

}  // namespace
}  // namespace cornerturn
