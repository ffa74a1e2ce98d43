// Permutations in place on every vector target, against the definition, between guard pages.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <vector>

#include "core/in_place.hpp"
#include "cornerturn/cornerturn.hpp"
#include "cpu/cpu_info.hpp"
#include "cpu/engine.hpp"
#include "cpu/targets.hpp"
#include "plan/cpu/cpu_files.hpp"
#include "plan/cpu/passes.hpp"
#include "plan/cpu/planned_passes.hpp"
#include "plan/cpu/swap.hpp"
#include "plan/plan.hpp"
#include "plan/planner.hpp"
#include "support/guarded_buffer.hpp"

namespace cornerturn {
namespace {

using test::GuardedBuffer;

std::vector<std::byte> noise(std::int64_t bytes) {
  std::mt19937 random(static_cast<unsigned>(bytes));
  std::vector<std::byte> data(static_cast<std::size_t>(bytes));
  for (std::byte& byte : data) byte = static_cast<std::byte>(random());
  return data;
}

std::string text_of(const View& array, const std::vector<int>& perm) {
  return testing::PrintToString(array.shape) + " -> " + testing::PrintToString(perm) + " of " +
         array.type.name();
}

// Bytes up to the end of the last element.
std::int64_t reach(const View& array) {
  std::int64_t end = array.type.size();
  for (std::size_t i = 0; i < array.shape.size(); ++i) {
    end += (array.shape[i] - 1) * array.strides[i];
  }
  return end;
}

// What the memory of `array` should hold afterwards, with the gaps as they are.
std::vector<std::byte> expected(const std::vector<std::byte>& before, const View& array,
                                const std::vector<int>& perm, const View& result) {
  std::vector<std::byte> after = before;
  const Extents from = permuted(array.strides, perm);
  Extents index(array.shape.size(), 0);
  std::int64_t count = 1;
  for (const std::int64_t extent : array.shape) count *= extent;
  for (std::int64_t n = 0; n < count; ++n) {
    std::int64_t src = 0, dst = 0;
    for (std::size_t i = 0; i < index.size(); ++i) {
      src += index[i] * from[i];
      dst += index[i] * result.strides[i];
    }
    std::memcpy(&after[static_cast<std::size_t>(dst)], &before[static_cast<std::size_t>(src)],
                static_cast<std::size_t>(array.type.size()));
    for (std::size_t i = index.size(); i-- > 0 && ++index[i] == result.shape[i];) index[i] = 0;
  }
  return after;
}

void expect_in_place(View array, const std::vector<int>& perm, const Options& options = {}) {
  SCOPED_TRACE(text_of(array, perm));
  const std::vector<std::byte> before = noise(reach(array));
  std::vector<std::byte> after;
  for (const auto touching : {GuardedBuffer::Touching::front, GuardedBuffer::Touching::back}) {
    GuardedBuffer buffer(before.size());
    array.data = buffer.place(before.size(), touching);
    std::memcpy(array.data, before.data(), before.size());
    const View result = permute_in_place(array, perm, options);
    EXPECT_EQ(result.data, array.data);
    EXPECT_EQ(result.shape, permuted(array.shape, perm));
    if (after.empty()) after = expected(before, array, perm, result);
    ASSERT_EQ(std::memcmp(array.data, after.data(), after.size()), 0);
  }
}

View bytes_view(int size, Extents shape) {
  return View(nullptr, ElementType::bytes(size), std::move(shape));
}

class InPlaceTargets : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    cpu::use_target(GetParam());
    forget_plans();  // those of a wider target
  }
  void TearDown() override { cpu::use_target(""); }
};

TEST_P(InPlaceTargets, SquareMatricesOfEverySize) {
  for (const int size : {1, 2, 4, 8, 16, 3, 12, 48, 256}) {
    for (const std::int64_t n : {2, 7, 16, 33, 64, 100, 129, 200}) {
      Options options;
      for (const char* kernel : {"swap", "passes"}) {
        options.kernel = kernel;
        expect_in_place(bytes_view(size, {n, n}), {1, 0}, options);
      }
    }
  }
  expect_in_place(bytes_view(1, {512, 512}), {1, 0});
  expect_in_place(bytes_view(4, {512, 512}), {1, 0});
}

