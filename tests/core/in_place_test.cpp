// Permutations in place, carried out on small arrays and compared with the permutation written
// down.
#include "core/in_place.hpp"
#include "support/draws.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <random>

namespace cornerturn::in_place {
namespace {

using Bytes = std::vector<std::uint8_t>;

Bytes numbered(std::int64_t elements, std::int64_t element) {
  Bytes bytes(static_cast<std::size_t>(elements * element));
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const std::size_t index = i / static_cast<std::size_t>(element);
    const std::size_t byte = i % static_cast<std::size_t>(element);
    bytes[i] = static_cast<std::uint8_t>((index * 2654435761U + byte * 40503U) >> 7);
  }
  return bytes;
}

// The definition: element by element, into other memory.
Bytes permuted_copy(const Bytes& array, const Extents& shape, const std::vector<int>& perm,
                    std::int64_t element) {
  const int rank = static_cast<int>(shape.size());
  Extents strides(shape.size(), element);
  for (int i = rank - 2; i >= 0; --i) {
    strides[static_cast<std::size_t>(i)] =
        strides[static_cast<std::size_t>(i + 1)] * shape[static_cast<std::size_t>(i + 1)];
  }
  Bytes result(array.size());
  Extents index(shape.size(), 0);
  for (std::size_t at = 0; at < array.size(); at += static_cast<std::size_t>(element)) {
    std::int64_t from = 0;
    for (int i = 0; i < rank; ++i) {
      const auto axis = static_cast<std::size_t>(perm[static_cast<std::size_t>(i)]);
      from += index[static_cast<std::size_t>(i)] * strides[axis];
    }
    std::memcpy(&result[at], &array[static_cast<std::size_t>(from)],
                static_cast<std::size_t>(element));
    for (int i = rank - 1; i >= 0; --i) {
      const auto axis = static_cast<std::size_t>(perm[static_cast<std::size_t>(i)]);
      if (++index[static_cast<std::size_t>(i)] < shape[axis]) break;
      index[static_cast<std::size_t>(i)] = 0;
    }
  }
  return result;
}

// Does what passes say, within the array and a workspace that it counts.
class Machine {
 public:
  Machine(std::uint8_t* array, const Limits& limits) : array_(array), limits_(limits) {}

  void operator()(const SwapPass& p) {
    const std::int64_t n = p.extent;
    for (std::int64_t group = 0; group < p.groups; ++group) {
      for (std::int64_t i = 0; i < n; ++i) {
        for (std::int64_t k = 0; k < p.middle; ++k) {
          for (std::int64_t j = 0; j < i; ++j) {
            const auto at = [&](std::int64_t a, std::int64_t b) {
              return array_ + (((group * n + a) * p.middle + k) * n + b) * p.element;
            };
            std::swap_ranges(at(i, j), at(i, j) + p.element, at(j, i));
          }
        }
      }
    }
  }
  void operator()(const SavePass& p) {
    for (std::int64_t row = 0; row < p.rows; ++row) {
      const std::uint8_t* from = array_ + p.offset + row * p.pitch;
      saved_.insert(saved_.end(), from, from + p.run);
    }
  }
  void operator()(const PanelPass& p) {
    const std::int64_t bytes = p.rows * p.columns * p.element;
    for (std::int64_t i = 0; i < p.panels; ++i) {
      std::uint8_t* panel = array_ + i * bytes;
      const Bytes transposed =
          permuted_copy(Bytes(panel, panel + bytes), {p.rows, p.columns}, {1, 0}, p.element);
      std::copy(transposed.begin(), transposed.end(), panel);
    }
    use(bytes * limits_.workers);
  }
  void operator()(const RunPass& p) {
    const auto saved = static_cast<std::int64_t>(saved_.size());
    const Cuts cuts = cuts_of(p, limits_, saved);
    const std::int64_t part = part_of(p, limits_, saved);
    ASSERT_GT(part, 0);
    for (std::int64_t at = 0; at < p.run; at += part) {
      move_runs(RunMap(p.rows, p.columns), cuts, p.run, array_ + at, std::min(part, p.run - at));
    }
    use(Marks::words_for(p.rows * p.columns) * 8 + (cuts.size() + limits_.workers) * part);
  }
  void operator()(const MovePass& p) {
    for_each_row(p, [&](std::int64_t from, std::int64_t to, std::int64_t bytes) {
      std::memmove(array_ + to, array_ + from, static_cast<std::size_t>(bytes));
    });
  }
  void operator()(const RestorePass& p) {
    const Bytes rest = permuted_copy(saved_, {p.columns, p.rows}, {1, 0}, p.element);
    for (std::int64_t row = 0; row < p.rows; ++row) {
      std::memcpy(array_ + p.offset + row * p.pitch,
                  &rest[static_cast<std::size_t>(row * p.columns * p.element)],
                  static_cast<std::size_t>(p.columns * p.element));
    }
  }

