// Redistributions between GPUs of one process, beside the same call in host memory. The devices of
// the mesh are dealt to the GPUs that are here; with one GPU all are on it.
#include <gtest/gtest.h>

#include <cuda_runtime_api.h>

#include <functional>
#include <memory>
#include <numeric>
#include <optional>
#include <random>
#include <vector>

#include "cornerturn/cornerturn.hpp"
#include "cuda/check.hpp"
#include "cuda/device.hpp"
#include "shards/redistribution.hpp"

namespace cornerturn {
namespace {

using cuda::check;
using Memory = std::vector<std::uint8_t>;

constexpr std::size_t guard = 512;
constexpr std::uint8_t untouched = 0xa5;

struct Case {
  Extents shape;
  Extents mesh;
  std::string src;
  std::string dst;
  std::vector<int> perm;
  int size = 4;
  // Types of which the values are converted; else elements are bytes.
  std::optional<Kind> src_kind = {};
  std::optional<Kind> dst_kind = {};

  ElementType src_type() const {
    return src_kind ? ElementType(*src_kind) : ElementType::bytes(size);
  }
  ElementType dst_type() const {
    return dst_kind ? ElementType(*dst_kind) : ElementType::bytes(size);
  }
};

class OnDevice {
 public:
  explicit OnDevice(int gpu) { check(cudaSetDevice(gpu), "cudaSetDevice"); }
  ~OnDevice() { cudaSetDevice(0); }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;
};

// Memory of one GPU between guards, and what lies in it.
class Shard {
 public:
  Shard(int gpu, const Memory& contents, bool pool)
      : gpu_(gpu), size_(contents.size()), pool_(pool) {
    const OnDevice here(gpu_);
    const std::size_t bytes = size_ + 2 * guard;
    check(pool_ ? cudaMallocAsync(&memory_, bytes, nullptr) : cudaMalloc(&memory_, bytes),
          "cudaMalloc");
    check(cudaMemset(memory_, untouched, bytes), "cudaMemset");
    check(cudaMemcpy(data(), contents.data(), size_, cudaMemcpyHostToDevice), "cudaMemcpy");
    check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  }
  ~Shard() {
    const OnDevice here(gpu_);
    cudaDeviceSynchronize();
    pool_ ? cudaFreeAsync(memory_, nullptr) : cudaFree(memory_);
  }
  Shard(const Shard&) = delete;
  Shard& operator=(const Shard&) = delete;

  void* data() const { return static_cast<std::byte*>(memory_) + guard; }
  // What came after the work of the stream; the guards have to be untouched.
  Memory contents(cudaStream_t stream) const {
    const OnDevice here(gpu_);
    Memory all(size_ + 2 * guard);
    check(cudaMemcpyAsync(all.data(), memory_, all.size(), cudaMemcpyDeviceToHost, stream),
          "cudaMemcpyAsync");
    check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    for (std::size_t i = 0; i < guard; ++i) {
      EXPECT_EQ(all[i], untouched);
      EXPECT_EQ(all[guard + size_ + i], untouched);
    }
    return Memory(all.begin() + guard, all.end() - guard);
  }

 private:
  int gpu_;
  std::size_t size_;
  bool pool_;
  void* memory_ = nullptr;
};

class Streams {
 public:
  explicit Streams(int devices) {
    for (int device = 0; device < devices; ++device) {
      const OnDevice here(device % cuda::device_count());
      cudaStream_t stream = nullptr;
      check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreate");
      all.push_back(stream);
    }
  }
  ~Streams() {
    for (void* stream : all) cudaStreamDestroy(static_cast<cudaStream_t>(stream));
  }
  Streams(const Streams&) = delete;
  Streams& operator=(const Streams&) = delete;

  cudaStream_t operator[](std::size_t device) const {
    return static_cast<cudaStream_t>(all[device]);
  }

