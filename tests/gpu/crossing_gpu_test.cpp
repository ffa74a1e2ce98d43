// One side in host memory, the other one on the GPU: every route over random problems, outputs
// poisoned, guard zones unharmed, and what the public functions promise.
#include <gtest/gtest.h>

#include <cuda_runtime_api.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <numeric>
#include <thread>
#include <vector>

#include "cpu/cpu_info.hpp"
#include "cpu/engine.hpp"
#include "cuda/backend.hpp"
#include "cuda/check.hpp"
#include "cuda/crossing.hpp"
#include "gpu/on_gpu.hpp"
#include "gpu/side.hpp"
#include "plan/link/direct.hpp"
#include "plan/link/pieces.hpp"
#include "plan/planner.hpp"
#include "support/random_problem.hpp"

namespace cornerturn {
namespace {

using cuda::check;
using plan::Crossing;
using plan::link::Wire;
using test::Side;

// A host's copy of a side, in pinned memory.
class Pinned {
 public:
  explicit Pinned(std::size_t size) : size_(size) {
    check(cudaMallocHost(&at_, size), "cudaMallocHost");
  }
  Pinned(const Pinned&) = delete;
  Pinned& operator=(const Pinned&) = delete;
  ~Pinned() { cudaFreeHost(at_); }
  std::byte* data() const { return static_cast<std::byte*>(at_); }
  test::Bytes contents() const { return {data(), data() + size_}; }

