// Every rung of the ladder in the emulator: right, and clean in every detector.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "cornerturn/ggml.hpp"
#include "simt/support.hpp"
#include "support/matrix_shapes.hpp"
#include "workshop/rungs/cpy_transpose.hpp"
#include "workshop/rungs/registry.hpp"
#include "workshop/simt/emulator.hpp"

namespace cornerturn::simt {
namespace {

using test::MatrixShape;

template <class T, class Rung>
void check(Rung rung, std::int64_t rows, std::int64_t cols, Mode mode) {
  SCOPED_TRACE(std::string(rung.name) + ", " + std::to_string(sizeof(T)) + " B, " +
               std::to_string(rows) + " x " + std::to_string(cols));
  const std::vector<T> src = numbered<T>(rows * cols);
  std::vector<T> dst(src.size(), poison<T>);
  const auto args = ladder::matrix_args(src.data(), dst.data(), rows, cols);
  Emulator emulator;
  emulator.input("src", src.data(), src.size() * sizeof(T));
  emulator.output("dst", dst.data(), dst.size() * sizeof(T));
  emulator.launch(rung.name, mode, Rung::launch(args), [&](auto& ctx) { Rung::run(ctx, args); });
  expect_clean(emulator);
  EXPECT_TRUE(dst == (rung.transposes ? transposed(src, rows, cols) : src));
}

template <class T>
void check_all(const std::vector<MatrixShape>& list, Mode mode) {
  ladder::for_each_rung([&](auto rung) {
    if constexpr (decltype(rung)::template takes<T>) {
      for (const auto& [rows, cols] : list) check<T>(rung, rows, cols, mode);
    }
  });
}

TEST(Ladder, OneByte) {
  check_all<std::uint8_t>(test::matrix_shapes, Mode::recording);
}
TEST(Ladder, TwoBytes) {
  check_all<std::uint16_t>(test::matrix_shapes, Mode::recording);
}
TEST(Ladder, FourBytes) {
  check_all<std::uint32_t>(test::matrix_shapes, Mode::recording);
}
TEST(Ladder, EightBytes) {
  check_all<std::uint64_t>(test::matrix_shapes, Mode::recording);
}

TEST(Ladder, LargerMatrices) {
  check_all<std::uint32_t>({{512, 512}}, Mode::recording);
  check_all<std::uint32_t>({{301, 1030}}, Mode::fast);
}

template <class T>
void check_cpy_transpose(std::int64_t rows, std::int64_t cols, std::int64_t batch) {
  const std::vector<T> src = numbered<T>(rows * cols * batch);
  std::vector<T> dst(src.size(), poison<T>);
  const ladder::CpyTransposeArgs<T> args{src.data(), dst.data(), rows, cols, batch};
  Emulator emulator;
  emulator.input("src", src.data(), src.size() * sizeof(T));
  emulator.output("dst", dst.data(), dst.size() * sizeof(T));
  emulator.launch("cpy_transpose", Mode::recording, ladder::CpyTranspose::launch(args),
                  [&](auto& ctx) { ladder::CpyTranspose::run(ctx, args); });
  expect_clean(emulator);
  std::vector<T> expected;
  for (std::int64_t m = 0; m < batch; ++m) {
    const std::vector<T> matrix(src.begin() + m * rows * cols, src.begin() + (m + 1) * rows * cols);
    const std::vector<T> turned = transposed(matrix, rows, cols);
    expected.insert(expected.end(), turned.begin(), turned.end());
  }
  EXPECT_TRUE(dst == expected);
}

TEST(Ladder, CpyTransposeGoesThroughEightMatricesABlock) {
  check_cpy_transpose<std::uint8_t>(40, 33, 3);
  check_cpy_transpose<std::uint16_t>(31, 64, 9);
  check_cpy_transpose<std::uint32_t>(32, 32, 8);
  check_cpy_transpose<std::uint32_t>(65, 50, 17);
  check_cpy_transpose<std::uint32_t>(3, 4, 0);
}

template <class T>
ladder::CpyTensor packed(std::int64_t n0, std::int64_t n1, std::int64_t n2, std::int64_t n3) {
  constexpr auto bytes = static_cast<std::int64_t>(sizeof(T));
  return {{n0, n1, n2, n3}, {bytes, n0 * bytes, n0 * n1 * bytes, n0 * n1 * n2 * bytes}};
}

template <class T>
void check_cpy_flat(const ladder::CpyTensor& from, const ladder::CpyTensor& to) {
  const auto count = static_cast<std::size_t>(from.size());
  const std::vector<T> src = numbered<T>(from.size());
  std::vector<T> dst(count, poison<T>);
  const ladder::CpyFlatArgs<T> args{src.data(), dst.data(), from, to};
  Emulator emulator;
  emulator.input("src", src.data(), count * sizeof(T));
  emulator.output("dst", dst.data(), count * sizeof(T));
  emulator.launch("cpy_flat", Mode::recording, ladder::CpyFlat::launch(args),
                  [&](auto& ctx) { ladder::CpyFlat::run(ctx, args); });
  expect_clean(emulator);
  std::vector<T> expected(count);
  const auto step = [](const ladder::CpyTensor& t, std::int64_t(&at)[4]) {
    std::int64_t offset = 0;
    for (int d = 0; d < 4; ++d) offset += at[d] * t.nb[d];
    for (int d = 0; d < 4 && ++at[d] == t.ne[d]; ++d) at[d] = 0;
    return static_cast<std::size_t>(offset) / sizeof(T);
  };
  std::int64_t source[4] = {};
  std::int64_t destination[4] = {};
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t place = step(to, destination);
    expected[place] = src[step(from, source)];
  }
  EXPECT_TRUE(dst == expected);
}

TEST(Ladder, CpyFlatTakesAnyStridesOnBothSides) {
  using std::int64_t;
  check_cpy_flat<std::uint8_t>(packed<std::uint8_t>(5, 7, 3, 2), packed<std::uint8_t>(35, 6, 1, 1));
  // All four dimensions the other way round, and extents of the destination of its own.
  check_cpy_flat<std::uint16_t>({{4, 5, 6, 7}, {420, 84, 14, 2}},
                                packed<std::uint16_t>(20, 1, 2, 21));
  check_cpy_flat<std::uint32_t>({{6, 5, 4, 3}, {20, 4, 120, 480}},
                                {{9, 10, 4, 1}, {4, 144, 36, 0}});
  check_cpy_flat<std::uint32_t>(packed<std::uint32_t>(0, 5, 1, 1),
                                packed<std::uint32_t>(0, 1, 1, 1));
}

TEST(Ladder, CpyTransposeTakesWhatIsContiguousInTheSwappedOrder) {
  using T = std::uint16_t;
  T element = 0;
  const auto args = [&](const ladder::CpyTensor& from) {
    return ladder::as_transpose<T>(&element, &element, from);
  };
  // Five matrices of 6 x 4, each read down its columns.
  const auto stacked = args({{6, 4, 5, 1}, {8, 2, 48, 240}});
  ASSERT_TRUE(stacked);
  EXPECT_EQ(stacked->rows, 6);
  EXPECT_EQ(stacked->cols, 4);
  EXPECT_EQ(stacked->batch, 5);
  // Dimension 0 is the slowest: 4 and 5 become 20 columns.
  const auto fused = args({{6, 4, 5, 1}, {40, 2, 8, 240}});
  ASSERT_TRUE(fused);
  EXPECT_EQ(fused->rows, 6);
  EXPECT_EQ(fused->cols, 20);
  EXPECT_EQ(fused->batch, 1);
  EXPECT_TRUE(args({{6, 4, 1, 1}, {8, 2, 2, 0}}));       // one matrix: its stride says nothing
  EXPECT_FALSE(args({{6, 4, 5, 1}, {2, 12, 48, 240}}));  // not swapped
  EXPECT_FALSE(args({{6, 4, 5, 2}, {8, 2, 48, 240}}));   // a fourth dimension
  EXPECT_FALSE(args({{6, 4, 5, 1}, {10, 2, 60, 300}}));  // rows with gaps

  // Both mean what cpy_flat means.
  for (const ladder::CpyTensor& from : {ladder::CpyTensor{{33, 40, 9, 1}, {80, 2, 2640, 23760}},
                                        ladder::CpyTensor{{33, 40, 9, 1}, {720, 2, 80, 23760}}}) {
    const auto count = static_cast<std::size_t>(from.size());
    const std::vector<T> src = numbered<T>(from.size());
    std::vector<T> dst(count, poison<T>);
    const auto transpose = ladder::as_transpose<T>(src.data(), dst.data(), from);
    ASSERT_TRUE(transpose);
    Emulator emulator;
    emulator.input("src", src.data(), count * sizeof(T));
    emulator.output("dst", dst.data(), count * sizeof(T));
    emulator.launch("cpy_transpose", Mode::recording, ladder::CpyTranspose::launch(*transpose),
                    [&](auto& ctx) { ladder::CpyTranspose::run(ctx, *transpose); });
    expect_clean(emulator);
    for (std::size_t i = 0; i < count; ++i) {
      const auto at = static_cast<std::size_t>(from.at(static_cast<std::int64_t>(i))) / sizeof(T);
      ASSERT_EQ(dst[i], src[at]) << i;
    }
  }
}

// Types that ggml's copy converts into each other, by ggml's numbers.
template <class T>
constexpr GgmlType ggml_type = GgmlType::f32;
template <>
constexpr GgmlType ggml_type<values::F16> = GgmlType::f16;
template <>
constexpr GgmlType ggml_type<values::BF16> = GgmlType::bf16;
template <>
constexpr GgmlType ggml_type<std::int32_t> = GgmlType::i32;

/// Calls call.operator()<S, D>() with each pair of them.
template <class Call>
void for_each_conversion(const Call& call) {
  const auto to_each = [&]<class S>() {
    call.template operator()<S, float>();
    call.template operator()<S, values::F16>();
    call.template operator()<S, values::BF16>();
    call.template operator()<S, std::int32_t>();
  };
  to_each.template operator()<float>();
  to_each.template operator()<values::F16>();
  to_each.template operator()<values::BF16>();
  to_each.template operator()<std::int32_t>();
}

// Strides are those of `T`, where `t` has them in elements.
template <class T>
ladder::CpyTensor in_bytes(ladder::CpyTensor t) {
  for (std::int64_t& stride : t.nb) stride *= static_cast<std::int64_t>(sizeof(T));
  return t;
}

template <class T>
std::size_t elements_from_first_to_last(const ladder::CpyTensor& t) {
  return static_cast<std::size_t>(t.at(t.size() - 1)) / sizeof(T) + 1;
}

template <class T>
GgmlTensor ggml_tensor(const ladder::CpyTensor& t, const void* data) {
  GgmlTensor tensor{ggml_type<T>, {}, {}, const_cast<void*>(data)};
  for (int d = 0; d < 4; ++d) {
    tensor.ne[d] = t.ne[d];
    tensor.nb[d] = static_cast<std::size_t>(t.nb[d]);
  }
  return tensor;
}

// What the library makes of the same copy; `fill` where nothing is written.
template <class S, class D>
std::vector<kernels::Bits<D>> copied(const std::vector<kernels::Bits<S>>& src,
                                     const ladder::CpyTensor& from, const ladder::CpyTensor& to,
                                     kernels::Bits<D> fill) {
  std::vector<kernels::Bits<D>> dst(elements_from_first_to_last<D>(to), fill);
  ggml_cpy(ggml_tensor<D>(to, dst.data()), ggml_tensor<S>(from, src.data()));
  return dst;
}

// Some of all bits, some values of moderate size.
template <class S>
std::vector<kernels::Bits<S>> some_values(std::size_t count) {
  auto bits = numbered<kernels::Bits<S>>(static_cast<std::int64_t>(count));
  for (std::size_t i = 0; i < count; i += 2) {
    const float x = (static_cast<float>(i % 401) - 200) * 1.37F;
    bits[i] = values::bits_as<kernels::Bits<S>>(values::convert<S>(x, Overflow::standard));
  }
  return bits;
}

// Rows of the destination are outputs of their own: what lies between them must not be written.
template <class S, class D>
void check_converting_cpy_flat(const ladder::CpyTensor& from, const ladder::CpyTensor& to) {
  const auto src = some_values<S>(elements_from_first_to_last<S>(from));
  constexpr auto fill = static_cast<kernels::Bits<D>>(0xA5A5A5A5U);
  const auto expected = copied<S, D>(src, from, to, fill);
  std::vector<kernels::Bits<D>> dst(expected.size(), fill);
  const ladder::CpyFlatArgs<S, D> args{src.data(), dst.data(), from, to};
  Emulator emulator;
  emulator.input("src", src.data(), src.size() * sizeof(S));
  for (std::int64_t i = 0; i < to.size(); i += to.ne[0]) {
    emulator.output("row", args.destination(i), static_cast<std::size_t>(to.ne[0]) * sizeof(D));
  }
  emulator.launch("cpy_flat", Mode::recording, ladder::CpyFlat::launch(args),
                  [&](auto& ctx) { ladder::CpyFlat::run(ctx, args); });
  expect_clean(emulator);
  EXPECT_TRUE(dst == expected);
}

TEST(Ladder, CpyFlatConverts) {
  const ladder::CpyTensor turned{{9, 5, 4, 3}, {60, 1, 15, 5}};
  const ladder::CpyTensor with_gaps{{9, 5, 4, 3}, {1, 11, 57, 230}};
  const ladder::CpyTensor other_extents{{27, 10, 2, 1}, {1, 27, 270, 0}};
  for_each_conversion([&]<class S, class D>() {
    SCOPED_TRACE(std::to_string(static_cast<int>(ggml_type<S>)) + " to " +
                 std::to_string(static_cast<int>(ggml_type<D>)));
    check_converting_cpy_flat<S, D>(in_bytes<S>(turned), in_bytes<D>(with_gaps));
    check_converting_cpy_flat<S, D>(in_bytes<S>(turned), in_bytes<D>(other_extents));
  });
}

// Elements of any two types, stacked matrices and fused dimensions.
TEST(Ladder, CpyTransposeConverts) {
  const ladder::CpyTensor stacked{{33, 40, 9, 1}, {40, 1, 1320, 0}};
  const ladder::CpyTensor fused{{33, 40, 9, 1}, {360, 1, 40, 0}};
  const ladder::CpyTensor packed_one{{33, 40, 9, 1}, {1, 33, 1320, 0}};
  for_each_conversion([&]<class S, class D>() {
    SCOPED_TRACE(std::to_string(static_cast<int>(ggml_type<S>)) + " to " +
                 std::to_string(static_cast<int>(ggml_type<D>)));
    for (const ladder::CpyTensor& from : {in_bytes<S>(stacked), in_bytes<S>(fused)}) {
      const auto src = some_values<S>(elements_from_first_to_last<S>(from));
      const auto expected = copied<S, D>(src, from, in_bytes<D>(packed_one), 0);
      std::vector<kernels::Bits<D>> dst(expected.size());
      const auto args = ladder::as_transpose<S, D>(src.data(), dst.data(), from);
      ASSERT_TRUE(args);
      EXPECT_EQ(args->batch, from.nb[0] > from.nb[2] ? 1 : 9);
      Emulator emulator;
      emulator.input("src", src.data(), src.size() * sizeof(S));
      emulator.output("dst", dst.data(), dst.size() * sizeof(D));
      emulator.launch("cpy_transpose", Mode::recording, ladder::CpyTranspose::launch(*args),
                      [&](auto& ctx) { ladder::CpyTranspose::run(ctx, *args); });
      expect_clean(emulator);
      EXPECT_TRUE(dst == expected);
    }
  });
}

TEST(BlockOrder, EachTileIsTakenOnce) {
  for (const auto& [down, across] : std::vector<std::pair<std::uint32_t, std::uint32_t>>{
           {1, 1}, {4, 4}, {1, 9}, {7, 3}, {16, 5}, {9, 20}}) {
    ladder::for_each_rung([&, down = down, across = across](auto rung) {
      if constexpr (requires { rung.tile(0U, 1U, 1U); }) {
        std::vector<int> taken(std::size_t{down} * across);
        const auto count = static_cast<std::uint32_t>(rung.blocks(down, across));
        for (std::uint32_t block = 0; block < count; ++block) {
          const ladder::TileIndex at = rung.tile(block, down, across);
          if (at.row < down && at.col < across) ++taken[std::size_t{at.row} * across + at.col];
        }
        EXPECT_EQ(taken, std::vector<int>(taken.size(), 1)) << rung.name;
      }
    });
  }
}

TEST(BlockOrder, TheCurvesStepToNeighbours) {
  for (std::uint32_t n = 1; n < 1024; ++n) {
    const auto a = ladder::detail::hilbert(n - 1, 32);
    const auto b = ladder::detail::hilbert(n, 32);
    const std::uint32_t rows = a.row > b.row ? a.row - b.row : b.row - a.row;
    const std::uint32_t cols = a.col > b.col ? a.col - b.col : b.col - a.col;
    ASSERT_EQ(rows + cols, 1U) << n;
  }
  EXPECT_EQ(ladder::detail::morton(11), (ladder::TileIndex{3, 1}));
}

}  // namespace
}  // namespace cornerturn::simt