  std::vector<void*> all;
};

// A case in host memory and on GPUs.
class Both {
 public:
  Both(const Case& which, bool pool)
      : which_(which), what_{which.shape, which.mesh, which.src, which.dst, which.perm} {
    const auto layout = [&](const Extents& shape, const std::string& text) {
      return shards::placed(shape, which.mesh, shards::parse_placements(text, "text"), "text");
    };
    const shards::Layout src = layout(which.shape, which.src);
    const shards::Layout dst = layout(permuted(which.shape, which.perm), which.dst);
    const ElementType src_type = which.src_type(), dst_type = which.dst_type();
    std::mt19937_64 random(5);
    for (int device = 0; device < src.devices(); ++device) {
      const auto at = static_cast<std::size_t>(device);
      const int gpu = device % cuda::device_count();
      Memory from(static_cast<std::size_t>(src.shards[at].elements() * src_type.size()));
      Memory to(static_cast<std::size_t>(dst.shards[at].elements() * dst_type.size()), untouched);
      for (std::uint8_t& byte : from) byte = static_cast<std::uint8_t>(random());
      src_.push_back(std::make_unique<Shard>(gpu, from, pool));
      dst_.push_back(std::make_unique<Shard>(gpu, to, pool));
      host_src_.push_back(std::move(from));
      host_dst_.push_back(std::move(to));
      src_views.push_back(ConstView(src_.back()->data(), src_type, src.shards[at].shape()));
      dst_views.push_back(View(dst_.back()->data(), dst_type, dst.shards[at].shape()));
      host_src_views_.push_back(
          ConstView(host_src_.back().data(), src_type, src.shards[at].shape()));
      host_dst_views_.push_back(View(host_dst_.back().data(), dst_type, dst.shards[at].shape()));
    }
    redistribute(host_dst_views_, host_src_views_, what_);
  }

  void run(const std::string& route, const Streams& streams) {
    redistribute(dst_views, src_views, what_, {streams.all, route});
  }

  void expect_equal(const Streams& streams) const {
    for (std::size_t device = 0; device < dst_.size(); ++device) {
      EXPECT_TRUE(dst_[device]->contents(streams[device]) == host_dst_[device])
          << "device " << device << ": " << which_.src << " to " << which_.dst;
    }
  }

  std::vector<View> dst_views;
  std::vector<ConstView> src_views;

