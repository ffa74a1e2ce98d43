// The kernels that change values on the GPU that is here: every candidate, the bits of all elements
// compared with the obvious implementation's. `--gtest_filter=*ConvertChecked*` is the list for
// compute-sanitizer.
#include <gtest/gtest.h>

#include <cuda_runtime_api.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "core/validate.hpp"
#include "cuda/backend.hpp"
#include "cuda/check.hpp"
#include "cuda/device_buffer.hpp"
#include "cuda/engine.hpp"
#include "plan/planner.hpp"
#include "support/conversions.hpp"

namespace cornerturn {
namespace {

using cuda::check;
using cuda::DeviceBuffer;
using Bytes = std::vector<std::byte>;

void upload(const DeviceBuffer& gpu, const void* contents, std::size_t bytes) {
  check(cudaMemcpy(gpu.get(), contents, bytes, cudaMemcpyHostToDevice), "cudaMemcpy");
}

constexpr std::size_t numbers = 5000;  // of a vector

// All candidates; answers how many there were, or how many of one kernel.
int check_all(const Problem& problem, int src_phase = 0, int dst_phase = 0,
              const Vectors& vectors = {}, std::string_view kernel = {}) {
  if (problem.elements() == 0 || !problem.converts()) return 0;
  const Reach from = src_reach(problem), to = dst_reach(problem);
  const std::int64_t src_skip = src_phase * problem.src_type.size();
  const std::int64_t dst_skip = dst_phase * problem.dst_type.size();
  Bytes src(static_cast<std::size_t>(from.high - from.low + src_skip));
  Bytes before(static_cast<std::size_t>(to.high - to.low + dst_skip));
  test::fill_values(problem.src_type.kind(), src.data(), static_cast<std::int64_t>(src.size()));
  test::fill_values(problem.dst_type.kind(), before.data(),
                    static_cast<std::int64_t>(before.size()), 99);
  const DeviceBuffer gpu_src(static_cast<std::int64_t>(src.size()));
  const DeviceBuffer gpu_dst(static_cast<std::int64_t>(before.size()));
  upload(gpu_src, src.data(), src.size());
  constexpr std::int64_t vector_bytes = numbers * sizeof(float);
  const DeviceBuffer gpu_scale(vector_bytes), gpu_bias(vector_bytes);
  Vectors there;
  if (problem.scale.present || problem.bias.present) {
    there = {reinterpret_cast<const float*>(gpu_scale.get()),
             reinterpret_cast<const float*>(gpu_bias.get())};
    upload(gpu_scale, vectors.scale, vector_bytes);
    upload(gpu_bias, vectors.bias, vector_bytes);
  }
  const auto alignment = [](std::int64_t skip) {
    return skip == 0 ? std::int64_t{16} : std::min<std::int64_t>(16, skip & -skip);
  };
  std::byte* const src_zero = gpu_src.get() + src_skip - from.low;
  std::byte* const dst_zero = gpu_dst.get() + dst_skip - to.low;
  plan::Plan plan =
      make_plan(problem, cuda::machine_of(cuda::current_device()),
                {1, "", {true, alignment(src_skip - from.low), alignment(dst_skip - to.low)}});
  Bytes expected = before;
  test::reference_convert(plan.normal, vectors, src.data() + src_skip - from.low,
                          expected.data() + dst_skip - to.low);
  const plan::Candidates candidates = plan.candidates;
  for (const plan::Candidate& candidate : candidates) {
    plan.choose(candidate, plan::Choice::forced);
    upload(gpu_dst, before.data(), before.size());
    cuda::execute(plan, {dst_zero, src_zero, there}, nullptr);
    check(cudaDeviceSynchronize(), "kernel");
    Bytes got(before.size());
    check(cudaMemcpy(got.data(), gpu_dst.get(), got.size(), cudaMemcpyDeviceToHost), "cudaMemcpy");
    const auto wrong = std::mismatch(expected.begin(), expected.end(), got.begin()).first;
    EXPECT_TRUE(wrong == expected.end())
        << candidate.row->name << ": " << describe(candidate, plan.normal) << "; "
        << to_string(problem) << ", phases " << src_phase << " and " << dst_phase
        << ", differs first at byte " << wrong - expected.begin() << " of " << expected.size();
  }
  return static_cast<int>(std::count_if(
      candidates.begin(), candidates.end(),
      [&](const auto& candidate) { return kernel.empty() || candidate.row->name == kernel; }));
}

constexpr std::pair<Kind, Kind> some_pairs[] = {
    {Kind::f32, Kind::f16},  {Kind::f32, Kind::bf16},    {Kind::f32, Kind::f8_e4m3},
    {Kind::bf16, Kind::f32}, {Kind::f16, Kind::f8_e5m2}, {Kind::u8, Kind::f32},
    {Kind::f16, Kind::bf16}, {Kind::f64, Kind::f32},     {Kind::f8_e4m3, Kind::bf16},
    {Kind::i32, Kind::i16},  {Kind::c64, Kind::c128},
};

TEST(ConvertOnGpu, SharedShapes) {
  int runs = 0, turn = 0;
  for (const test::Shape& shape : test::shapes()) {
    for (const auto& [from, to] : some_pairs) {
      Problem problem = test::converting(shape, from, to);
      if (turn % 3 == 1) problem.values.alpha = 0.37;
      if (turn % 3 == 2) problem.values.overflow = Overflow::saturate;
      runs += check_all(problem);
      runs += check_all(problem, turn % 2, 1 - turn % 2);
      ++turn;
      if (HasFailure()) FAIL() << shape.name;
    }
  }
  EXPECT_GT(runs, 3000);
}

TEST(ConvertOnGpu, EveryPairOfTypes) {
  for (const Kind from : test::kinds()) {
    for (const Kind to : test::kinds()) {
      if (!test::can_convert(from, to) || from == to) continue;
      // Every code of 16 bits among 2^18 random elements, nearly.
      EXPECT_GT(check_all(test::converting({"", {512, 512}, {1, 0}}, from, to)), 0);
      EXPECT_GT(check_all(test::converting({"", {61, 67, 64}, {1, 0, 2}}, from, to)), 0);
      if (HasFailure()) FAIL() << static_cast<int>(from) << " to " << static_cast<int>(to);
    }
  }
}

void check_epilogues(std::int64_t length) {
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
      Problem problem = test::converting({"", {11, 7, length}, {2, 1, 0}}, from, to);
      if (what == 0) problem.values.beta = -0.5;
      if (what == 1) problem.scale = {true, 1, 1, 0};
      if (what == 2) problem.bias = {true, 2, 2, 5};
      if (what == 3) problem.scale = {true, 0, -1, 10}, problem.bias = {true, 0, 1, 0};
      if (what == 4) problem.values.rounding = Rounding::stochastic, problem.values.seed = 12;
      if (what == 5) problem.values.conjugate = true, problem.values.alpha = 2;
      check_all(problem, 0, 0, vectors);
      if (testing::Test::HasFailure()) FAIL() << "epilogue " << what;
    }
  }
}