  std::int64_t used() const { return used_; }

 private:
  // `bytes` of each run, in runs that are `pitch` apart.
  static void move_runs(const RunMap& map, const Cuts& cuts, std::int64_t pitch,
                        std::uint8_t* first, std::int64_t bytes) {
    const auto run = [&](std::int64_t k) { return first + k * pitch; };
    const auto size = static_cast<std::size_t>(bytes);
    std::vector<std::uint64_t> words(static_cast<std::size_t>(Marks::words_for(map.count())));
    const Marks marks(words);
    std::vector<Bytes> at_cuts;
    for (std::int64_t i = 0; i < cuts.size(); ++i) {
      at_cuts.emplace_back(run(cuts.run(i)), run(cuts.run(i)) + bytes);
    }
    for (std::int64_t i = cuts.size(); i-- > 0;) {  // in any order
      walk(
          map, cuts.run(i), [&](std::int64_t k) { return cuts.at(k); },
          [&](std::int64_t from, std::int64_t to) {
            marks.mark(to);
            const std::uint8_t* source =
                cuts.at(from) ? at_cuts[static_cast<std::size_t>(cuts.number(from))].data()
                              : run(from);
            std::memcpy(run(to), source, size);
          });
    }
    Bytes saved(size);
    for_each_cycle(map, words, [&](std::int64_t leader, std::int64_t) {
      std::memcpy(saved.data(), run(leader), size);
      walk(
          map, leader, [&](std::int64_t k) { return k == leader; },
          [&](std::int64_t from, std::int64_t to) {
            std::memcpy(run(to), from == leader ? saved.data() : run(from), size);
          });
    });
  }
  void use(std::int64_t bytes) {
    used_ = std::max(used_, bytes + static_cast<std::int64_t>(saved_.size()));
  }

