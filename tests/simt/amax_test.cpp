// The kernel that finds the largest magnitude, in the emulator: what its blocks leave, against the
// CPU's answer, bit by bit.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "cornerturn/amax.hpp"
#include "cornerturn/error.hpp"
#include "plan/gpu/amax.hpp"
#include "run_blocks.hpp"
#include "support/conversions.hpp"
#include "support/strided_view.hpp"

namespace cornerturn::simt {
namespace {

using plan::Plan;

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float nan_value = std::numeric_limits<float>::quiet_NaN();

Plan reducing(const std::byte* data, ElementType type, const Extents& shape,
              const Extents& strides) {
  return plan_for(reduce_problem(type, shape, strides), {nullptr, data});
}

// The amax of the array at `data`, of which the `bytes` from `memory` on may be read.
double emulated(const Plan& plan, const std::byte* data, const std::byte* memory, std::size_t bytes,
                Mode mode = Mode::recording) {
  std::vector<std::uint64_t> found(plan.ready.launch.grid.count(), ~std::uint64_t{0});
  static Emulator emulator;
  emulator.clear();
  emulator.input("src", memory, bytes);
  emulator.output("found", found.data(), found.size() * sizeof found[0]);
  execute(emulator, plan, {found.data(), data}, mode);
  expect_clean(emulator);
  return values::magnitude_number(plan.problem.src_type.kind(),
                                  *std::max_element(found.begin(), found.end()));
}

std::uint64_t bits_of(double x) {
  return values::bits_as<std::uint64_t>(x);
}

// The bits alone that the array reaches may be read.
void expect_as_on_the_cpu(const std::byte* data, ElementType type, const Extents& shape,
                          const Extents& strides) {
  const std::byte* low = data;
  const std::byte* high = data + type.size();
  for (std::size_t i = 0; i < shape.size(); ++i) {
    (strides[i] < 0 ? low : high) += (shape[i] - 1) * strides[i];
  }
  const double found = emulated(reducing(data, type, shape, strides), data, low,
                                static_cast<std::size_t>(high - low));
  const double expected = amax(ConstView(data, type, shape, strides), {.threads = 1});
  EXPECT_EQ(bits_of(found), bits_of(expected)) << found << " is not " << expected;
}

TEST(Amax, RandomViewsOfEveryType) {
  std::mt19937 random(41);
  int in_vectors = 0, in_elements = 0;
  for (const Kind kind : test::kinds()) {
    if (!is_real(kind)) continue;
    for (int i = 0; i < 50; ++i) {
      const ElementType type = i < 40 ? ElementType(kind) : ElementType(kind).swapped();
      test::StridedView view(random, type.size());
      if (view.is_empty()) continue;
      view.fill(type, random, i % 8 == 0);
      SCOPED_TRACE(type.name() + ": " + view.text());
      const Plan plan = reducing(view.data(), type, view.shape, view.strides);
      ++(plan.chosen.config.as<plan::gpu::AmaxConfig>().vectors ? in_vectors : in_elements);
      expect_as_on_the_cpu(view.data(), type, view.shape, view.strides);
      if (HasFailure()) return;
    }
  }
  EXPECT_GT(in_vectors, 150);
  EXPECT_GT(in_elements, 150);
}

// One value at a time stands out, at any place of rows that begin anywhere: the others, and what
// lies between the rows, are something else.
template <class T>
void expect_every_place_counts(Kind kind, T low, T high, std::int64_t columns, std::int64_t pitch,
                               std::int64_t first) {
  constexpr std::int64_t rows = 3;
  const ElementType type(kind);
  alignas(16) T memory[512];
  ASSERT_LE(first + rows * pitch, 512);
  for (std::int64_t at = 0; at < rows * columns; ++at) {
    std::fill(std::begin(memory), std::end(memory), high);  // the gaps
    for (std::int64_t r = 0; r < rows; ++r) std::fill_n(memory + first + r * pitch, columns, low);
    T* const place = memory + first + at / columns * pitch + at % columns;
    *place = high;
    const auto* data = reinterpret_cast<const std::byte*>(memory + first);
    const Extents shape{rows, columns};
    const auto size = static_cast<std::int64_t>(sizeof(T));
    const Extents strides{pitch * size, size};
    const Plan plan = reducing(data, type, shape, strides);
    const auto of = [&](T x) { return values::magnitude_number(kind, values::magnitude_bits(x)); };
    const auto bytes = static_cast<std::size_t>(((rows - 1) * pitch + columns) * size);
    ASSERT_EQ(emulated(plan, data, data, bytes), of(high)) << at;
    *place = low;
    ASSERT_EQ(emulated(plan, data, data, bytes), of(low)) << at;
  }
}

TEST(Amax, EveryPlaceCountsAndNoGap) {
  for (const std::int64_t first : {0, 1, 3}) {
    expect_every_place_counts<float>(Kind::f32, 1, -3, 17, 23, first);
    expect_every_place_counts<double>(Kind::f64, 1, -3, 9, 10, first);
    expect_every_place_counts<std::int16_t>(Kind::i16, -5, -32768, 35, 37, first);
    expect_every_place_counts<std::int8_t>(Kind::i8, -127, -128, 66, 69, first);
    expect_every_place_counts<std::int64_t>(Kind::i64, 6, std::numeric_limits<std::int64_t>::min(),
                                            11, 13, first);
    expect_every_place_counts<std::uint8_t>(Kind::u8, 128, 255, 64, 80, first);
    expect_every_place_counts<std::int32_t>(Kind::i32, 6, -7, 4, 6, first);
  }
}

// More than the blocks of a launch take at once.
TEST(Amax, BlocksGoRound) {
  constexpr std::int64_t count = 6 << 20;
  std::vector<std::uint8_t> x(count + 1, 1);
  const auto* data = reinterpret_cast<const std::byte*>(x.data());
  const ElementType u8(Kind::u8);
  Plan plan = reducing(data, u8, {count}, {1});
  plan.ready.launch.grid.x = 3;
  for (const std::int64_t at : {std::int64_t{0}, count / 2, count - 1}) {
    x[static_cast<std::size_t>(at)] = 200;
    EXPECT_EQ(emulated(plan, data, data, count, Mode::fast), 200) << at;
    x[static_cast<std::size_t>(at)] = 1;
  }
}

TEST(Amax, LaunchesFillTheGpuAndNoMore) {
  const ElementType f32(Kind::f32);
  const auto blocks = [&](std::int64_t count) {
    return reducing(nullptr, f32, {count}, {4}).ready.launch.grid.count();
  };
  EXPECT_EQ(blocks(1), 1U);
  EXPECT_EQ(blocks(4096), 1U);
  EXPECT_EQ(blocks(4097), 2U);
  EXPECT_EQ(blocks(std::int64_t{1} << 40), 1024U);
}

TEST(Amax, InfinitiesNansAndDenormals) {
  const ElementType f32(Kind::f32);
  const auto of = [&](std::vector<float> x) {
    const auto* data = reinterpret_cast<const std::byte*>(x.data());
    const auto count = static_cast<std::int64_t>(x.size());
    expect_as_on_the_cpu(data, f32, {count}, {4});
    return emulated(reducing(data, f32, {count}, {4}), data, data, 4 * x.size());
  };
  std::vector<float> x(100, -0.0F);
  EXPECT_EQ(of(x), 0);
  x[57] = -0x1p-149F;
  EXPECT_EQ(of(x), 0x1p-149);
  x[3] = 0x1.8p-127F;
  EXPECT_EQ(of(x), 0x1.8p-127);
  x[99] = std::numeric_limits<float>::lowest();
  EXPECT_EQ(of(x), static_cast<double>(std::numeric_limits<float>::max()));
  x[0] = -infinity;
  EXPECT_EQ(of(x), static_cast<double>(infinity));
  x[42] = -nan_value;
  EXPECT_TRUE(std::isnan(of(x)));
}

TEST(Amax, MirroredAndRepeatedAxes) {
  std::vector<float> x(3 * 40);
  for (std::size_t i = 0; i < x.size(); ++i)
    x[i] = static_cast<float>(i % 7) - 60 + static_cast<float>(i);
  const auto* data = reinterpret_cast<const std::byte*>(x.data());
  const ElementType f32(Kind::f32);
  expect_as_on_the_cpu(data + 4 * 119, f32, {3, 40}, {-160, -4});
  expect_as_on_the_cpu(data + 4 * 39, f32, {40, 2}, {-4, 160});
  expect_as_on_the_cpu(data + 8, f32, {1000, 5, 7}, {0, 160 / 8, 0});
  expect_as_on_the_cpu(data + 8, f32, {1000}, {0});
  expect_as_on_the_cpu(data + 12, f32, {}, {});
  expect_as_on_the_cpu(data, f32, {50, 30}, {4, 8});  // windows that overlap
}

TEST(Amax, TooManyAxesAreRefused) {
  Extents shape, strides;  // no two axes are one
  for (std::int64_t i = 0; i < 41; ++i) {
    shape.push_back(2);
    strides.push_back(4000 + 4 * i);
  }
  try {
    plan_for(reduce_problem(ElementType(Kind::f32), shape, strides), {});
    FAIL() << "nothing was refused";
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), Status::unsupported);
    EXPECT_NE(std::string(error.what()).find("amax: more than 40 modes"), std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace cornerturn::simt