 private:
  void* at_ = nullptr;
  std::size_t size_;
};

plan::Machine link_of(Crossing::Way way, bool pinned, int blocks = 0) {
  const plan::Machine& gpu = cuda::machine_of(cuda::current_device());
  plan::link::LinkInfo link;
  link.gpu = *gpu.gpu();
  link.cpu = *cpu::machine().cpu();
  link.threads = 3;
  link.crossing.way = way;
  link.crossing.pinned = pinned;
  link.crossing.blocks = blocks;
  return plan::Machine(link, gpu.gpu_costs());
}

// All candidates, and routes of small pieces; returns how many there were.
int check_all(const Problem& problem, Crossing::Way way, bool pinned, std::int64_t phase) {
  if (problem.elements() == 0) return 0;
  constexpr std::int64_t guard = 128;
  Side src(src_reach(problem), phase, guard);
  Side dst(dst_reach(problem), phase / 2, guard);
  test::fill(src.host(), 1);
  for (std::byte& byte : src.host()) byte &= std::byte{0x3b};  // no NaN in any type
  test::fill(dst.host(), 2);
  const test::Bytes poison = dst.host();
  cpu::execute(plan::make_plan(problem, cpu::machine(), {}), {dst.host_zero(), src.host_zero()});
  const test::Bytes expected = dst.host();
  src.upload(src.host());

  const bool into = way == Crossing::Way::into_gpu;
  test::Bytes& host_bytes = into ? src.host() : dst.host();
  const Pinned copy(host_bytes.size());
  std::memcpy(copy.data(), host_bytes.data(), host_bytes.size());
  std::byte* host_zero = into ? src.host_zero() : dst.host_zero();
  if (pinned) host_zero = copy.data() + (host_zero - host_bytes.data());
  const void* from = into ? host_zero : src.gpu_zero();
  void* to = into ? dst.gpu_zero() : host_zero;

  const plan::Machine machine = link_of(way, pinned);
  const plan::Request request{3, "", {true, test::alignment_of(from), test::alignment_of(to)}};
  plan::Plan plan = make_plan(problem, machine, request);
  plan.gpu = cuda::current_device();
  const auto run = [&] {
    if (into) {
      dst.upload(poison);
    } else {
      std::memcpy(pinned ? copy.data() : dst.host().data(), poison.data(), poison.size());
    }
    cuda::execute_across(plan, {to, from}, nullptr);
    check(cudaDeviceSynchronize(), "a route");
    const test::Bytes got = into ? dst.download() : pinned ? copy.contents() : dst.host();
    const auto wrong = std::mismatch(expected.begin(), expected.end(), got.begin()).first;
    EXPECT_TRUE(wrong == expected.end())
        << to_string(plan) << "; " << to_string(problem) << ", phase " << phase
        << ", differs first at byte " << wrong - expected.begin() << " of " << expected.size();
  };
  int count = 0;
  const plan::Candidates all = plan.candidates;
  for (const plan::Candidate& candidate : all) {
    plan.choose(candidate, plan::Choice::forced);
    run();
    ++count;
  }
  Alignment start = plan.alignment;
  start.src = std::gcd(start.src, plan.normal.src_offset);
  start.dst = std::gcd(start.dst, plan.normal.dst_offset);
  for (const auto order : {Wire::Order::as_it_lies, Wire::Order::of_host, Wire::Order::of_gpu}) {
    if (order == Wire::Order::as_it_lies && !pinned) continue;
    for (const std::int64_t most : {700, 5000}) {
      const auto route = plan::link::route_by({plan.normal, start, machine}, {order, !into, most});
      if (route == nullptr) continue;
      plan.chosen.config = plan::link::RouteConfig{route};
      run();
      ++count;
    }
  }
  for (const int blocks : {1, 3}) {
    plan = make_plan(problem, link_of(way, pinned, blocks), request);
    plan.gpu = cuda::current_device();
    const plan::Candidates few = plan.candidates;
    for (const plan::Candidate& candidate : few) {
      if (candidate.row->name != plan::link::direct::Family::name) continue;
      plan.choose(candidate, plan::Choice::forced);
      run();
      ++count;
    }
  }
  return count;
}

TEST(CrossingOnGpu, RandomProblems) {
  for (const bool pinned : {false, true}) {
    for (const auto way : {Crossing::Way::into_gpu, Crossing::Way::out_of_gpu}) {
      test::RandomProblems problems(pinned ? 7 : 8, {8, 40 << 10});
      int count = 0;
      for (int n = 0; n < 120 && !HasFailure(); ++n) {
        count += check_all(problems.next(), way, pinned, n % 16);
      }
      EXPECT_GT(count, 600);
    }
  }
}

TEST(CrossingOnGpuChecked, RandomProblems) {
  for (const bool pinned : {false, true}) {
    for (const auto way : {Crossing::Way::into_gpu, Crossing::Way::out_of_gpu}) {
      test::RandomProblems problems(pinned ? 17 : 18, {6, 8 << 10});
      for (int n = 0; n < 12 && !HasFailure(); ++n) check_all(problems.next(), way, pinned, n % 8);
    }
  }
}

TEST(CrossingOnGpu, ConversionsAndBigOnes) {
  for (const bool pinned : {false, true}) {
    for (const auto way : {Crossing::Way::into_gpu, Crossing::Way::out_of_gpu}) {
      for (const auto& [from, to] :
           {std::pair{Kind::f32, Kind::bf16}, std::pair{Kind::bf16, Kind::f32},
            std::pair{Kind::u8, Kind::f16}, std::pair{Kind::u8, Kind::u8}}) {
        Problem problem;
        problem.src_type = ElementType(from);
        problem.dst_type = ElementType(to);
        const std::int64_t s = problem.src_type.size(), d = problem.dst_type.size();
        constexpr std::int64_t rows = 1500, columns = 2111, count = 3;
        problem.modes = {{count, rows * columns * s, rows * columns * d},
                         {rows, columns * s, d},
                         {columns, s, rows * d}};
        check_all(problem, way, pinned, 0);
      }
    }
  }
}

using test::on_gpu::ApiOnGpu;
using test::on_gpu::expect_refused;
using test::on_gpu::packed;
using test::on_gpu::turned;
using HostBytes = test::on_gpu::Bytes;

TEST_F(ApiOnGpu, IntoTheGpuAndBack) {
  copy(packed(dst.data()), turned(contents.data()));
  expect_transposed();
  HostBytes back(contents.size(), 1);
  transpose(back.data(), dst.data(), test::on_gpu::columns, test::on_gpu::rows,
            ElementType(Kind::f32));
  EXPECT_TRUE(back == contents);
}

TEST_F(ApiOnGpu, PinnedIsCapturedAndPageableIsRefused) {
  const Pinned host(contents.size());
  std::memcpy(host.data(), contents.data(), contents.size());
  cudaStream_t stream = nullptr;
  check(cudaStreamCreate(&stream), "cudaStreamCreate");
  Options options;
  options.stream = stream;
  check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed), "capture");
  expect_refused(Status::invalid_argument, "the stream is being captured",
                 [&] { copy(packed(dst.data()), turned(contents.data()), options); });
  copy(packed(dst.data()), turned(host.data()), options);
  cudaGraph_t graph = nullptr;
  check(cudaStreamEndCapture(stream, &graph), "capture");
  cudaGraphExec_t exec = nullptr;
  check(cudaGraphInstantiate(&exec, graph, 0), "cudaGraphInstantiate");
  expect_untouched();
  check(cudaGraphLaunch(exec, stream), "cudaGraphLaunch");
  check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  expect_transposed();
  cudaGraphExecDestroy(exec);
  cudaGraphDestroy(graph);
  check(cudaStreamDestroy(stream), "cudaStreamDestroy");
}

