// What calls on a GPU learn: every call solves the problem, and later ones use what was found.
#include <gtest/gtest.h>

#include <cuda_runtime_api.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cornerturn/cornerturn.hpp"
#include "cuda/check.hpp"
#include "cuda/device_buffer.hpp"
#include "on_gpu.hpp"
#include "plan/learning.hpp"

namespace cornerturn {
namespace {

using cuda::check;
using cuda::OwnStream;
using namespace test::on_gpu;

// Every entrant's turns, one more for each whose kernel is loaded, and some.
constexpr int enough_calls =
    plan::learning_on_gpu.most_turns() + 2 * static_cast<int>(plan::learning_on_gpu.entrants);

// 2 MiB of floats, turned over.
class LearningOnGpu : public testing::Test {
  const plan::UnpaidTurns unpaid_;

 protected:
  static constexpr std::int64_t m = 1031, n = 517;

  void SetUp() override { forget_plans(); }
  void TearDown() override { forget_plans(); }

  View to() const { return {dst.data(), ElementType(Kind::f32), {n, m}}; }
  ConstView from() const {
    return ConstView(src.data(), ElementType(Kind::f32), {m, n}).permuted({1, 0});
  }

  void call() const { copy(to(), from(), options); }

  // A call that has ended before the next one begins.
  void call_and_wait() const {
    check(cudaMemset(dst.data(), 0xa5, contents.size()), "cudaMemset");
    check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    call();
    check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    ASSERT_EQ(dst.contents(), expected);
  }

  std::string choice(const Options& asked) const {
    return nlohmann::json::parse(make_plan(to(), from(), asked).to_json()).at("choice");
  }
  std::string choice() const { return choice(options); }

  static Bytes turned_over(const Bytes& bytes) {
    Bytes out(bytes.size());
    transpose(reinterpret_cast<float*>(out.data()), reinterpret_cast<const float*>(bytes.data()), m,
              n);
    return out;
  }

  Bytes contents = numbered(m * n * 4);
  Bytes expected = turned_over(contents);
  OnGpu src{contents}, dst = poisoned(m * n * 4);
  OwnStream stream;
  Options options{.stream = static_cast<cuda::Stream>(stream)};
};

TEST_F(LearningOnGpu, EveryCallSolvesTheProblemUntilTheWinnerIsKnown) {
  call_and_wait();
  EXPECT_EQ(choice(), "estimated") << "one call has learned nothing";
  for (int i = 1; i < enough_calls; ++i) call_and_wait();
  EXPECT_EQ(choice(), "learned");
  EXPECT_NE(make_plan(to(), from(), options).explain().find("times the fastest one's time"),
            std::string::npos);
  call_and_wait();
  forget_plans();
  EXPECT_EQ(choice(), "estimated");
}

TEST_F(LearningOnGpu, CallsDoNotWait) {
  void* memory = nullptr;
  check(cudaMallocHost(&memory, sizeof(int)), "cudaMallocHost");
  auto* const go = static_cast<volatile int*>(memory);
  *go = 0;
  call_and_wait();  // kernels that are loaded first may wait
  for (int i = 1; i < enough_calls; ++i) call_and_wait();
  forget_plans();
  check(cudaLaunchHostFunc(
            stream,
            [](void* at) {
              while (*static_cast<volatile int*>(at) == 0) {
              }
            },
            memory),
        "cudaLaunchHostFunc");
  for (int i = 0; i < 2 * enough_calls; ++i) call();
  EXPECT_EQ(choice(), "estimated") << "nothing has run yet";
  *go = 1;
  check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  EXPECT_EQ(dst.contents(), expected);
  for (int i = 0; i < enough_calls; ++i) call_and_wait();
  EXPECT_EQ(choice(), "learned");
  check(cudaFreeHost(memory), "cudaFreeHost");
}

// Its calls have no time of their own, and others learn from theirs.
TEST_F(LearningOnGpu, AGraphKeepsThePlanAsItIs) {
  call_and_wait();
  cudaGraph_t graph = nullptr;
  check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
  for (int i = 0; i < 2 * enough_calls; ++i) call();
  check(cudaStreamEndCapture(stream, &graph), "cudaStreamEndCapture");
  std::size_t nodes = 0;
  check(cudaGraphGetNodes(graph, nullptr, &nodes), "cudaGraphGetNodes");
  EXPECT_EQ(nodes, 2U * enough_calls) << "a kernel each";
  EXPECT_EQ(choice(), "estimated");
  check(cudaGraphDestroy(graph), "cudaGraphDestroy");
  for (int i = 0; i < enough_calls; ++i) call_and_wait();
  EXPECT_EQ(choice(), "learned");
}

// In the strictest mode, asking how far another stream is would end the capture.
TEST_F(LearningOnGpu, DoesNotDisturbTheCaptureOfAnotherStream) {
  for (int i = 0; i < enough_calls; ++i) call_and_wait();  // now all kernels are loaded
  forget_plans();
  const OwnStream other;
  cudaGraph_t graph = nullptr;
  check(cudaStreamBeginCapture(other, cudaStreamCaptureModeGlobal), "cudaStreamBeginCapture");
  for (int i = 0; i < enough_calls; ++i) call();
  check(cudaStreamEndCapture(other, &graph), "cudaStreamEndCapture");
  check(cudaGraphDestroy(graph), "cudaGraphDestroy");
  check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  EXPECT_EQ(dst.contents(), expected);
  for (int i = 0; i < enough_calls; ++i) call_and_wait();
  EXPECT_EQ(choice(), "learned");
}

TEST_F(LearningOnGpu, AnErrorThatSomebodyElseHasLeftFailsNoCall) {
  for (int i = 0; i < enough_calls; ++i) {
    void* never = nullptr;
    EXPECT_NE(cudaMalloc(&never, std::size_t{1} << 60), cudaSuccess);
    EXPECT_NO_THROW(call());
    check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  }
  cudaGetLastError();
  EXPECT_EQ(dst.contents(), expected);
  EXPECT_EQ(choice(), "learned");
}

TEST_F(LearningOnGpu, LeavesAloneWhatWasNotLeftToIt) {
  Options estimate = options, forced = options;
  estimate.effort = Effort::estimate;
  forced.kernel = "gather";
  for (const Options& asked : {estimate, forced}) {
    for (int i = 0; i < enough_calls; ++i) copy(to(), from(), asked);
    check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  }
  EXPECT_EQ(dst.contents(), expected);
  EXPECT_EQ(choice(), "estimated");
  EXPECT_EQ(choice(forced), "forced");
}

}  // namespace
}  // namespace cornerturn