  std::uint8_t* array_;
  const Limits& limits_;
  Bytes saved_;
  std::int64_t used_ = 0;
};

// The most workspace that was used.
std::int64_t carry_out(Bytes& array, const Decomposition& todo, const Limits& limits) {
  std::int64_t used = 0;
  for (const Way& way : todo.ways) {
    const Passes all = passes(way.step, way.factors);
    for (std::int64_t i = 0; i < all.batch; ++i) {
      Machine machine(array.data() + i * all.matrix_bytes, limits);
      for (const Pass& pass : all.passes) std::visit(machine, pass);
      used = std::max(used, machine.used());
    }
  }
  return used;
}

void expect_permuted(const Extents& shape, const std::vector<int>& perm, std::int64_t element,
                     const Limits& limits) {
  std::int64_t elements = 1;
  for (const std::int64_t extent : shape) elements *= extent;
  Bytes array = numbered(elements, element);
  const Bytes expected = permuted_copy(array, shape, perm, element);
  const Decomposition todo = decompose(shape, perm, element, limits);
  std::string steps;
  for (const Way& way : todo.ways) {
    for (const Pass& pass : passes(way.step, way.factors).passes) steps += to_string(pass) + "; ";
  }
  ASSERT_TRUE(todo.fits) << todo.workspace;
  EXPECT_LE(todo.workspace, limits.workspace) << steps;
  EXPECT_LE(carry_out(array, todo, limits), todo.workspace) << steps;
  EXPECT_EQ(array, expected) << steps;
}

constexpr Limits small{4096, 512, 16, 2};

std::string text_of(const Limits& limits) {
  return "workspace " + std::to_string(limits.workspace) + ", " + std::to_string(limits.workers) +
         " workers, parts of " + std::to_string(limits.part);
}

TEST(InPlace, MatricesOfEveryKind) {
  // Equal extents, a common divisor, primes, one row, one column, one side short, one side long.
  const std::pair<int, int> shapes[] = {{24, 24}, {96, 64}, {31, 37},  {101, 103}, {1, 50},
                                        {50, 1},  {3, 997}, {997, 3},  {2, 1024},  {5, 1000},
                                        {128, 2}, {61, 60}, {127, 128}};
  for (const auto& [m, n] : shapes) {
    for (const std::int64_t element : {1, 3, 4, 16}) {
      SCOPED_TRACE(testing::Message() << m << " x " << n << " of " << element);
      expect_permuted({m, n}, {1, 0}, element, small);
      expect_permuted({3, m, n}, {0, 2, 1}, element, small);
      expect_permuted({m, n, 5}, {1, 0, 2}, element, small);
    }
  }
}

TEST(InPlace, PermutationsOfAnyRank) {
  const Extents shape{3, 4, 2, 3, 4};
  std::vector<int> perm{0, 1, 2, 3, 4};
  do {
    SCOPED_TRACE(testing::PrintToString(perm));
    expect_permuted(shape, perm, 4, small);
  } while (std::next_permutation(perm.begin(), perm.end()));
  expect_permuted({2, 3, 2, 1, 3, 2, 2, 3, 2}, {8, 7, 6, 5, 4, 3, 2, 1, 0}, 2, small);
  expect_permuted({2, 3, 1, 4}, {2, 1, 3, 0}, 8, small);
}

TEST(InPlace, EqualExtentsAreSwappedInOnePass) {
  const Limits none{0, 512, 16};
  for (const auto& [shape, perm] :
       {std::pair<Extents, std::vector<int>>{{9, 9}, {1, 0}},
        {{5, 9, 9, 3}, {0, 2, 1, 3}},
        {{4, 6, 4}, {2, 1, 0}},
        {{2, 3, 5, 6}, {3, 2, 0, 1}}}) {  // 2 and 3 together change places with 6
    const Decomposition todo = decompose(shape, perm, 4, none);
    ASSERT_EQ(todo.ways.size(), 1U) << testing::PrintToString(shape);
    EXPECT_EQ(todo.ways[0].step.kind, Step::Kind::swap);
    EXPECT_EQ(todo.workspace, 0);
    EXPECT_EQ(todo.passes, 1);
    expect_permuted(shape, perm, 4, none);
  }
}

bool swaps(const Way& way) {
  const std::vector<Pass> list = passes(way.step, way.factors).passes;
  return std::any_of(list.begin(), list.end(),
                     [](const Pass& pass) { return std::holds_alternative<SwapPass>(pass); });
}

TEST(InPlace, StepsHaveWords) {
  EXPECT_EQ(to_string(Step{Step::Kind::swap, 2, 64, 64, 3, 4}), "swap 2 x [64][3][64] of 4 bytes");
  EXPECT_EQ(to_string(Step{Step::Kind::transpose, 8, 1000, 50, 1, 4}),
            "transpose 8 x [1000][50] of 4 bytes");
  EXPECT_EQ(to_string(Pass(SavePass{3, 5, 0, 8})), "save 15 bytes");
}

TEST(InPlace, SquaresWithinAMatrixAreSwapped) {
  Limits limits{512, 64, 64};  // panels are small and slow
  limits.squares = true;
  for (const auto& [shape, perm] : {std::pair<Extents, std::vector<int>>{{64, 16}, {1, 0}},
                                    {{16, 64}, {1, 0}},
                                    {{60, 40}, {1, 0}},
                                    {{3, 64, 16}, {0, 2, 1}},
                                    {{64, 16, 3}, {1, 0, 2}}}) {
    const Decomposition todo = decompose(shape, perm, 4, limits);
    EXPECT_TRUE(std::any_of(todo.ways.begin(), todo.ways.end(), [](const Way& way) {
      return swaps(way);
    })) << testing::PrintToString(shape);
    expect_permuted(shape, perm, 4, limits);
  }
  expect_permuted({63, 16}, {1, 0}, 4, limits);
  expect_permuted({16, 16}, {1, 0}, 4, limits);
}

TEST(InPlace, NothingMovesWhereTheOrderInMemoryStays) {
  EXPECT_TRUE(decompose({5, 1, 7}, {1, 0, 2}, 4, small).ways.empty());
  EXPECT_TRUE(decompose({1, 70}, {1, 0}, 4, small).ways.empty());
  EXPECT_TRUE(decompose({}, {}, 4, small).ways.empty());
}

TEST(InPlace, WhatDoesNotFitSaysWhichWorkspaceWould) {
  for (const auto& [m, n] : {std::pair{97, 101}, {96, 100}, {64, 1000}}) {
    Limits limits{64, 512, 16, 1};
    const Decomposition refused = decompose({m, n}, {1, 0}, 4, limits);
    EXPECT_FALSE(refused.fits);
    EXPECT_TRUE(refused.ways.empty());
    EXPECT_GT(refused.workspace, limits.workspace);
    limits.workspace = refused.workspace;
    expect_permuted({m, n}, {1, 0}, 4, limits);
  }
}

// What stays together may be longer than the workspace.
TEST(InPlace, LongRunsMoveInParts) {
  std::mt19937 random(1);
  const auto uniform = [&](int low, int high) {
    return std::uniform_int_distribution<int>(low, high)(random);
  };
  const std::pair<std::int64_t, std::int64_t> sizes[] = {{1024, 1}, {1024, 2}, {1024, 64},
                                                         {4096, 1}, {4096, 2}, {4096, 64}};
  for (const auto& [workspace, workers] : sizes) {
    for (int i = 0; i < test::draws(150); ++i) {
      Limits limits{workspace, 128, 16, workers, 16, uniform(0, 1) == 1};
      limits.part = std::int64_t{1} << uniform(0, 12);
      const std::int64_t element = uniform(0, 2) == 0 ? uniform(1, 8) : uniform(1, 3000);
      Extents shape;
      for (int axis = uniform(2, 5); axis > 0; --axis) shape.push_back(uniform(1, 5));
      std::vector<int> perm(shape.size());
      std::iota(perm.begin(), perm.end(), 0);
      std::shuffle(perm.begin(), perm.end(), random);
      SCOPED_TRACE(testing::Message()
                   << testing::PrintToString(shape) << " -> " << testing::PrintToString(perm)
                   << " of " << element << ", " << text_of(limits));
      expect_permuted(shape, perm, element, limits);
    }
  }
}

// Whole runs, where nobody asks for parts: then what fits depends on them.
TEST(InPlace, RunsStayWholeWhereNobodyAsksForParts) {
  const Limits limits{1 << 10, 128, 16, 2};
  EXPECT_FALSE(decompose({2, 3}, {1, 0}, 600, limits).fits);
  EXPECT_TRUE(decompose({2, 3}, {1, 0}, 500, limits).fits);
  EXPECT_EQ(part_of({2, 3, 600}, limits, 0), 600);
}

TEST(InPlace, PartsAreWholeLinesAndLeaveRoomForCuts) {
  Limits limits{64 << 10, 128, 16, 4, 64};
  limits.part = 4096;
  const std::int64_t marks = 8;
  EXPECT_EQ(part_of({2, 3, 4000}, limits, 0), 4000) << "a short run moves whole";
  EXPECT_EQ(part_of({2, 3, 5000}, limits, 0), 4096);
  const std::int64_t saved = 56 << 10;
  EXPECT_EQ(part_of({2, 3, 5000}, limits, saved), 960) << "two for each worker";
  EXPECT_EQ(part_of({2, 3, 2040}, limits, saved), 2040) << "one for each worker";
  EXPECT_EQ(part_of({2, 3, 100}, limits, limits.workspace - marks - 40), 5);
}

TEST(InPlace, LargeArraysStayWithinOnePerCent) {
  const std::pair<std::int64_t, std::int64_t> shapes[] = {
      {16384, 4096},   {8191, 8193},   {10'000'000, 5},   {10'000'019, 5},
      {3, 33'333'333}, {65537, 65539}, {300'000, 200'000}};
  for (const auto& [m, n] : shapes) {
    for (const std::int64_t element : {1, 4, 16}) {
      const Limits limits{usual_workspace(m * n * element), 256 << 10, 256, 2};
      const Decomposition todo = decompose({m, n}, {1, 0}, element, limits);
      ASSERT_TRUE(todo.fits) << m << " x " << n << " of " << element << ": " << todo.workspace;
      EXPECT_LE(todo.workspace, limits.workspace);
      EXPECT_LE(todo.passes, 4.5) << m << " x " << n << " of " << element;
    }
  }
}

// A square and a rest: one pass for the square, one for the rows, and no memory but for the rest.
TEST(InPlace, NearlySquareMatricesTakeTwoPasses) {
  for (const auto& [m, n] : {std::pair{97, 101}, {101, 97}, {64, 65}, {65, 64}}) {
    const std::int64_t rest = std::abs(m - n) * std::min(m, n) * 4;
    const Limits limits{rest + 2048, 64, 4096, 1};
    const Decomposition todo = decompose({m, n}, {1, 0}, 4, limits);
    ASSERT_EQ(todo.ways.size(), 1U);
    const std::vector<Pass> list = passes(todo.ways[0].step, todo.ways[0].factors).passes;
    EXPECT_TRUE(
        std::any_of(list.begin(), list.end(),
                    [](const Pass& pass) { return std::holds_alternative<SwapPass>(pass); }))
        << m << " x " << n;
    EXPECT_EQ(todo.workspace, rest) << m << " x " << n;
    EXPECT_EQ(todo.passes, 2) << m << " x " << n;
    expect_permuted({m, n}, {1, 0}, 4, limits);
    expect_permuted({3, m, n}, {0, 2, 1}, 4, limits);
  }
  expect_permuted({200, 99}, {1, 0}, 4, {1 << 11, 64, 4096, 1});
}

}  // namespace
}  // namespace cornerturn::in_place
