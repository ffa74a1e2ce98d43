// The largest magnitude, and quantising by it, on the GPU that is here: the bits of all that comes
// back compared with the CPU's. `--gtest_filter=*QuantiseChecked*` is in the list for
// compute-sanitizer.
#include <gtest/gtest.h>

#include <cuda_runtime_api.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "cornerturn/cornerturn.h"
#include "cornerturn/cornerturn.hpp"
#include "cuda/check.hpp"
#include "cuda/device_buffer.hpp"
#include "support/conversions.hpp"
#include "support/strided_view.hpp"

namespace cornerturn {
namespace {

using cuda::check;
using cuda::DeviceBuffer;
using cuda::OwnStream;
using Bytes = std::vector<std::byte>;

const ElementType f32(Kind::f32);
constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float nan_value = std::numeric_limits<float>::quiet_NaN();

// Memory of the GPU with contents.
struct Device {
  Device(const void* contents, std::size_t size)
      : bytes(size), buffer(static_cast<std::int64_t>(size)) {
    check(cudaMemcpy(buffer.get(), contents, size, cudaMemcpyHostToDevice), "cudaMemcpy");
  }
  explicit Device(const Bytes& contents) : Device(contents.data(), contents.size()) {}
  Bytes get() const {
    check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    Bytes out(bytes);
    check(cudaMemcpy(out.data(), buffer.get(), bytes, cudaMemcpyDeviceToHost), "cudaMemcpy");
    return out;
  }
  std::byte* at() const { return buffer.get(); }

