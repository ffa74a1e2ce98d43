// Arrays that take turns in one destination: every element comes to its place, and no byte beside
// the destination changes.
#include "cpu/interleave.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "cornerturn/element_type.hpp"
#include "cpu/interleave_vector.hpp"
#include "cpu/targets.hpp"
#include "support/draws.hpp"

namespace cornerturn::cpu {
namespace {

constexpr std::size_t room = 64;
constexpr auto untouched = std::byte{0xA5};

struct Case {
  int arrays;
  std::int64_t rows;
  std::int64_t row;
  int width;
};

// Arrays of their own memory, so that sanitizers see reads beyond any of them.
std::vector<std::vector<std::byte>> arrays_of(const Case& of) {
  std::vector<std::vector<std::byte>> arrays(static_cast<std::size_t>(of.arrays));
  std::uint32_t number = 1;
  for (auto& array : arrays) {
    array.resize(static_cast<std::size_t>(of.rows * of.row * of.width));
    for (std::byte& byte : array) byte = static_cast<std::byte>((number += 2654435769) >> 24);
  }
  return arrays;
}

template <class Work>
void expect_interleaved_by(const Work& work, const Case& of, std::size_t phase) {
  const auto arrays = arrays_of(of);
  const auto a_row = static_cast<std::size_t>(of.row * of.width);
  std::vector<std::byte> expected;
  expected.reserve(arrays.size() * arrays.front().size());
  for (std::size_t r = 0; r < static_cast<std::size_t>(of.rows); ++r) {
    for (const auto& array : arrays) {
      const std::byte* const from = array.data() + r * a_row;
      expected.insert(expected.end(), from, from + a_row);
    }
  }
  std::vector<const void*> pointers;
  for (const auto& array : arrays) pointers.push_back(array.data());
  std::vector<std::byte> memory(expected.size() + 2 * room + phase, untouched);
  std::byte* const to = memory.data() + room + phase;

  work(to, pointers);

  const auto text = [&] {
    return testing::Message() << of.arrays << " arrays of " << of.rows << " x " << of.row << ", "
                              << of.width << " B, phase " << phase;
  };
  EXPECT_EQ(std::memcmp(to, expected.data(), expected.size()), 0) << text();
  for (std::size_t i = 0; i < room; ++i) {
    ASSERT_EQ(*(to - 1 - i), untouched) << text();
    ASSERT_EQ(to[expected.size() + i], untouched) << text();
  }
}

void expect_interleaved(const Case& of, int threads, std::size_t phase = 0) {
  expect_interleaved_by(
      [&](std::byte* to, const std::vector<const void*>& pointers) {
        interleave(to, {pointers, of.rows, of.row, ElementType::bytes(of.width)}, threads);
      },
      of, phase);
}

// As above, by the vectors alone: what large arrays get.
void expect_past_caches(int arrays, std::int64_t rows, std::size_t phase) {
  for (const int width : {1, 2, 4, 8}) {
    expect_interleaved_by(
        [&](std::byte* to, const std::vector<const void*>& pointers) {
          interleave_in_vectors(to, pointers, width, 0, rows / 3, true);
          interleave_in_vectors(to, pointers, width, rows / 3, rows, true);
        },
        {arrays, rows, 1, width}, phase);
  }
}

class Interleave : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { use_target(GetParam()); }
  void TearDown() override { use_target(""); }
};

INSTANTIATE_TEST_SUITE_P(Targets, Interleave, testing::ValuesIn(targets()),
                         [](const auto& target) { return target.param; });

TEST_P(Interleave, FewArraysOfEveryWidth) {
  for (const int width : {1, 2, 3, 4, 8, 12, 16}) {
    for (const int arrays : {1, 2, 3, 4, 5, 8, 64}) {
      for (const std::int64_t rows : {1, 2, 63, 64, 1000, 8193}) {
        expect_interleaved({arrays, rows, 1, width}, 1);
      }
    }
  }
}

TEST_P(Interleave, RowsOfSeveralElements) {
  for (const std::int64_t row : {2, 3, 7, 16, 61}) {
    for (const int arrays : {2, 3, 17}) expect_interleaved({arrays, 5000, row, 2}, 1);
  }
}

TEST_P(Interleave, AnyPlaceOfTheDestination) {
  for (std::size_t phase = 0; phase < room; ++phase) {
    expect_interleaved({3, 5011, 1, 1}, 1, phase);
    for (const int arrays : {2, 3, 4}) expect_past_caches(arrays, 1500, phase);
  }
}

TEST_P(Interleave, MoreArraysThanTheCacheHoldsRunsOf) {
  expect_interleaved({3000, 130, 1, 4}, 1);
}

TEST_P(Interleave, LongRows) {
  expect_interleaved({3, 5, 100'000, 4}, 2);
}

TEST_P(Interleave, LargeOnSeveralThreads) {
  for (const int threads : {0, 1, 2, 5}) {
    expect_interleaved({3, test::draws(5'000'001), 1, 1}, threads);
    expect_interleaved({2, test::draws(1'500'001), 1, 8}, threads);
  }
}

TEST_P(Interleave, Nothing) {
  interleave(nullptr, {}, 1);
  const void* const arrays[] = {nullptr, nullptr};
  interleave(nullptr, {arrays, 0, 5, ElementType::bytes(4)}, 1);
  interleave(nullptr, {arrays, 5, 0, ElementType::bytes(4)}, 1);
}

}  // namespace
}  // namespace cornerturn::cpu