TEST_P(InPlaceTargets, BatchesAndPairsOfEqualModes) {
  for (const char* kernel : {"swap", "passes"}) {
    Options options;
    options.kernel = kernel;
    for (const std::int64_t n : {2, 3, 4, 5, 6, 7, 8, 9, 15, 17, 70}) {
      expect_in_place(bytes_view(4, {40, n, n}), {0, 2, 1}, options);
    }
    expect_in_place(bytes_view(4, {300, 6, 6}), {0, 2, 1}, options);
  }
  expect_in_place(bytes_view(4, {66, 3, 66}), {2, 1, 0});
  expect_in_place(bytes_view(4, {40, 40, 3}), {1, 0, 2});
  expect_in_place(bytes_view(4, {24, 24, 24}), {1, 2, 0});
}

TEST_P(InPlaceTargets, GapsStayAsTheyAre) {
  const ElementType b4 = ElementType::bytes(4);
  expect_in_place(View(nullptr, b4, {50, 50}, {52 * 4, 4}), {1, 0});
  expect_in_place(View(nullptr, b4, {50, 50}, {600, 8}), {1, 0});
  expect_in_place(View(nullptr, b4, {3, 40, 40}, {10000, 44 * 4, 4}), {0, 2, 1});
  // Rows that are a power of two apart.
  expect_in_place(View(nullptr, b4, {150, 150}, {4096, 4}), {1, 0});
  expect_in_place(View(nullptr, ElementType::bytes(1), {530, 530}, {4096, 1}), {1, 0});
  expect_in_place(View(nullptr, b4, {80, 80}, {1 << 15, 4}), {1, 0});
  expect_in_place(View(nullptr, ElementType::bytes(1), {200, 200}, {1 << 14, 1}), {1, 0});
}

// More than a second-level cache holds, whatever the one here does: tiles are copied to the side,
// all at once. Rows begin with lines, or anywhere; where the first tile is larger, there may be one
// tile less, and one group.
TEST_P(InPlaceTargets, MatricesLargerThanACache) {
  plan::CpuInfo cpu = *cpu::machine().cpu();
  cpu.l2_bytes = 64 << 10;
  const std::pair<int, std::int64_t> squares[] = {{1, 1088}, {1, 1030}, {2, 800}, {2, 737},
                                                  {4, 528},  {4, 545},  {8, 400}, {8, 373},
                                                  {16, 272}, {16, 261}};
  for (const auto& [size, n] : squares) {
    for (const std::int64_t before_array : {0, 16, 48}) {
      View array = bytes_view(size, {n, n});
      SCOPED_TRACE(text_of(array, {1, 0}));
      const std::vector<std::byte> before = noise(reach(array));
      GuardedBuffer memory(before.size() + 64);
      std::byte* const last = memory.place(before.size(), GuardedBuffer::Touching::back);
      const auto phase = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(last) % 64);
      array.data = last - (phase - before_array + 64) % 64;
      std::memcpy(array.data, before.data(), before.size());
      const in_place::InPlaceProblem todo = in_place::problem_in_place(array, std::vector{1, 0});
      const plan::Plan plan = plan::make_plan(todo.problem, cpu, {2, "swap"});
      ASSERT_TRUE(plan.chosen.config.as<plan::SwapConfig>().staged);
      cpu::execute(plan, {array.data, array.data});
      EXPECT_TRUE(std::memcmp(array.data, expected(before, array, {1, 0}, todo.result).data(),
                              before.size()) == 0);
    }
  }
  expect_in_place(bytes_view(4, {7, 200, 200}), {0, 2, 1});
  expect_in_place(bytes_view(4, {40, 100, 100}), {0, 2, 1});
}

INSTANTIATE_TEST_SUITE_P(All, InPlaceTargets, testing::ValuesIn(cpu::targets()),
                         [](const auto& target) { return target.param; });

