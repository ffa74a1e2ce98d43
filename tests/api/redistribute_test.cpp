// The public function for the devices of one process, where the shards lie in host memory: beside a
// loop over all elements of the whole array.
#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "cornerturn/cornerturn.hpp"
#include "support/refusal.hpp"

namespace cornerturn {
namespace {

using test::refusal;
using Values = std::vector<std::int32_t>;

Values numbered(std::int64_t count) {
  Values values(static_cast<std::size_t>(count));
  std::iota(values.begin(), values.end(), 1);
  return values;
}

// A matrix of rows x columns, split by rows over `devices` equal parts.
std::vector<ConstView> rows_of(const Values& matrix, std::int64_t rows, std::int64_t columns,
                               std::int64_t devices) {
  std::vector<ConstView> parts;
  const std::int64_t each = rows / devices;
  for (std::int64_t k = 0; k < devices; ++k) {
    parts.push_back(view(matrix.data() + k * each * columns, {each, columns}));
  }
  return parts;
}

TEST(Redistribute, RowsBecomeRowsOfTheTransposedMatrix) {
  constexpr std::int64_t rows = 12, columns = 20, devices = 4;
  const Values matrix = numbered(rows * columns);
  Values result(matrix.size(), -1);
  std::vector<View> parts;
  for (std::int64_t k = 0; k < devices; ++k) {
    parts.push_back(view(result.data() + k * columns / devices * rows, {columns / devices, rows}));
  }
  redistribute(parts, rows_of(matrix, rows, columns, devices),
               {{rows, columns}, {devices}, "S0", "S0", {1, 0}});
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < columns; ++j) {
      ASSERT_EQ(result[static_cast<std::size_t>(j * rows + i)],
                matrix[static_cast<std::size_t>(i * columns + j)]);
    }
  }
}

TEST(Redistribute, BlockCyclicRowsIntoShardsWithAPitch) {
  constexpr std::int64_t rows = 10, columns = 6, devices = 3, block = 2, pitch = 9;
  const Values matrix = numbered(rows * columns);
  const std::vector<std::int64_t> held = {4, 4, 2};  // blocks 0 and 3, 1 and 4, 2
  std::vector<Values> memory;
  std::vector<View> parts;
  for (const std::int64_t n : held) memory.emplace_back(static_cast<std::size_t>(n * pitch), -1);
  for (std::size_t k = 0; k < held.size(); ++k) {
    parts.push_back(view(memory[k].data(), {held[k], columns}, {pitch, 1}));
  }
  std::vector<ConstView> src = {view(matrix.data(), {4, columns}),
                                view(matrix.data() + 4 * columns, {4, columns}),
                                view(matrix.data() + 8 * columns, {2, columns})};
  redistribute(parts, src, {{rows, columns}, {devices}, "S0", "S0:2"});
  for (std::int64_t k = 0; k < devices; ++k) {
    for (std::int64_t i = 0; i < held[static_cast<std::size_t>(k)]; ++i) {
      const std::int64_t row = (i / block * devices + k) * block + i % block;
      for (std::int64_t j = 0; j < pitch; ++j) {
        const std::int32_t value =
            memory[static_cast<std::size_t>(k)][static_cast<std::size_t>(i * pitch + j)];
        const auto place = static_cast<std::size_t>(row * columns + j);
        ASSERT_EQ(value, j < columns ? matrix[place] : -1);
      }
    }
  }
}

TEST(Redistribute, ValuesAreConverted) {
  constexpr std::int64_t rows = 12, columns = 20, devices = 2;
  const Values matrix = numbered(rows * columns);
  std::vector<double> result(matrix.size(), -1);
  std::vector<View> parts;
  for (std::int64_t k = 0; k < devices; ++k) {
    parts.push_back(view(result.data() + k * columns / devices * rows, {columns / devices, rows}));
  }
  const Resharding what{{rows, columns}, {devices}, "S0", "S0", {1, 0}};
  redistribute(parts, rows_of(matrix, rows, columns, devices), what);
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < columns; ++j) {
      ASSERT_EQ(result[static_cast<std::size_t>(j * rows + i)],
                matrix[static_cast<std::size_t>(i * columns + j)]);
    }
  }
  for (View& part : parts) part.type = ElementType::bytes(8);
  EXPECT_THROW(redistribute(parts, rows_of(matrix, rows, columns, devices), what), Error);
}

TEST(Redistribute, WrongCallsAreRefused) {
  const Values matrix = numbered(16);
  Values result(16);
  const auto src = rows_of(matrix, 4, 4, 2);
  const std::vector<View> dst = {view(result.data(), {2, 4}), view(result.data() + 8, {2, 4})};
  const Resharding what{{4, 4}, {2}, "S0", "S0", {1, 0}};
  const auto with = [&](const auto& change) {
    auto parts = dst;
    auto array = src;
    Resharding asked = what;
    ReshardingOptions options;
    change(parts, array, asked, options);
    return refusal([&] { redistribute(parts, array, asked, options); });
  };
  using Parts = std::vector<View>;
  using Array = std::vector<ConstView>;
  EXPECT_EQ(with([](Parts& parts, Array&, Resharding&, ReshardingOptions&) { parts.pop_back(); }),
            "dst has 1 shards, but mesh = (2) has 2 devices");
  EXPECT_EQ(with([](Parts&, Array&, Resharding&, ReshardingOptions& options) {
              options.streams.resize(3);
            }),
            "options.streams has 3 streams, but mesh = (2) has 2 devices");
  EXPECT_EQ(with([](Parts&, Array&, Resharding& asked, ReshardingOptions&) { asked.dst = "S2"; }),
            "dst[0] = S2: the axis is out of range for rank 2");
  EXPECT_EQ(with([](Parts&, Array&, Resharding&, ReshardingOptions& options) {
              options.route = "packed";
            }),
            "options.route = 'packed' is no route between GPUs of one host: use 'one pass' or "
            "'copy engines'");
  EXPECT_EQ(with([](Parts& parts, Array&, Resharding&, ReshardingOptions&) {
              parts[1].shape = {4, 2};
            }),
            "dst[1].shape = (4, 2), but its layout gives it (2, 4)");
  EXPECT_EQ(with([](Parts&, Array& array, Resharding&, ReshardingOptions&) {
              array[1].type = ElementType(Kind::f32);
            }),
            "src[1] has elements of f32, but src[0] of i32: all shards of an array have one type");
  EXPECT_EQ(with([](Parts& parts, Array&, Resharding&, ReshardingOptions&) {
              parts[1].data = parts[0].data;
            }),
            "dst[0] and dst[1] overlap in memory");
  EXPECT_EQ(with([&](Parts&, Array& array, Resharding&, ReshardingOptions&) {
              array[1].data = result.data() + 15;
            }),
            "dst[1] and src[1] overlap in memory");
  EXPECT_EQ(
      with([](Parts&, Array& array, Resharding&, ReshardingOptions&) { array[0].data = nullptr; }),
      "src[0] = null, but it has elements");
  EXPECT_EQ(result, Values(16));
}

}  // namespace
}  // namespace cornerturn
