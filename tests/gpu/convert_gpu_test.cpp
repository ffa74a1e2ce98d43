// The kernels that change values on the GPU that is here: every candidate, the bits of all elements
// compared with the obvious implementation's. `--gtest_filter=*ConvertChecked*` is the list for
// compute-sanitizer.
#include <gtest/gtest.h>

#include <cuda_runtime_api.h>

#include <algorithm>
#include <vector>

#include "core/validate.hpp"
#include "cuda/backend.hpp"
#include "cuda/check.hpp"
#include "cuda/device_buffer.hpp"
#include "cuda/engine.hpp"
#include "plan/gpu/plan.hpp"
#include "support/conversions.hpp"

namespace cornerturn {
namespace {

using cuda::check;
using cuda::DeviceBuffer;
using Bytes = std::vector<std::byte>;

void upload(const DeviceBuffer& gpu, const void* contents, std::size_t bytes) {
  check(cudaMemcpy(gpu.get(), contents, bytes, cudaMemcpyHostToDevice), "cudaMemcpy");
}

// All candidates; answers how many there were.
int check_all(const Problem& problem, int src_phase = 0, int dst_phase = 0,
              const Vectors& vectors = {}) {
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
  const DeviceBuffer numbers(2 * 1024 * sizeof(float));
  Vectors there;
  if (problem.scale.present || problem.bias.present) {
    there = {reinterpret_cast<const float*>(numbers.get()),
             reinterpret_cast<const float*>(numbers.get()) + 1024};
    check(cudaMemcpy(numbers.get(), vectors.scale, 4096, cudaMemcpyHostToDevice), "cudaMemcpy");
    check(cudaMemcpy(numbers.get() + 4096, vectors.bias, 4096, cudaMemcpyHostToDevice),
          "cudaMemcpy");
  }
  const auto alignment = [](std::int64_t skip) {
    return skip == 0 ? std::int64_t{16} : std::min<std::int64_t>(16, skip & -skip);
  };
  std::byte* const src_zero = gpu_src.get() + src_skip - from.low;
  std::byte* const dst_zero = gpu_dst.get() + dst_skip - to.low;
  plan::gpu::Plan plan =
      make_plan(problem, {true, alignment(src_skip - from.low), alignment(dst_skip - to.low)},
                cuda::description_of(cuda::current_device()));
  Bytes expected = before;
  test::reference_convert(plan.normal, vectors, src.data() + src_skip - from.low,
                          expected.data() + dst_skip - to.low);
  const plan::gpu::Candidates candidates = plan.candidates;
  for (const plan::gpu::Candidate& candidate : candidates) {
    plan.choose(candidate, plan::Choice::forced);
    upload(gpu_dst, before.data(), before.size());
    cuda::execute(plan, dst_zero, src_zero, nullptr, there);
    check(cudaDeviceSynchronize(), "kernel");
    Bytes got(before.size());
    check(cudaMemcpy(got.data(), gpu_dst.get(), got.size(), cudaMemcpyDeviceToHost), "cudaMemcpy");
    const auto wrong = std::mismatch(expected.begin(), expected.end(), got.begin()).first;
    EXPECT_TRUE(wrong == expected.end())
        << candidate.row->name << ": " << describe(candidate, plan.normal) << "; "
        << to_string(problem) << ", phases " << src_phase << " and " << dst_phase
        << ", differs first at byte " << wrong - expected.begin() << " of " << expected.size();
  }
  return static_cast<int>(candidates.size());
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
  std::vector<float> scale(1024), bias(1024);
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

TEST(ConvertOnGpu, Epilogues) {
  check_epilogues(400);
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
}

}  // namespace
}  // namespace cornerturn
