// Every way in which the CPU converts values, on every vector target that this machine has, against
// the reference.
#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <numeric>
#include <vector>

#include "cpu/cpu_info.hpp"
#include "cpu/engine.hpp"
#include "cpu/targets.hpp"
#include "plan/planner.hpp"
#include "support/conversion.hpp"
#include "support/conversions.hpp"
#include "support/draws.hpp"

namespace cornerturn::test {
namespace {

#if defined(CORNERTURN_TSAN) || defined(CORNERTURN_ASAN)
constexpr int random_conversions = 4'000;
#else
constexpr int random_conversions = 30'000;
#endif

class Conversions : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { cpu::use_target(GetParam()); }
  void TearDown() override { cpu::use_target(""); }
};

INSTANTIATE_TEST_SUITE_P(Targets, Conversions, testing::ValuesIn(cpu::targets()),
                         [](const auto& target) { return target.param; });

TEST_P(Conversions, RandomProblems) {
  ConversionRunner runner;
  const auto targets = static_cast<int>(cpu::targets().size());
  cpu::use_target(GetParam());
  RandomProblems random(std::hash<std::string>()(GetParam()), {8, 4 << 10, true});
  RandomProblems larger(9 + std::hash<std::string>()(GetParam()), {4, 100 << 10, true});
  for (int i = 0; i < random_conversions / targets + 1; ++i) {
    RandomProblems& from = i % 20 == 0 ? larger : random;
    ConversionCase c = random_conversion(from);
    while (!runner.holds(c)) c = random_conversion(from);
    ASSERT_EQ(runner.run_all(c), "") << "problem " << i;
  }
}

TEST_P(Conversions, ManyThreadsDrawTheSameRandomBits) {
  ConversionRunner runner;
  RandomProblems random(12, {4, 200 << 10, true});
  for (int i = 0; i < test::draws(100); ++i) {
    ASSERT_EQ(runner.run_all(random_conversion(random), 4), "") << "problem " << i;
  }
}

// Whole vectors of moderate values take ways of their own; one among them that is too large, or
// none, does not show in random bits.
TEST_P(Conversions, ModerateValues) {
  constexpr std::int64_t count = 1003;
  std::vector<float> values(count);
  for (std::int64_t i = 0; i < count; ++i) {
    values[static_cast<std::size_t>(i)] = static_cast<float>(i * 7919 % 100003) / 16 - 3125;
  }
  values[300] = 4194303.5F;
  values[400] = -4194304.0F;
  values[500] = 3e9F;
  values[600] = std::numeric_limits<float>::quiet_NaN();
  for (const Kind kind : kinds()) {
    for (const Kind from : {Kind::f32, kind}) {
      const Kind to = from == kind ? Kind::f32 : kind;
      for (const Overflow overflow : {Overflow::standard, Overflow::saturate}) {
        Problem problem;
        problem.src_type = ElementType(from);
        problem.dst_type = ElementType(to);
        problem.values.overflow = overflow;
        problem.modes.push_back({count, problem.src_type.size(), problem.dst_type.size()});
        if (!can_convert(from, to) || !problem.converts()) continue;
        std::vector<std::byte> src(static_cast<std::size_t>(count * 16));
        fill_values(from, src.data(), count * problem.src_type.size());
        if (from == Kind::f32) std::memcpy(src.data(), values.data(), count * sizeof(float));
        std::vector<std::byte> dst(static_cast<std::size_t>(count * 16));
        std::vector<std::byte> expected = dst;
        reference_convert(problem, {}, src.data(), expected.data());
        cpu::execute(plan::make_plan(problem, cpu::machine(), {1, "convert"}),
                     {dst.data(), src.data()});
        EXPECT_EQ(dst, expected) << to_string(problem);
      }
    }
  }
}

TEST_P(Conversions, EveryValueBetweenSmallFloats) {
  std::vector<std::uint16_t> every(1 << 16);
  std::vector<std::uint8_t> every_byte(1 << 8);
  std::iota(every.begin(), every.end(), 0);
  std::iota(every_byte.begin(), every_byte.end(), 0);
  const Kind small[] = {Kind::f16, Kind::bf16, Kind::f8_e4m3, Kind::f8_e5m2};
  for (const Kind from : small) {
    const bool wide = ElementType(from).size() == 2;
    const auto* const values = wide ? reinterpret_cast<const std::byte*>(every.data())
                                    : reinterpret_cast<const std::byte*>(every_byte.data());
    const auto all = static_cast<std::int64_t>(wide ? every.size() : every_byte.size());
    for (const Kind to : small) {
      for (const Overflow overflow : {Overflow::standard, Overflow::saturate}) {
        for (const std::int64_t count : {all, all - 1, std::int64_t{3}}) {
          Problem problem;
          problem.src_type = ElementType(from);
          problem.dst_type = ElementType(to);
          problem.values.overflow = overflow;
          problem.modes.push_back({count, problem.src_type.size(), problem.dst_type.size()});
          if (!problem.converts()) continue;
          const std::byte* const src = values + (all - count) * problem.src_type.size();
          std::vector<std::byte> dst(static_cast<std::size_t>(count * 2));
          std::vector<std::byte> expected = dst;
          reference_convert(problem, {}, src, expected.data());
          cpu::execute(plan::make_plan(problem, cpu::machine(), {1, "convert"}), {dst.data(), src});
          EXPECT_EQ(dst, expected) << to_string(problem);
        }
      }
    }
  }
}

// Half-way between two results, and a little to either side: by way of f32, which cannot tell these
// apart, some would be rounded twice.
TEST_P(Conversions, DoublesBesideTies) {
  constexpr std::int64_t count = 1003;
  for (const int bits : {3, 4, 8, 11}) {  // of a mantissa, with the leading one
    std::vector<double> src;
    for (int i = 0; i < count; ++i) {
      const int least = 1 << (bits - 1);
      const double tie = (least + i % least) + 0.5;
      src.push_back(tie / least * (1 + (i / least % 3 - 1) * 0x1p-45));
    }
    for (const Kind to : {Kind::f16, Kind::bf16, Kind::f8_e4m3, Kind::f8_e5m2}) {
      Problem problem;
      problem.src_type = ElementType(Kind::f64);
      problem.dst_type = ElementType(to);
      problem.modes.push_back({count, problem.src_type.size(), problem.dst_type.size()});
      std::vector<std::byte> dst(static_cast<std::size_t>(count * 2));
      std::vector<std::byte> expected = dst;
      const auto* const from = reinterpret_cast<const std::byte*>(src.data());
      reference_convert(problem, {}, from, expected.data());
      cpu::execute(plan::make_plan(problem, cpu::machine(), {1, "convert"}), {dst.data(), from});
      EXPECT_EQ(dst, expected) << to_string(problem);
    }
  }
}

}  // namespace
}  // namespace cornerturn::test