TEST(InPlaceOnCpu, MatricesByPasses) {
  // Arrays of some MB, so that a panel does not hold all; with factors and without.
  const std::pair<std::int64_t, std::int64_t> shapes[] = {{1024, 700},  {1009, 1013}, {5, 300'000},
                                                          {300'007, 4}, {64, 16384},  {2048, 512},
                                                          {600, 800},   {3000, 2},    {1, 100}};
  for (const auto& [m, n] : shapes) {
    for (const int threads : {1, 2}) {
      Options options;
      options.threads = threads;
      expect_in_place(bytes_view(4, {m, n}), {1, 0}, options);
    }
  }
  expect_in_place(bytes_view(3, {1009, 1013}), {1, 0});
  expect_in_place(bytes_view(1, {1999, 1000}), {1, 0});
  expect_in_place(bytes_view(256, {61, 103}), {1, 0});
  expect_in_place(bytes_view(4, {3, 700, 600}), {0, 2, 1});
}

// The workspace holds nothing whole of what stays together.
TEST(InPlaceOnCpu, LargePlanesChangePlaces) {
  for (const int threads : {1, 2}) {
    Options options;
    options.threads = threads;
    expect_in_place(bytes_view(4, {4, 3, 400, 400}), {1, 0, 2, 3}, options);
    expect_in_place(bytes_view(1, {2, 3, 1'057'485}), {1, 0, 2}, options);
  }
}

TEST(InPlaceOnCpu, PermutationsOfAnyRankAndOrderInMemory) {
  std::vector<int> perm{0, 1, 2, 3};
  do {
    expect_in_place(bytes_view(2, {12, 30, 7, 30}), perm);
  } while (std::next_permutation(perm.begin(), perm.end()));
  // Axis 0 is the fastest: the transpose is packed already, so nothing moves.
  const View columns(nullptr, ElementType::bytes(2), {30, 40}, {2, 60});
  expect_in_place(columns, {0, 1});
  EXPECT_EQ(plan_in_place(columns, {1, 0}).impl().normal.rank(), 1);
}

TEST(InPlaceOnCpu, PlansSayTheirPassesAndTheirWorkspace) {
  const ElementType f32(Kind::f32);
  const Plan square = plan_in_place(View(nullptr, f32, {4096, 4096}), {1, 0});
  EXPECT_EQ(square.kernel(), "swap");
  EXPECT_NE(square.explain().find("workspace   none"), std::string::npos) << square.explain();
  const Plan plan = plan_in_place(View(nullptr, f32, {10007, 9973}), {1, 0});
  EXPECT_EQ(plan.kernel(), "passes");
  const std::string text = plan.explain();
  EXPECT_NE(text.find("step 1      transpose 1 x [10007][9973] of 4 bytes"), std::string::npos)
      << text;
  const auto& config = plan.impl().chosen.config.as<plan::PassesConfig>();
  EXPECT_GT(config.planned->workspace, 0);
  EXPECT_LE(config.planned->workspace, 10007 * 9973 * 4 / 100);
  // Squares of 4096 by 4096, then whole rows.
  const std::string squares = plan_in_place(View(nullptr, f32, {16384, 4096}), {1, 0}).explain();
  EXPECT_NE(squares.find("swap 4 x [4096]"), std::string::npos) << squares;
  EXPECT_NE(squares.find("4 x 4096 runs of 16384 bytes"), std::string::npos) << squares;
}

std::string refusal_of(const View& array, std::span<const int> perm, const Options& options = {}) {
  try {
    permute_in_place(array, perm, options);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(InPlaceOnCpu, BadInputIsRefusedBeforeAnythingIsWritten) {
  const ElementType b4 = ElementType::bytes(4);
  std::vector<std::byte> data = noise(4000);
  const std::vector<std::byte> before = data;
  const std::vector<int> swap{1, 0};
  const std::pair<View, const char*> cases[] = {
      {View(data.data(), b4, {10, 5}, {24, 4}), "only where its shape stays the same"},
      {View(data.data(), b4, {10, 10}, {4, 4}), "must not share a byte"},
      {View(data.data(), b4, {10, 10}, {0, 4}), "repeated element"},
      {View(data.data() + 40, b4, {10, 10}, {40, -4}), "no stride may be negative"},
      {View(data.data(), b4, {10, -1}, {40, 4}), "array.shape[1] = -1 is negative"},
      {View(nullptr, b4, {10, 10}), "array = null"}};
  for (const auto& [array, rule] : cases) {
    EXPECT_NE(refusal_of(array, swap).find(rule), std::string::npos) << refusal_of(array, swap);
  }
  const View cube(data.data(), b4, {5, 5, 5}, {200, 40, 4});
  EXPECT_NE(refusal_of(cube, std::vector<int>{1, 2, 0}).find("only pairs of equal axes"),
            std::string::npos);
  EXPECT_NE(refusal_of(View(data.data(), b4, {10, 10}), std::vector<int>{1, 1}), "");
  Options forced;
  forced.kernel = "swap";
  EXPECT_NE(refusal_of(View(data.data(), b4, {10, 12}), swap, forced).find("not one exchange"),
            std::string::npos);
  EXPECT_EQ(data, before);
  EXPECT_THROW(transpose_in_place(data.data(), -1, 4, b4), Error);
}

// Plans for other processors than the one that is here are run here.
std::vector<plan::CpuInfo> processors() {
  std::vector<plan::CpuInfo> all;
  std::vector<std::shared_ptr<const plan::CpuCosts>> costs = {plan::standard_cpu_costs()};
  for (const plan::CpuFile& file : plan::known_cpus()) costs.push_back(file.costs);
  for (const auto& some : costs) {
    for (const char* isa : {"AVX3_DL", "AVX2", "SCALAR"}) {
      for (const std::int64_t l2 : {64 << 10, 512 << 10, 2 << 20}) {
        plan::CpuInfo cpu = *cpu::machine().cpu();
        cpu.costs = some;
        cpu.isa = isa;
        cpu.l1_bytes = 48 << 10;
        cpu.l2_bytes = l2;
        cpu.cores = l2 == 64 << 10 ? 1 : 16;
        all.push_back(cpu);
      }
    }
  }
  return all;
}

TEST(InPlaceOnCpu, PlansOfOtherProcessors) {
  // The last of these has several groups of panels, and fewer panels in the last group.
  const std::pair<Extents, std::vector<int>> arrays[] = {{{300, 6, 6}, {0, 2, 1}},
                                                         {{5, 70, 70}, {0, 2, 1}},
                                                         {{66, 3, 66}, {2, 1, 0}},
                                                         {{301, 203}, {1, 0}},
                                                         {{1000, 7, 6}, {0, 2, 1}}};
  constexpr std::size_t behind = 64 << 10;  // bytes that stay as they are
  for (const auto& [shape, perm] : arrays) {
    for (const plan::CpuInfo& cpu : processors()) {
      View array = bytes_view(4, shape);
      const std::vector<std::byte> before = noise(reach(array));
      std::vector<std::byte> data = before;
      data.resize(before.size() + behind, std::byte{0x5A});
      array.data = data.data();
      const in_place::InPlaceProblem todo = in_place::problem_in_place(array, perm);
      const plan::Plan plan = plan::make_plan(todo.problem, cpu, {cpu.cores, ""});
      cpu::execute(plan, {array.data, array.data});
      std::vector<std::byte> after = expected(before, array, perm, todo.result);
      after.resize(data.size(), std::byte{0x5A});
      EXPECT_TRUE(data == after) << text_of(array, perm) << " on " << cpu.isa << ", "
                                 << cpu.l2_bytes << " bytes: " << explain(plan);
    }
  }
}

TEST(InPlaceOnCpu, EmptyArraysAndThoseThatStay) {
  EXPECT_EQ(permute_in_place(bytes_view(4, {0, 7}), {1, 0}).shape, (Extents{7, 0}));
  expect_in_place(bytes_view(4, {6, 7}), {0, 1});
  expect_in_place(bytes_view(4, {1, 7}), {1, 0});
  expect_in_place(bytes_view(4, {}), {});
}

}  // namespace
}  // namespace cornerturn