TEST_F(ApiOnGpu, ThreadsCrossAtOnce) {
  constexpr int count = 6;
  std::vector<std::thread> threads;
  std::vector<std::unique_ptr<test::on_gpu::OnGpu>> results;
  for (int n = 0; n < count; ++n) {
    results.push_back(std::make_unique<test::on_gpu::OnGpu>(HostBytes(contents.size(), 0xa5)));
  }
  for (int n = 0; n < count; ++n) {
    threads.emplace_back([&, n] {
      cudaStream_t stream = nullptr;
      check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreate");
      Options options;
      options.stream = stream;
      for (int times = 0; times < 20; ++times) {
        copy(packed(results[static_cast<std::size_t>(n)]->data()), turned(contents.data()),
             options);
      }
      check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
      check(cudaStreamDestroy(stream), "cudaStreamDestroy");
    });
  }
  for (std::thread& thread : threads) thread.join();
  const HostBytes expected = test::on_gpu::transposed(contents);
  for (const auto& result : results) EXPECT_TRUE(result->contents() == expected);
}

// Small pieces have memory that stays a thread's. Streams that work at once do not share it.
TEST_F(ApiOnGpu, StreamsOfOneThreadCrossAtOnce) {
  constexpr std::uint32_t side = 700;
  constexpr std::int64_t bytes = std::int64_t{side} * side * 4;
  constexpr int count = 3, rounds = 40;
  struct One {
    One() : host(bytes), gpu(HostBytes(bytes, 0xa5)) {
      check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreate");
    }
    One(const One&) = delete;
    One& operator=(const One&) = delete;
    ~One() { cudaStreamDestroy(stream); }
    Pinned host;
    test::on_gpu::OnGpu gpu;
    cudaStream_t stream = nullptr;
  };
  std::array<One, count> all;
  for (int n = 0; n < count; ++n) {
    auto* const values =
        reinterpret_cast<std::uint32_t*>(all[static_cast<std::size_t>(n)].host.data());
    for (std::uint32_t i = 0; i < side * side; ++i)
      values[i] = i * 2654435761U + static_cast<unsigned>(n);
  }
  for (int round = 0; round < rounds; ++round) {
    for (One& one : all) {
      Options options;
      options.stream = one.stream;
      options.kernel = "chunks";
      transpose(one.gpu.data(), one.host.data(), side, side, ElementType(Kind::f32), options);
    }
  }
  for (int n = 0; n < count; ++n) {
    One& one = all[static_cast<std::size_t>(n)];
    check(cudaStreamSynchronize(one.stream), "cudaStreamSynchronize");
    const HostBytes found = one.gpu.contents();
    const auto* const values = reinterpret_cast<const std::uint32_t*>(found.data());
    bool right = true;
    for (std::uint32_t i = 0; i < side * side && right; ++i) {
      const std::uint32_t from = i % side * side + i / side;
      right = values[i] == from * 2654435761U + static_cast<unsigned>(n);
    }
    EXPECT_TRUE(right) << n;
  }
}

TEST_F(ApiOnGpu, FewBlocksDoAllOfTheWork) {
  constexpr std::int64_t rows = 640, columns = 384;
  const HostBytes numbers = test::on_gpu::numbered(rows * columns * 4);
  HostBytes expected(numbers.size());
  transpose(expected.data(), numbers.data(), rows, columns, ElementType(Kind::f32));
  const Pinned host(numbers.size());
  std::memcpy(host.data(), numbers.data(), numbers.size());
  for (const int blocks : {1, 3, 16, 100000}) {
    Options options;
    options.blocks = blocks;
    options.kernel = "direct";
    const test::on_gpu::OnGpu result = test::on_gpu::poisoned(rows * columns * 4);
    transpose(result.data(), host.data(), rows, columns, ElementType(Kind::f32), options);
    check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    EXPECT_TRUE(result.contents() == expected) << blocks;
  }
  Options options;
  options.blocks = -1;
  expect_refused(Status::invalid_argument, "options.blocks = -1 is negative",
                 [&] { copy(packed(dst.data()), turned(host.data()), options); });
}

TEST_F(ApiOnGpu, EpilogueVectorsOnEitherSide) {
  constexpr std::int64_t n = test::on_gpu::columns;
  std::vector<float> scale(n);
  for (std::size_t i = 0; i < scale.size(); ++i) scale[i] = 1.0F + static_cast<float>(i % 7);
  HostBytes bytes_of(scale.size() * 4);
  std::memcpy(bytes_of.data(), scale.data(), bytes_of.size());
  const test::on_gpu::OnGpu on_gpu(bytes_of);
  std::vector<float> numbers(contents.size() / 4);
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>(i % 1000);
  HostBytes expected(contents.size());
  Epilogue epilogue;
  epilogue.scale = scale.data();
  epilogue.scale_mode = 0;
  copy(packed(expected.data()), turned(numbers.data()), epilogue);
  copy(packed(dst.data()), turned(numbers.data()), epilogue);
  EXPECT_TRUE(dst.contents() == expected);
  epilogue.scale = reinterpret_cast<const float*>(on_gpu.data());
  const test::on_gpu::OnGpu again = test::on_gpu::poisoned(test::on_gpu::bytes);
  copy(packed(again.data()), turned(numbers.data()), epilogue);
  EXPECT_TRUE(again.contents() == expected);
}

}  // namespace
}  // namespace cornerturn
