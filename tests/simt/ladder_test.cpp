// Every rung of the ladder in the emulator: right, and clean in every detector.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "kernels/ladder/cpy_transpose.hpp"
#include "kernels/ladder/registry.hpp"
#include "simt/emulator.hpp"
#include "simt/support.hpp"
#include "support/matrix_shapes.hpp"

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
