// The kernels of the GPU engine that change values, in the emulator: the bits of all elements
// compared with the obvious implementation's, every element written exactly once.
#include <algorithm>
#include <cstring>

#include "core/validate.hpp"
#include "plan/gpu/device_files.hpp"
#include "plan/planner.hpp"
#include "support.hpp"
#include "support/conversions.hpp"
#include "workshop/simt/execute.hpp"

namespace cornerturn::simt {
namespace {

using plan::Candidate;
using plan::Plan;

constexpr std::size_t numbers = 17000;  // of a vector

// What a plan is told of when it runs.

// The bytes of the destination as they have to become.
void expect_into(std::byte* dst, const Problem& normal, const Vectors& vectors,
                 const LateFactor* late, const std::byte* src) {
  if (late == nullptr) return test::reference_convert(normal, vectors, src, dst);
  static constexpr float one = 1;
  Problem problem = normal;
  problem.values.alpha = late->alpha;
  problem.scale.present = true;
  problem.bias.present = late->addend != 0;
  test::reference_convert(problem, {&one, &late->addend}, src, dst);
}

// All candidates; answers how many there were, or how many of one kernel. Phases in elements.
int check(const Problem& problem, int src_phase = 0, int dst_phase = 0, const Vectors& vectors = {},
          const LateFactor* late = nullptr, std::string_view kernel = {}) {
  if (problem.elements() == 0 || !problem.converts()) return 0;
  Side src(src_reach(problem), src_phase * problem.src_type.size());
  Side dst(dst_reach(problem), dst_phase * problem.dst_type.size());
  test::fill_values(problem.src_type.kind(), src.first, src.bytes);
  Plan plan = plan::make_plan(problem, plan::gpu::device_named("h200"),
                              {1, "", {true, alignment_of(src.zero), alignment_of(dst.zero)}});
  std::vector<std::byte> before(static_cast<std::size_t>(dst.bytes));
  test::fill_values(problem.dst_type.kind(), before.data(), dst.bytes, 99);
  std::vector<std::byte> expected = before;
  expect_into(expected.data() + (dst.zero - dst.first), plan.normal, vectors, late, src.zero);
  Emulator emulator;
  emulator.input("src", src.first, static_cast<std::size_t>(src.bytes));
  emulator.output("dst", dst.first, static_cast<std::size_t>(dst.bytes));
  for (const auto& [vector, data] :
       {std::pair{problem.scale, vectors.scale}, std::pair{problem.bias, vectors.bias}}) {
    if (vector.present) emulator.input("vector", data, numbers * sizeof(float));
  }
  const bool reads_old = problem.values.beta != 0;
  const bool packed = problem.bytes() == dst.bytes;
  for (const Candidate& candidate : plan.candidates) {
    SCOPED_TRACE(std::string(candidate.row->name) + ": " + describe(candidate, plan.normal) + "; " +
                 to_string(problem) + " phases " + std::to_string(src_phase) + ", " +
                 std::to_string(dst_phase));
    plan.choose(candidate, plan::Choice::forced);
    std::memcpy(dst.first, before.data(), before.size());
    Buffers buffers{dst.zero, src.zero, vectors};
    if (late != nullptr) buffers.late = *late;
    execute(emulator, plan, buffers, Mode::recording);
    for (const Finding& finding : emulator.findings()) {
      if (!packed && finding.kind == FindingKind::never_written) continue;
      if (reads_old && finding.kind == FindingKind::unwritten_read) continue;
      ADD_FAILURE() << finding.message();
    }
    const auto wrong = std::mismatch(expected.begin(), expected.end(), dst.first).first;
    if (wrong != expected.end()) {
      ADD_FAILURE() << "differs first at byte " << wrong - expected.begin() << " of "
                    << expected.size();
    }
    if (testing::Test::HasFailure()) break;
  }
  return static_cast<int>(
      std::count_if(plan.candidates.begin(), plan.candidates.end(),
                    [&](const Candidate& c) { return kernel.empty() || c.row->name == kernel; }));
}

constexpr std::pair<Kind, Kind> common_pairs[] = {
    {Kind::f32, Kind::f16},     {Kind::f32, Kind::bf16},     {Kind::f32, Kind::f8_e4m3},
    {Kind::f32, Kind::f8_e5m2}, {Kind::bf16, Kind::f8_e4m3}, {Kind::bf16, Kind::f8_e5m2},
    {Kind::f16, Kind::f32},     {Kind::bf16, Kind::f32},     {Kind::u8, Kind::f32},
};

// Those that a pair of types has kernels of its own for, and some that it has not.
TEST(Convert, SharedShapes) {
  const std::pair<Kind, Kind> pairs[] = {
      {Kind::f32, Kind::f16},  {Kind::f32, Kind::f8_e4m3}, {Kind::bf16, Kind::f32},
      {Kind::u8, Kind::f32},   {Kind::f16, Kind::bf16},    {Kind::f64, Kind::f32},
      {Kind::f32, Kind::f64},  {Kind::i32, Kind::i16},     {Kind::i64, Kind::u8},
      {Kind::c64, Kind::c128}, {Kind::f8_e5m2, Kind::f16}, {Kind::boolean, Kind::i64},
  };
  int runs = 0, turn = 0;
  for (const test::Shape& shape : test::shapes()) {
    for (const auto& [from, to] : pairs) {
      Problem problem = test::converting(shape, from, to);
      if (problem.elements() > 12'000) continue;
      if (turn % 3 == 1) problem.values.alpha = 0.37;
      if (turn % 3 == 2) problem.values.overflow = Overflow::saturate;
      runs += check(problem);
      runs += check(problem, turn % 2, 1 - turn % 2);
      ++turn;
      if (HasFailure()) FAIL() << shape.name;
    }
  }
  EXPECT_GT(runs, 2000);
}

// Tiles and boxes of more than a block, whose last are not whole.
TEST(Convert, Matrices) {
  for (const auto& [from, to] : {std::pair{Kind::f32, Kind::f16},
                                 {Kind::f32, Kind::f8_e5m2},
                                 {Kind::bf16, Kind::f32},
                                 {Kind::f8_e4m3, Kind::f32},
                                 {Kind::bf16, Kind::f8_e4m3},
                                 {Kind::f64, Kind::f32}}) {
    for (const auto& [rows, columns] : {std::pair{272, 144}, {160, 304}, {257, 129}}) {
      check(test::converting({"", {columns, rows}, {1, 0}}, from, to));
    }
    if (HasFailure()) FAIL();
  }
}

// Boxes whose runs end with a vector, as they would be too large if they ended with a sector.
TEST(Convert, BoxesOfWholeVectors) {
  const Problem problem = test::converting({"", {64, 17, 33}, {0, 2, 1}}, Kind::f32, Kind::f8_e4m3);
  const Plan plan = plan::make_plan(problem, plan::gpu::device_named("h200"));
  const auto is_one = [&](const Candidate& c) {
    return describe(c, plan.normal).find("runs of 35904 and 8976 B, f32") != std::string::npos;
  };
  EXPECT_TRUE(std::any_of(plan.candidates.begin(), plan.candidates.end(), is_one));
  EXPECT_GT(check(problem), 1);
}

// Rows that begin at multiples of 16 bytes and end within a vector.
TEST(Convert, EndsOfAlignedRuns) {
  int boxes = 0;
  for (const auto& [from, to] : common_pairs) {
    Problem problem;
    problem.src_type = ElementType(from);
    problem.dst_type = ElementType(to);
    const std::int64_t size = problem.dst_type.size(), V = 16 / size;
    for (const std::int64_t extent : {V + 1, V + V / 2 + 1, 3 * V - 1}) {
      problem.modes = {{48, problem.src_type.size(), (extent * size + 15) / 16 * 16},
                       {extent, 48 * problem.src_type.size(), size}};
      boxes += check(problem, 0, 0, {}, nullptr, "pack");
    }
    if (HasFailure()) FAIL();
  }
  EXPECT_GT(boxes, 0);
}

// Structures to planes: chunks of warps, their last ones cut, begin anywhere.
TEST(Convert, Structures) {
  int turn = 0;
  for (const auto& [from, to] : common_pairs) {
    for (const int length : {2, 3, 4, 8}) {
      for (const int count : {64, 1031, 2000}) {
        Problem problem = test::converting({"", {length, count}, {1, 0}}, from, to);
        if (turn++ % 3 == 0) problem.values.alpha = 0.37;
        const int taken = check(problem, 0, 0, {}, nullptr, "structures");
        EXPECT_EQ(taken, count == 1031 ? 0 : 1) << problem.src_type.name() << " " << length;
        check(test::converting({"", {3, length, 80}, {0, 2, 1}}, from, to), turn % 5, 0);
        if (HasFailure()) FAIL();
      }
    }
  }
}

// Rows that begin anywhere, of all pairs of types that skew takes.
TEST(Convert, OddMatrices) {
  int turn = 0;
  for (const auto& [from, to] : common_pairs) {
    for (const auto& [rows, columns] : {std::pair{301, 67}, {70, 333}, {131, 259}}) {
      Problem problem = test::converting({"", {columns, rows}, {1, 0}}, from, to);
      if (turn++ % 2 == 0) problem.values.overflow = Overflow::saturate;
      EXPECT_GT(check(problem, turn % 3, turn % 7, {}, nullptr, "skew"), 0);
      EXPECT_GT(check(test::converting({"", {2, columns, 5, 13}, {0, 3, 2, 1}}, from, to), 0,
                      turn % 5, {}, nullptr, "skew"),
                0);
      if (HasFailure()) FAIL();
    }
  }
}

// All pairs that kernels are compiled for: long rows, and matrices whose sides are two modes
// each.
TEST(Convert, RowsAndGroupsOfModes) {
  const Kind kinds[] = {Kind::f32,     Kind::f16,     Kind::bf16, Kind::f64,
                        Kind::f8_e4m3, Kind::f8_e5m2, Kind::i8,   Kind::u8};
  for (const Kind from : kinds) {
    for (const Kind to : kinds) {
      if (from == to) continue;
      Problem rows = test::converting({"", {2, 16640}, {0, 1}}, from, to);
      rows.modes[0].dst_stride += 16 * rows.dst_type.size();
      Problem matrix = test::converting({"", {32, 48}, {1, 0}}, from, to);
      Problem groups = test::converting({"", {2, 16, 16, 2}, {3, 2, 1, 0}}, from, to);
      for (const double alpha : {1.0, 0.37}) {
        for (Problem* problem : {&rows, &matrix, &groups}) {
          problem->values.alpha = alpha;
          EXPECT_GT(check(*problem), 0);
        }
      }
      if (HasFailure()) FAIL() << static_cast<int>(from) << " to " << static_cast<int>(to);
    }
  }
}

TEST(Convert, EveryPairOfTypes) {
  Problem same = test::converting({"", {9, 5, 32}, {2, 0, 1}}, Kind::c128, Kind::c128);
  same.values.alpha = 0.5;
  EXPECT_GT(check(same), 0);
  for (const Kind from : test::kinds()) {
    for (const Kind to : test::kinds()) {
      if (!test::can_convert(from, to) || from == to) continue;
      EXPECT_GT(check(test::converting({"", {9, 5, 32}, {2, 0, 1}}, from, to)), 0);
      EXPECT_GT(check(test::converting({"", {9, 5, 32}, {1, 0, 2}}, from, to)), 0);
      if (HasFailure()) FAIL() << static_cast<int>(from) << " to " << static_cast<int>(to);
    }
  }
}

// Bytes of values stand in the other order on one side or on both.
TEST(Convert, SwappedTypes) {
  std::vector<float> scale(numbers, 0.5F), bias(numbers, 3);
  int turn = 0;
  for (const Kind from : test::kinds()) {
    for (const Kind to : test::kinds()) {
      if (!test::can_convert(from, to)) continue;
      Problem problem = test::converting({"", {5, 7, 32}, {2, 0, 1}}, from, to);
      problem = test::swapped_in_turn(problem, ++turn);
      check(problem);
      problem.values.alpha = -2;
      problem.values.beta = turn % 2 == 0 ? 0.5 : 0;
      problem.values.conjugate = turn % 4 == 0;
      problem.scale.present = problem.bias.present = turn % 4 == 1;
      problem.scale.mode = problem.bias.mode = 1;
      EXPECT_GT(check(problem, turn % 2, 1 - turn % 2, {scale.data(), bias.data()}), 0);
      if (HasFailure()) FAIL() << static_cast<int>(from) << " to " << static_cast<int>(to);
    }
  }
}

// Where a native pair of types has kernels of its own, `pack` and `gather` take the swapped one.
TEST(Convert, SwappedShapes) {
  int runs = 0, turn = 0;
  for (const test::Shape& shape : test::shapes()) {
    for (const auto& [from, to] : {std::pair{Kind::f32, Kind::f32},
                                   {Kind::i16, Kind::f32},
                                   {Kind::f32, Kind::bf16},
                                   {Kind::u8, Kind::f32}}) {
      const Problem problem = test::swapped_in_turn(test::converting(shape, from, to), ++turn);
      if (problem.elements() <= 12'000) runs += check(problem, turn % 2, 1 - turn % 2);
      if (HasFailure()) FAIL() << shape.name;
    }
  }
  EXPECT_GT(runs, 200);
}

TEST(Convert, Epilogues) {
  std::vector<float> scale(numbers), bias(numbers);
  for (std::size_t i = 0; i < scale.size(); ++i) {
    scale[i] = 0.25F + static_cast<float>(i);
    bias[i] = 3 - static_cast<float>(i);
  }
  const Vectors vectors{scale.data(), bias.data()};
  for (const auto& [from, to] : {std::pair{Kind::f32, Kind::f16},
                                 {Kind::u8, Kind::f32},
                                 {Kind::f32, Kind::i8},
                                 {Kind::f64, Kind::bf16},
                                 {Kind::f64, Kind::f32},
                                 {Kind::i8, Kind::bf16},
                                 {Kind::bf16, Kind::f8_e4m3},
                                 {Kind::i16, Kind::i8},
                                 {Kind::c64, Kind::c64}}) {
    for (int what = 0; what < 6; ++what) {
      Problem problem = test::converting({"", {11, 7, 40}, {2, 1, 0}}, from, to);
      if (what == 0) problem.values.beta = -0.5;
      if (what == 1) problem.scale = {true, 1, 1, 0};
      if (what == 2) problem.bias = {true, 2, 2, 5};
      if (what == 3) problem.scale = {true, 0, -1, 10}, problem.bias = {true, 0, 1, 0};
      if (what == 4) problem.values.rounding = Rounding::stochastic, problem.values.seed = 12;
      if (what == 5) problem.values.conjugate = true, problem.values.alpha = 2;
      EXPECT_GE(check(problem, 0, 0, vectors), problem.converts() ? 1 : 0);
      if (HasFailure()) FAIL() << "epilogue " << what;
    }
  }
}

// Vectors along each mode, of rows, of columns and of the others, in whole vectors of elements.
TEST(Convert, ScalesAndBiases) {
  const std::vector<float> scale = test::scale_values(numbers, 0.75F);
  const std::vector<float> bias = test::scale_values(numbers, 20);
  const Vectors vectors{scale.data(), bias.data()};
  int turn = 0;
  for (const auto& [from, to] : test::scaled_pairs()) {
    for (const auto& [kernel, shape] : {
             std::pair{"tile", test::Shape{"", {160, 144}, {1, 0}}},
             {"tile", {"", {48, 272}, {1, 0}}},
             {"tile", {"", {3, 48, 32}, {0, 2, 1}}},
             {"tile", {"", {4, 8, 48}, {2, 1, 0}}},
             {"tile", {"", {32, 6, 16}, {2, 1, 0}}},
             {"tile", {"", {2, 3, 16, 48}, {1, 3, 0, 2}}},
             {"rows", {"", {6, 80}, {0, 1}}},
             {"rows", {"", {5, 3, 7, 48}, {2, 0, 1, 3}}},
             {"rows", {"", {2, 4912}, {0, 1}}},
             {"rows", {"", {2, 16640}, {0, 1}}},
         }) {
      const Problem plain = test::converting(shape, from, to);
      for (int i = 0; i < (plain.elements() < 8000 ? 5 : 2); ++i) {
        const Problem problem = test::with_vectors(plain, turn++, numbers);
        EXPECT_GT(check(problem, 0, 0, vectors, nullptr, kernel), 0) << to_string(problem);
        if (HasFailure()) FAIL();
      }
    }
  }
}

// i8 and a number for all, through the same kernels.
TEST(Convert, WholeNumbers) {
  for (const Kind other : {Kind::f32, Kind::f16, Kind::bf16}) {
    for (const auto& [from, to] : {std::pair{other, Kind::i8}, {Kind::i8, other}}) {
      for (int turn = 0; turn < 4; ++turn) {
        Problem turned = test::converting({"", {48, 80}, {1, 0}}, from, to);
        if (turn % 2 == 0) turned.values.alpha = 12.5;
        if (turn < 2) turned.values.overflow = Overflow::saturate;
        Problem rows = turned;
        rows.modes = {{48, 160 * turned.src_type.size(), 80 * turned.dst_type.size()},
                      {80, turned.src_type.size(), turned.dst_type.size()}};
        EXPECT_EQ(check(turned, 0, 0, {}, nullptr, "tile"), 1);
        EXPECT_EQ(check(rows, 0, 0, {}, nullptr, "rows"), 1);
        if (HasFailure()) FAIL() << turned.src_type.name() << turned.dst_type.name();
      }
    }
  }
}

// A tensor's scale, which is found after the plan: a NaN becomes the one NaN with a factor of 1,
// too.
TEST(Convert, WithAFactorThatComesLater) {
  for (const Kind from : test::kinds()) {
    for (const Kind to : {Kind::f8_e4m3, Kind::f8_e5m2, Kind::i8}) {
      if (!test::can_convert(from, to)) continue;
      const bool whole = to == Kind::i8;
      const bool wide =
          values::with_kind(from, []<class S>(values::Type<S>) { return !values::fits_f32<S>; });
      const float ruler = wide ? 0x1.8p52F : 0x1.8p23F;
      for (const double factor : {1.0, 0.25, 3e-5, 0.0}) {
        const LateFactor late{factor, whole ? ruler : 0};
        for (const std::vector<int>& axes : {std::vector<int>{2, 0, 1}, {1, 0, 2}}) {
          Problem problem = test::converting({"", {9, 5, 32}, axes}, from, to);
          problem.values.alpha = 2;
          problem.values.overflow = whole ? Overflow::standard : Overflow::saturate;
          EXPECT_GT(check(problem, 0, 0, {}, &late), 0);
          if (HasFailure()) FAIL() << static_cast<int>(from) << " to " << static_cast<int>(to);
        }
      }
    }
  }
}

}  // namespace
}  // namespace cornerturn::simt