  std::size_t bytes;
  DeviceBuffer buffer;
};

std::uint64_t bits_of(double x) {
  return values::bits_as<std::uint64_t>(x);
}

// Packed in the order of the axes, with as many bytes from one element to the next.
Extents strides_for(const Extents& shape, std::int64_t step) {
  Extents strides(shape.size());
  for (std::size_t i = shape.size(); i-- > 0;) {
    strides[i] = step;
    step *= shape[i];
  }
  return strides;
}

void expect_quantised_alike(const ConstView& here, const ConstView& there, Kind to,
                            std::int64_t step) {
  const Extents strides = strides_for(here.shape, step);
  std::size_t elements = 1;
  for (const std::int64_t extent : here.shape) elements *= static_cast<std::size_t>(extent);
  Bytes expected(elements * static_cast<std::size_t>(step), std::byte{0xa5});
  const Device dst(expected);
  const ElementType type(to);
  const double scale =
      quantise_tensor(View(expected.data(), type, here.shape, strides), here, {.threads = 1});
  const double found = quantise_tensor(View(dst.at(), type, here.shape, strides), there);
  EXPECT_EQ(bits_of(found), bits_of(scale)) << found << " is not " << scale;
  EXPECT_TRUE(dst.get() == expected) << "to " << type.name() << ", " << step << " bytes apart";
}

void check_views(unsigned seed, int count) {
  std::mt19937 random(seed);
  for (const Kind kind : test::kinds()) {
    if (kind == Kind::c64 || kind == Kind::c128) continue;
    for (int i = 0; i < count; ++i) {
      const ElementType type = i % 3 != 2 ? ElementType(kind) : ElementType(kind).swapped();
      test::StridedView view(random, type.size());
      if (view.is_empty()) continue;
      view.fill(type, random, i % 4 == 0);
      SCOPED_TRACE(type.name() + ": " + view.text());
      const Device src(view.memory);
      const ConstView here(view.data(), type, view.shape, view.strides);
      const ConstView there(src.at() + view.first, type, view.shape, view.strides);
      const double expected = amax(here, {.threads = 1});
      const double found = amax(there);
      EXPECT_EQ(bits_of(found), bits_of(expected)) << found << " is not " << expected;
      for (const Kind to : {Kind::f8_e4m3, Kind::f8_e5m2, Kind::i8}) {
        expect_quantised_alike(here, there, to, 1 + i % 2);
      }
      if (testing::Test::HasFailure()) return;
    }
  }
}

TEST(AmaxOnGpu, ViewsOfEveryType) {
  check_views(51, 60);
}

TEST(QuantiseChecked, WholeTensors) {
  check_views(52, 6);
}

// Matrices that have the fast kernels, and values of an ordinary size.
TEST(AmaxOnGpu, TransposedMatrices) {
  constexpr std::int64_t rows = 1000, columns = 736;
  std::mt19937 random(53);
  std::normal_distribution<float> normal(0, 3);
  std::vector<float> x(rows * columns);
  for (float& v : x) v = normal(random);
  for (const Kind kind : {Kind::f32, Kind::bf16, Kind::f16, Kind::f64, Kind::i16}) {
    const ElementType type(kind);
    Bytes elements(x.size() * static_cast<std::size_t>(type.size()));
    const View made(elements.data(), type, {rows, columns});
    copy(made, ConstView(x.data(), f32, {rows, columns}), Epilogue{});
    const Device src(elements);
    const ConstView here(elements.data(), type, {rows, columns});
    const ConstView there(src.at(), type, {rows, columns});
    for (const Kind to : {Kind::f8_e4m3, Kind::f8_e5m2, Kind::i8}) {
      SCOPED_TRACE(type.name());
      expect_quantised_alike(here, there, to, 1);
      expect_quantised_alike(here.permuted({1, 0}), there.permuted({1, 0}), to, 1);
    }
  }
}

// One launch fills the GPU, and goes round.
TEST(AmaxOnGpu, OneValueAmongMany) {
  constexpr std::int64_t count = 50'000'001;
  const DeviceBuffer memory(4 * (count + 3));
  check(cudaMemset(memory.get(), 0, 4 * (count + 3)), "cudaMemset");
  std::mt19937 random(54);
  for (int i = 0; i < 40; ++i) {
    const std::int64_t first = i % 4;
    const std::int64_t at = i < 4   ? 0
                            : i < 8 ? count - 1
                                    : static_cast<std::int64_t>(random() % count);
    const float value = -1.5F - static_cast<float>(i), zero = 0;
    std::byte* const data = memory.get() + 4 * first;
    check(cudaMemcpy(data + 4 * at, &value, 4, cudaMemcpyHostToDevice), "cudaMemcpy");
    ASSERT_EQ(amax(ConstView(data, f32, {count})), 1.5 + i) << at;
    check(cudaMemcpy(data + 4 * at, &zero, 4, cudaMemcpyHostToDevice), "cudaMemcpy");
    ASSERT_EQ(amax(ConstView(data, f32, {count})), 0);
  }
}

TEST(AmaxOnGpu, WhatHasNoScale) {
  const std::vector<std::vector<float>> tensors = {
      {0, -0.0F, 0},           {1, -infinity, 1000},      {1, infinity, -nan_value, nan_value},
      {448, -1, 17},           {0x1p-130F, -0x1p-140F},   {0x1p-149F},
      {-nan_value, nan_value}, {3.4e38F, -3.4e38F, 1, 2},
  };
  for (const std::vector<float>& x : tensors) {
    const Device src(x.data(), 4 * x.size());
    const Extents shape{static_cast<std::int64_t>(x.size())};
    for (const Kind to : {Kind::f8_e4m3, Kind::f8_e5m2, Kind::i8}) {
      SCOPED_TRACE(x[0]);
      expect_quantised_alike(ConstView(x.data(), f32, shape), ConstView(src.at(), f32, shape), to,
                             1);
    }
  }
  EXPECT_EQ(amax(ConstView(nullptr, f32, {2, 0})), 0);
}

TEST(AmaxOnGpu, FollowsWhatIsOnTheStream) {
  constexpr std::int64_t count = 32 << 20;
  void* pinned = nullptr;
  check(cudaMallocHost(&pinned, 4 * count), "cudaMallocHost");
  std::fill_n(static_cast<float*>(pinned), count, 1.0F);
  static_cast<float*>(pinned)[count - 1] = -7;
  const DeviceBuffer src(4 * count), dst(count);
  const OwnStream stream;
  cuda::Stream on = stream;
  check(cudaMemset(src.get(), 0, 4 * count), "cudaMemset");
  check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  const ConstView view(src.get(), f32, {count});
  check(cudaMemcpyAsync(src.get(), pinned, 4 * count, cudaMemcpyHostToDevice, stream),
        "cudaMemcpy");
  EXPECT_EQ(amax(view, {.stream = on}), 7);

  static_cast<float*>(pinned)[0] = 14;
  check(cudaMemcpyAsync(src.get(), pinned, 4 * count, cudaMemcpyHostToDevice, stream),
        "cudaMemcpy");
  const double scale =
      quantise_tensor(View(dst.get(), ElementType(Kind::i8), {count}), view, {.stream = on});
  EXPECT_EQ(scale, static_cast<double>(1.0F / (127.0F / 14.0F)));
  std::int8_t first = 0, last = 0;
  check(cudaMemcpyAsync(&first, dst.get(), 1, cudaMemcpyDeviceToHost, stream), "cudaMemcpy");
  check(cudaMemcpyAsync(&last, dst.get() + count - 1, 1, cudaMemcpyDeviceToHost, stream),
        "cudaMemcpy");
  check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  EXPECT_EQ(first, 127);
  EXPECT_EQ(last, -64);  // 63.5, to even
  cudaFreeHost(pinned);
}

// More than can have a place of their own for what the kernel leaves.
TEST(AmaxOnGpu, FromManyThreads) {
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 40; ++t) {
    threads.emplace_back([&wrong, t] {
      const std::int64_t count = 100'000 + 1000 * t;
      std::vector<float> x(static_cast<std::size_t>(count), 0.5F);
      x[static_cast<std::size_t>(count - 1 - t)] = static_cast<float>(-1 - t);
      const Device src(x.data(), 4 * x.size());
      const OwnStream stream;
      for (int i = 0; i < 50; ++i) {
        wrong += amax(ConstView(src.at(), f32, {count}),
                      {.stream = static_cast<cuda::Stream>(stream)}) != 1 + t;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST(AmaxOnGpu, OfManagedMemory) {
  void* managed = nullptr;
  check(cudaMallocManaged(&managed, 400), "cudaMallocManaged");
  auto* const x = static_cast<float*>(managed);
  for (int i = 0; i < 100; ++i) x[i] = static_cast<float>(i) - 70;
  const DeviceBuffer dst(100);
  EXPECT_EQ(amax(ConstView(x, f32, {100})), 70);
  const double scale =
      quantise_tensor(View(dst.get(), ElementType(Kind::i8), {100}), ConstView(x, f32, {100}));
  EXPECT_EQ(scale, static_cast<double>(1.0F / (127.0F / 70.0F)));
  check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  cudaFree(managed);
}

TEST(AmaxOnGpu, InC) {
  const float x[] = {1, -4, 2, 3};
  const Device src(x, sizeof x), dst(x, 4);
  const int64_t shape[] = {2, 2};
  const ct_const_view from = {src.at(), "f32", 2, shape, nullptr};
  const ct_view to = {dst.at(), "i8", 2, shape, nullptr};
  const OwnStream stream;
  check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  double found = 0;
  ASSERT_EQ(ct_amax(&found, &from, 0), CT_OK) << ct_last_error();
  EXPECT_EQ(found, 4);
  found = 0;
  ASSERT_EQ(ct_amax_on(&found, &from, 0, static_cast<cuda::Stream>(stream)), CT_OK)
      << ct_last_error();
  EXPECT_EQ(found, 4);
  ASSERT_EQ(ct_quantise_tensor_on(&to, &found, &from, 0, static_cast<cuda::Stream>(stream)), CT_OK)
      << ct_last_error();
  EXPECT_EQ(found, static_cast<double>(1.0F / (127.0F / 4.0F)));
  std::int8_t values[4];
  const Bytes got = dst.get();
  std::memcpy(values, got.data(), 4);
  EXPECT_EQ(values[0], 32);
  EXPECT_EQ(values[1], -127);
}

void expect_refused(Status status, const std::string& part, const std::function<void()>& call) {
  try {
    call();
    ADD_FAILURE() << "nothing was refused";
  } catch (const Error& error) {
    EXPECT_EQ(static_cast<int>(error.status()), static_cast<int>(status)) << error.what();
    EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
  }
}

void expect_refused_while_captured(cuda::Stream captured, cuda::Stream on) {
  const std::vector<float> x(64, 3);
  const Device src(x.data(), 256), dst(x.data(), 64);
  const ConstView from(src.at(), f32, {64});
  const View to(dst.at(), ElementType(Kind::f8_e4m3), {64});
  Options options;
  options.stream = captured;
  cudaGraph_t graph = nullptr;
  check(cudaStreamBeginCapture(captured, cudaStreamCaptureModeGlobal), "cudaStreamBeginCapture");
  const std::string message = "but the stream is being captured";
  expect_refused(Status::unsupported, message, [&] { amax(from, {.stream = on}); });
  expect_refused(Status::unsupported, message, [&] { quantise_tensor(to, from, {.stream = on}); });
  copy(to, from, options);  // the capture goes on
  check(cudaStreamEndCapture(captured, &graph), "cudaStreamEndCapture");
  std::size_t nodes = 0;
  check(cudaGraphGetNodes(graph, nullptr, &nodes), "cudaGraphGetNodes");
  EXPECT_EQ(nodes, 1U);
  check(cudaGraphDestroy(graph), "cudaGraphDestroy");
  EXPECT_EQ(amax(from, {.stream = on}), 3);
}

TEST(AmaxOnGpu, IsRefusedWhileTheStreamIsCaptured) {
  const OwnStream stream;
  expect_refused_while_captured(stream, stream);
  cudaStream_t blocking = nullptr;  // for which the default stream waits
  check(cudaStreamCreate(&blocking), "cudaStreamCreate");
  expect_refused_while_captured(blocking, blocking);
  expect_refused_while_captured(blocking, nullptr);
  check(cudaStreamDestroy(blocking), "cudaStreamDestroy");
}

TEST(AmaxOnGpu, BadArguments) {
  const DeviceBuffer gpu(1 << 12);
  Bytes host(1 << 12, std::byte{0x5a});
  const ElementType e4m3(Kind::f8_e4m3);
  expect_refused(Status::invalid_argument, "is host memory", [&] {
    quantise_tensor(View(host.data(), e4m3, {64}), ConstView(gpu.get(), f32, {64}));
  });
  expect_refused(Status::invalid_argument, "is host memory", [&] {
    quantise_tensor(View(gpu.get(), e4m3, {64}), ConstView(host.data(), f32, {64}));
  });
  expect_refused(Status::invalid_argument, "multiples of 4",
                 [&] { amax(ConstView(gpu.get() + 2, f32, {64})); });
  expect_refused(Status::invalid_argument, "overlaps", [&] {
    quantise_tensor(View(gpu.get() + 8, e4m3, {64}), ConstView(gpu.get(), f32, {64}));
  });
  EXPECT_EQ(host, Bytes(1 << 12, std::byte{0x5a}));
}

}  // namespace
}  // namespace cornerturn