 private:
  Case which_;
  Resharding what_;
  std::vector<std::unique_ptr<Shard>> src_, dst_;
  std::vector<Memory> host_src_, host_dst_;
  std::vector<View> host_dst_views_;
  std::vector<ConstView> host_src_views_;
};

void check_case(const Case& which, bool pool = false) {
  const Streams streams(static_cast<int>(
      std::accumulate(which.mesh.begin(), which.mesh.end(), std::int64_t{1}, std::multiplies<>())));
  for (const char* route : {"", "one pass", "copy engines"}) {
    SCOPED_TRACE(route);
    Both both(which, pool);
    both.run(route, streams);
    both.expect_equal(streams);
  }
  int current = -1;
  check(cudaGetDevice(&current), "cudaGetDevice");
  EXPECT_EQ(current, 0);
}

TEST(RedistributeEngineChecked, LayoutsOfEveryKind) {
  check_case({{130, 257}, {2}, "S0", "S0", {1, 0}, 4});
  check_case({{256, 256}, {2}, "S0", "S0", {1, 0}, 1});
  check_case({{2, 64, 8, 64}, {2}, "S1", "S2", {0, 1, 2, 3}, 2});
  check_case({{2, 64, 8, 64}, {2}, "S1", "S1", {0, 2, 1, 3}, 2});
  check_case({{24, 20, 32}, {2}, "S0", "S0", {2, 1, 0}, 8});
  check_case({{100, 33}, {2}, "S0:8", "S1:4@1", {1, 0}, 16});
  check_case({{3, 70}, {4}, "S0", "R", {0, 1}, 4});
}

TEST(RedistributeEngineChecked, ValuesAreConverted) {
  check_case({{130, 256}, {2}, "S0", "S0", {1, 0}, 0, Kind::i32, Kind::f64});
  check_case({{96, 64, 16}, {2}, "S0", "S1", {0, 2, 1}, 0, Kind::i16, Kind::f32});
  check_case({{64, 256}, {2}, "S0", "S1", {0, 1}, 0, Kind::i32, Kind::i8});
}

TEST(RedistributeOnGpus, LargeOnesInPiecesAndLongRuns) {
  check_case({{4096, 6000}, {2}, "S0", "S0", {1, 0}, 4});
  check_case({{4096, 16384}, {2}, "S0", "S1", {0, 1}, 2});
  check_case({{256, 48, 256}, {2}, "S0", "S0", {2, 1, 0}, 8});  // tiles in another order
  check_case({{256, 8192}, {2}, "S0", "S0", {1, 0}, 2});        // units of gather
}

TEST(RedistributeOnGpus, MemoryOfAPool) {
  check_case({{130, 257}, {2}, "S0", "S0", {1, 0}, 4}, true);
}

TEST(RedistributeOnGpus, RandomLayouts) {
  std::mt19937 random(3);
  const auto number = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  for (int round = 0; round < 30; ++round) {
    Case one;
    one.mesh = round % 3 == 0 ? Extents{2, 2} : Extents{2 + number(2)};
    const int rank = 1 + number(4);
    for (int axis = 0; axis < rank; ++axis) one.shape.push_back(1 + number(rank < 3 ? 300 : 24));
    one.perm.resize(static_cast<std::size_t>(rank));
    std::iota(one.perm.begin(), one.perm.end(), 0);
    std::shuffle(one.perm.begin(), one.perm.end(), random);
    one.size = 1 << number(5);
    const auto layout = [&] {
      std::string text;
      for (std::size_t k = 0; k < one.mesh.size(); ++k) {
        const std::string axis = std::to_string(number(rank));
        text += k == 0 ? "" : ",";
        text += number(4) == 0 ? "R" : number(2) == 0 ? "S" + axis : "S" + axis + ":3@1";
      }
      return text;
    };
    one.src = layout();
    one.dst = layout();
    check_case(one);
    if (HasFailure()) FAIL() << "round " << round;
  }
}

TEST(RedistributeOnGpus, CallsFollowEachOtherOnTheStreams) {
  const Case there{{1024, 2048}, {2}, "S0", "S0", {1, 0}, 4};
  const Streams streams(2);
  Both both(there, false);
  // The second call overwrites what the first one's receivers may still be waiting for.
  for (int turn = 0; turn < 20; ++turn)
    both.run(turn % 2 == 0 ? "one pass" : "copy engines", streams);
  both.expect_equal(streams);
}

TEST(RedistributeOnGpus, InAGraph) {
  const Streams streams(2);
  Both both({{2048, 4096}, {2}, "S0", "S0", {1, 0}, 4}, false);
  both.run("", streams);  // peer access is enabled before
  for (std::size_t k = 0; k < 2; ++k) {
    const OnDevice here(static_cast<int>(k) % cuda::device_count());
    check(cudaStreamSynchronize(streams[k]), "cudaStreamSynchronize");
    check(cudaMemsetAsync(both.dst_views[k].data, 0, 2048 * 4096 * 2, streams[k]), "cudaMemset");
    check(cudaStreamSynchronize(streams[k]), "cudaStreamSynchronize");
  }
  cudaEvent_t fork = nullptr, join = nullptr;
  check(cudaEventCreateWithFlags(&fork, cudaEventDisableTiming), "cudaEventCreate");
  {
    const OnDevice here(1 % cuda::device_count());
    check(cudaEventCreateWithFlags(&join, cudaEventDisableTiming), "cudaEventCreate");
  }
  check(cudaStreamBeginCapture(streams[0], cudaStreamCaptureModeThreadLocal), "begin");
  check(cudaEventRecord(fork, streams[0]), "record");
  check(cudaStreamWaitEvent(streams[1], fork, 0), "wait");
  both.run("one pass", streams);
  check(cudaEventRecord(join, streams[1]), "record");
  check(cudaStreamWaitEvent(streams[0], join, 0), "wait");
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t ready = nullptr;
  check(cudaStreamEndCapture(streams[0], &graph), "end");
  check(cudaGraphInstantiate(&ready, graph, 0), "instantiate");
  for (int turn = 0; turn < 3; ++turn) check(cudaGraphLaunch(ready, streams[0]), "launch");
  check(cudaStreamSynchronize(streams[0]), "cudaStreamSynchronize");
  both.expect_equal(streams);
  cudaGraphExecDestroy(ready);
  cudaGraphDestroy(graph);
  cudaEventDestroy(fork);
  cudaEventDestroy(join);
}

TEST(RedistributeOnGpus, MixedMemoryIsRefused) {
  const Streams streams(2);
  Both both({{8, 8}, {2}, "S0", "S1", {0, 1}, 4}, false);
  Memory host(8 * 4 * 4);
  both.dst_views[1].data = host.data();
  try {
    both.run("", streams);
    FAIL() << "it was not refused";
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), Status::invalid_argument);
    EXPECT_NE(std::string(error.what()).find("dst[1]"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace cornerturn
