// The order of work on a GPU: streams, threads and graphs.
#include <gtest/gtest.h>

#include <cuda_runtime_api.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>
#include <vector>

#include "cornerturn/cornerturn.hpp"
#include "cuda/check.hpp"
#include "cuda/device_buffer.hpp"
#include "on_gpu.hpp"

namespace cornerturn {
namespace {

using cuda::check;
using cuda::OwnStream;
using namespace test::on_gpu;

// The source arrives on the stream only after the call has returned.
TEST_F(ApiOnGpu, WorksInTheOrderOfItsStream) {
  const OwnStream stream;
  Options options;
  options.stream = static_cast<cuda::Stream>(stream);
  void* pinned = nullptr;
  check(cudaMallocHost(&pinned, contents.size()), "cudaMallocHost");
  std::memcpy(pinned, contents.data(), contents.size());
  const OnGpu late = poisoned(bytes);
  make_plan(packed(dst.data()), turned(late.data()), options);
  check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  const auto wait = [](void*) { std::this_thread::sleep_for(std::chrono::milliseconds(200)); };
  check(cudaLaunchHostFunc(stream, wait, nullptr), "cudaLaunchHostFunc");
  check(cudaMemcpyAsync(late.data(), pinned, contents.size(), cudaMemcpyHostToDevice, stream),
        "cudaMemcpyAsync");
  copy(packed(dst.data()), turned(late.data()), options);
  EXPECT_EQ(cudaStreamQuery(stream), cudaErrorNotReady) << "the call has waited";
  check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  expect_transposed();
  check(cudaFreeHost(pinned), "cudaFreeHost");
}

TEST_F(ApiOnGpu, EightThreadsEightStreamsOnePlan) {
  const Plan plan = make_plan(packed(dst.data()), turned(src.data()));
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      const auto mine = numbered(bytes, static_cast<std::uint64_t>(t) + 10);
      const OnGpu from(mine);
      const OnGpu to = poisoned(bytes), by_call = poisoned(bytes);
      check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
      const OwnStream stream;
      Options options;
      options.stream = static_cast<cuda::Stream>(stream);
      for (int i = 0; i < 50; ++i) {
        execute(plan, to.data(), from.data(), options.stream);
        // The cache and the thread's last call, too.
        transpose(by_call.data(), from.data(), rows, columns, ElementType(Kind::f32), options);
      }
      check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
      const Bytes expected = transposed(mine);
      wrong += to.contents() != expected;
      wrong += by_call.contents() != expected;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST_F(ApiOnGpu, IsCapturedAndReplayed) {
  const OwnStream stream;
  Options options;
  options.stream = static_cast<cuda::Stream>(stream);
  const Plan plan = make_plan(packed(dst.data()), turned(src.data()));
  const OnGpu second = poisoned(bytes);
  check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");

  cudaGraph_t graph = nullptr;
  check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), "cudaStreamBeginCapture");
  execute(plan, dst.data(), src.data(), options.stream);
  // A shape that was never seen: it is planned while the stream is captured.
  permute(second.data(), ConstView(dst.data(), ElementType(Kind::f32), {columns, rows}), {1, 0},
          options);
  Options measure = options;
  measure.effort = Effort::measure;
  expect_refused(Status::unsupported, "the stream is being captured", [&] {
    permute(second.data(), ConstView(dst.data(), ElementType(Kind::u16), {2, columns, rows}),
            {2, 1, 0}, measure);
  });
  check(cudaStreamEndCapture(stream, &graph), "cudaStreamEndCapture");
  expect_untouched();
  std::size_t nodes = 0;
  check(cudaGraphGetNodes(graph, nullptr, &nodes), "cudaGraphGetNodes");
  EXPECT_EQ(nodes, 2u) << "one launch a call";

  cudaGraphExec_t executable = nullptr;
  check(cudaGraphInstantiate(&executable, graph, 0), "cudaGraphInstantiate");
  for (const std::uint64_t seed : {3, 4}) {
    const Bytes fresh = numbered(bytes, seed);
    check(cudaMemcpy(src.data(), fresh.data(), fresh.size(), cudaMemcpyHostToDevice), "cudaMemcpy");
    // It returns before the last bytes have arrived, and `stream` does not wait for them.
    check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    check(cudaGraphLaunch(executable, stream), "cudaGraphLaunch");
    check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    EXPECT_TRUE(dst.contents() == transposed(fresh));
    EXPECT_TRUE(second.contents() == fresh);
  }
  check(cudaGraphExecDestroy(executable), "cudaGraphExecDestroy");
  check(cudaGraphDestroy(graph), "cudaGraphDestroy");
}

}  // namespace
}  // namespace cornerturn