// Bytes of values stand in the other order on one side or on both.
TEST(ConvertOnGpu, SwappedTypes) {
  int runs = 0, turn = 0;
  for (const Kind from : test::kinds()) {
    for (const Kind to : test::kinds()) {
      if (!test::can_convert(from, to)) continue;
      Problem problem =
          test::swapped_in_turn(test::converting({"", {61, 67, 64}, {1, 0, 2}}, from, to), ++turn);
      runs += check_all(problem);
      if (turn % 3 == 0) problem.values.alpha = 0.37;
      if (turn % 2 == 0) problem.values.beta = 0.5;
      runs += check_all(problem, turn % 2, 1 - turn % 2);
      if (HasFailure()) FAIL() << static_cast<int>(from) << " to " << static_cast<int>(to);
    }
  }
  for (const test::Shape& shape : test::shapes()) {
    for (const auto& [from, to] : some_pairs) {
      runs += check_all(test::swapped_in_turn(test::converting(shape, from, to), ++turn));
      if (HasFailure()) FAIL() << shape.name;
    }
  }
  EXPECT_GT(runs, 1000);
}

TEST(ConvertOnGpu, Epilogues) {
  check_epilogues(400);
}

// Vectors along each mode, of rows, of columns and of the others, in whole vectors of elements.
void check_vectors(int problems) {
  const std::vector<float> scale = test::scale_values(numbers, 0.75F);
  const std::vector<float> bias = test::scale_values(numbers, 20);
  const Vectors vectors{scale.data(), bias.data()};
  int turn = 0;
  for (const auto& [from, to] : test::scaled_pairs()) {
    for (const auto& [kernel, shape] : {
             std::pair{"tile", test::Shape{"", {160, 144}, {1, 0}}},
             {"tile", {"", {528, 784}, {1, 0}}},
             {"tile", {"", {3, 48, 32}, {0, 2, 1}}},
             {"tile", {"", {4, 8, 48}, {2, 1, 0}}},
             {"tile", {"", {32, 6, 16}, {2, 1, 0}}},
             {"tile", {"", {2, 3, 16, 48}, {1, 3, 0, 2}}},
             {"rows", {"", {60, 80}, {0, 1}}},
             {"rows", {"", {5, 3, 7, 48}, {2, 0, 1, 3}}},
             {"rows", {"", {20, 4912}, {0, 1}}},
         }) {
      for (int i = 0; i < problems; ++i) {
        const Problem problem =
            test::with_vectors(test::converting(shape, from, to), turn++, numbers);
        EXPECT_GT(check_all(problem, 0, 0, vectors, kernel), 0) << to_string(problem);
        if (testing::Test::HasFailure()) FAIL();
      }
    }
  }
}

TEST(ConvertOnGpu, ScalesAndBiases) {
  check_vectors(9);
}

TEST(ConvertChecked, SharedShapesAndEpilogues) {
  int turn = 0;
  for (const test::Shape& shape : test::shapes()) {
    const auto& [from, to] = some_pairs[static_cast<std::size_t>(turn++) % std::size(some_pairs)];
    const Problem problem = test::converting(shape, from, to);
    if (problem.elements() > 5'000) continue;
    check_all(problem, turn % 2, turn % 3 == 0 ? 1 : 0);
    if (HasFailure()) FAIL() << shape.name;
  }
  check_epilogues(40);
  check_vectors(1);
}

}  // namespace
}  // namespace cornerturn
