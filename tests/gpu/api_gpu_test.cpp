// The public functions on a GPU: which pointers they take, in which order they work, and what they
// say of wrong arguments. That the kernels are right is tested elsewhere; here few shapes do.
#include <gtest/gtest.h>

#include <cuda_runtime_api.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <functional>
#include <numeric>
#include <thread>
#include <vector>

#include "cornerturn/cornerturn.h"
#include "cornerturn/cornerturn.hpp"
#include "cuda/check.hpp"
#include "cuda/device_buffer.hpp"

namespace cornerturn {
namespace {

using cuda::check;
using cuda::DeviceBuffer;
using cuda::OwnStream;
using Bytes = std::vector<std::uint8_t>;

Bytes numbered(std::int64_t count, std::uint64_t seed = 1) {
  Bytes bytes(static_cast<std::size_t>(count));
  for (std::uint8_t& byte : bytes) {
    seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
    byte = static_cast<std::uint8_t>(seed >> 56);
  }
  return bytes;
}

// Memory of the GPU with contents; it begins `shift` bytes past a multiple of 256.
class OnGpu {
 public:
  explicit OnGpu(const Bytes& contents, std::int64_t shift = 0)
      : size_(contents.size()), memory_(static_cast<std::int64_t>(size_) + shift), shift_(shift) {
    check(cudaMemcpy(data(), contents.data(), size_, cudaMemcpyHostToDevice), "cudaMemcpy");
  }

  std::byte* data() const { return memory_.get() + shift_; }
  Bytes contents() const {
    Bytes bytes(size_);
    check(cudaMemcpy(bytes.data(), data(), size_, cudaMemcpyDeviceToHost), "cudaMemcpy");
    return bytes;
  }

 private:
  std::size_t size_;
  DeviceBuffer memory_;
  std::int64_t shift_;
};

OnGpu poisoned(std::int64_t size, std::int64_t shift = 0) {
  return OnGpu(Bytes(static_cast<std::size_t>(size), 0xa5), shift);
}

constexpr std::int64_t rows = 300, columns = 517, bytes = rows * columns * 4;

Bytes transposed(const Bytes& src) {
  Bytes dst(src.size());
  transpose(reinterpret_cast<float*>(dst.data()), reinterpret_cast<const float*>(src.data()), rows,
            columns);
  return dst;
}

ConstView turned(const void* src) {
  return ConstView(src, ElementType(Kind::f32), {rows, columns}).permuted({{1, 0}});
}
View packed(void* dst) {
  return View(dst, ElementType(Kind::f32), {columns, rows});
}

std::pair<Status, std::string> refusal(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return {error.status(), error.what()};
  }
  return {Status::ok, ""};
}

void expect_refused(Status status, const std::string& part, const std::function<void()>& call) {
  const auto [got, message] = refusal(call);
  EXPECT_EQ(static_cast<int>(got), static_cast<int>(status)) << message;
  EXPECT_NE(message.find(part), std::string::npos) << message;
}

class ApiOnGpu : public testing::Test {
 protected:
  Bytes contents = numbered(bytes);
  OnGpu src{contents};
  OnGpu dst = poisoned(bytes);

  void expect_transposed() const { EXPECT_TRUE(dst.contents() == transposed(contents)); }
  void expect_untouched() const { EXPECT_TRUE(dst.contents() == Bytes(contents.size(), 0xa5)); }
};

TEST_F(ApiOnGpu, Transpose) {
  transpose(dst.data(), src.data(), rows, columns, ElementType(Kind::f32));
  expect_transposed();
}

TEST_F(ApiOnGpu, Permute) {
  permute(dst.data(), ConstView(src.data(), ElementType(Kind::f32), {rows, columns}), {1, 0});
  expect_transposed();
}

// Tensors of ggml: (64, 5, 7, 2), the source with dimensions 1 and 2 swapped in memory, rows of the
// destination with gaps. On the GPU as in host memory, the gaps as well.
TEST(GgmlOnGpu, CopiesAsInHostMemory) {
  const auto tensor = [](GgmlType type, std::int64_t row, std::int64_t pitch, bool swapped) {
    const auto element = static_cast<std::size_t>(type == GgmlType::q8_0 ? 34 : row / 64);
    const auto step = static_cast<std::size_t>(pitch);
    return GgmlTensor{type,
                      {64, 5, 7, 2},
                      {element, swapped ? 7 * step : step, swapped ? step : 5 * step, 35 * step},
                      nullptr};
  };
  const auto row_of = [](GgmlType type) -> std::int64_t {
    return type == GgmlType::q8_0 ? 68 : type == GgmlType::f32 || type == GgmlType::i32 ? 256 : 128;
  };
  const GgmlType types[] = {GgmlType::f32, GgmlType::f16, GgmlType::bf16, GgmlType::i32,
                            GgmlType::q8_0};
  const GgmlTensor numbers = tensor(GgmlType::f32, 256, 256, false);
  std::vector<float> values(64 * 5 * 7 * 2);
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>(i * 7919 % 2003) * 0.37F - 370;
  }
  const OwnStream stream;
  Options options;
  options.stream = stream;
  for (const GgmlType from : types) {
    const std::int64_t row = row_of(from);
    GgmlTensor src = tensor(from, row, row, true);
    Bytes source(static_cast<std::size_t>(70 * row));
    GgmlTensor start = numbers;
    start.data = values.data();
    src.data = source.data();
    ggml_cpy(src, start);
    const OnGpu source_there(source);
    for (const GgmlType to : types) {
      const std::int64_t pitch = to == GgmlType::q8_0 ? 102 : row_of(to) + 64;
      GgmlTensor dst = tensor(to, row_of(to), pitch, false);
      Bytes expected(static_cast<std::size_t>(70 * pitch), 0xa5);
      const OnGpu result = poisoned(70 * pitch);
      src.data = source.data();
      dst.data = expected.data();
      ggml_cpy(dst, src);
      src.data = source_there.data();
      dst.data = result.data();
      ggml_cpy(dst, src, options);
      check(cudaStreamSynchronize(stream), "ggml_cpy");
      EXPECT_TRUE(result.contents() == expected)
          << static_cast<int>(from) << " to " << static_cast<int>(to);
    }
  }
}

TEST_F(ApiOnGpu, CopyOfViews) {
  copy(packed(dst.data()), turned(src.data()));
  expect_transposed();
}

TEST_F(ApiOnGpu, PlanAndExecute) {
  const Plan plan = make_plan(packed(dst.data()), turned(src.data()));
  EXPECT_NE(plan.device(), "cpu");
  EXPECT_EQ(plan.threads(), 0);
  EXPECT_EQ(plan.bytes(), bytes);
  expect_untouched();
  execute(plan, dst.data(), src.data());
  expect_transposed();
  // The same plan for other pointers.
  const Bytes others = numbered(bytes, 2);
  const OnGpu other(others);
  execute(plan, dst.data(), other.data());
  EXPECT_TRUE(dst.contents() == transposed(others));
}

TEST_F(ApiOnGpu, APlanMadeWithoutPointers) {
  Options options;
  options.device = "gpu";
  const Plan plan = make_plan(packed(nullptr), turned(nullptr), options);
  EXPECT_EQ(plan, make_plan(packed(dst.data()), turned(src.data())));
  execute(plan, dst.data(), src.data());
  expect_transposed();
}

TEST_F(ApiOnGpu, ViewsWithHolesLeaveThemAlone) {
  // Every second element of each row, backwards, into rows padded by 3 elements.
  const ElementType type(Kind::u16);
  const std::int64_t n = 100, m = 60;
  const ConstView from(src.data() + 2 * (2 * m - 1) * 1, type, {n, m}, {1000, -4});
  const View to(dst.data() + 6, type, {n, m}, {2 * (m + 3), 2});
  copy(to, from);
  Bytes expected(contents.size(), 0xa5);
  Bytes host = contents;
  copy(View(expected.data() + 6, type, to.shape, to.strides),
       ConstView(host.data() + 2 * (2 * m - 1), type, from.shape, from.strides));
  EXPECT_TRUE(dst.contents() == expected);
}

TEST_F(ApiOnGpu, AnyAddressWillDo) {
  for (const std::int64_t from : {1, 2, 4, 8}) {
    for (const std::int64_t to : {0, 1, 6}) {
      const OnGpu shifted(contents, from);
      const OnGpu result = poisoned(bytes, to);
      transpose(result.data(), shifted.data(), rows, columns, ElementType(Kind::f32));
      EXPECT_TRUE(result.contents() == transposed(contents)) << from << ", " << to;
    }
  }
}

TEST_F(ApiOnGpu, ManagedMemory) {
  void* managed = nullptr;
  check(cudaMallocManaged(&managed, contents.size()), "cudaMallocManaged");
  std::memcpy(managed, contents.data(), contents.size());
  EXPECT_NE(make_plan(packed(dst.data()), turned(managed)).device(), "cpu");
  transpose(dst.data(), managed, rows, columns, ElementType(Kind::f32));
  expect_transposed();
  // The CPU reaches it as well, when it is asked to.
  Options options;
  options.device = "cpu";
  Bytes host(contents.size());
  transpose(host.data(), managed, rows, columns, ElementType(Kind::f32), options);
  EXPECT_TRUE(host == transposed(contents));
  check(cudaFree(managed), "cudaFree");
}

TEST_F(ApiOnGpu, PinnedMemoryIsTheHosts) {
  void* pinned = nullptr;
  check(cudaMallocHost(&pinned, contents.size()), "cudaMallocHost");
  std::memcpy(pinned, contents.data(), contents.size());
  Bytes host(contents.size());
  EXPECT_EQ(make_plan(packed(host.data()), turned(pinned)).device(), "cpu");
  transpose(host.data(), pinned, rows, columns, ElementType(Kind::f32));
  EXPECT_TRUE(host == transposed(contents));
  check(cudaFreeHost(pinned), "cudaFreeHost");
}

TEST_F(ApiOnGpu, NothingToDo) {
  copy(View(dst.data(), ElementType(Kind::f32), {0, 5}),
       ConstView(src.data(), ElementType(Kind::f32), {0, 5}));
  const Plan plan = make_plan(View(dst.data(), ElementType(Kind::f32), {0, 5}),
                              ConstView(src.data(), ElementType(Kind::f32), {0, 5}));
  execute(plan, nullptr, nullptr);
  expect_untouched();
}

TEST_F(ApiOnGpu, PointersOfBothSidesAreRefused) {
  Bytes host(contents.size(), 7);
  expect_refused(Status::invalid_argument, " is host memory, src = ", [&] {
    transpose(host.data(), src.data(), rows, columns, ElementType(Kind::f32));
  });
  expect_refused(Status::invalid_argument, " is host memory, dst = ", [&] {
    transpose(dst.data(), contents.data(), rows, columns, ElementType(Kind::f32));
  });
  expect_refused(Status::invalid_argument, "is memory of GPU 0: both have to lie on one side",
                 [&] { copy(packed(dst.data()), turned(contents.data())); });
  EXPECT_TRUE(host == Bytes(contents.size(), 7));
  expect_untouched();
}

TEST_F(ApiOnGpu, NullAndOverlap) {
  expect_refused(Status::invalid_argument, "src = null",
                 [&] { copy(packed(dst.data()), turned(nullptr)); });
  expect_refused(Status::invalid_argument, "dst = null",
                 [&] { copy(packed(nullptr), turned(src.data())); });
  expect_refused(Status::invalid_argument,
                 "overlaps src = ", [&] { copy(packed(src.data()), turned(src.data())); });
  expect_refused(Status::invalid_argument, "overlaps src = ", [&] {
    copy(packed(src.data() + bytes - 4), turned(src.data()));
  });
  EXPECT_TRUE(src.contents() == contents);
  expect_untouched();
}

TEST_F(ApiOnGpu, OptionsDeviceIsChecked) {
  Options options;
  options.device = "cpu";
  expect_refused(Status::invalid_argument,
                 "is memory of GPU 0, options.device = 'cpu' needs host memory",
                 [&] { copy(packed(dst.data()), turned(src.data()), options); });
  options.device = "h200";
  expect_refused(Status::unsupported, "described",
                 [&] { copy(packed(dst.data()), turned(src.data()), options); });
  const Plan plan = make_plan(packed(dst.data()), turned(src.data()), options);
  expect_refused(Status::unsupported, "described", [&] { execute(plan, dst.data(), src.data()); });
  expect_untouched();
}

TEST_F(ApiOnGpu, APlanWantsThePointersItWasMadeFor) {
  const Plan on_gpu = make_plan(packed(dst.data()), turned(src.data()));
  Bytes host(contents.size(), 7);
  const Plan on_cpu = make_plan(packed(host.data()), turned(contents.data()));
  expect_refused(Status::invalid_argument, " is host memory, the plan is for GPU 0 (",
                 [&] { execute(on_gpu, host.data(), src.data()); });
  expect_refused(Status::invalid_argument, " is memory of GPU 0, the plan is for the CPU",
                 [&] { execute(on_cpu, host.data(), src.data()); });
  const OnGpu shifted(contents, 4);
  expect_refused(Status::invalid_argument,
                 " is aligned to 4 B, the plan is for addresses aligned to 16",
                 [&] { execute(on_gpu, dst.data(), shifted.data()); });
  expect_refused(Status::invalid_argument, "overlaps",
                 [&] { execute(on_gpu, src.data(), src.data()); });
  expect_refused(Status::invalid_argument, "src = null",
                 [&] { execute(on_gpu, dst.data(), nullptr); });
  expect_untouched();
  EXPECT_TRUE(host == Bytes(contents.size(), 7));
  // Better aligned than it was made for is fine.
  const Plan modest = make_plan(packed(dst.data()), turned(shifted.data()));
  EXPECT_FALSE(modest == on_gpu);
  execute(modest, dst.data(), src.data());
  expect_transposed();
}

TEST_F(ApiOnGpu, PointersOfAnotherGpu) {
  int count = 0;
  check(cudaGetDeviceCount(&count), "cudaGetDeviceCount");
  if (count < 2) GTEST_SKIP() << "one GPU alone";
  const Plan plan = make_plan(packed(dst.data()), turned(src.data()));
  check(cudaSetDevice(1), "cudaSetDevice");
  expect_refused(Status::invalid_argument, "is memory of GPU 0, the current one is GPU 1",
                 [&] { copy(packed(dst.data()), turned(src.data())); });
  expect_refused(Status::invalid_argument, "the current one is GPU 1",
                 [&] { execute(plan, dst.data(), src.data()); });
  {
    const OnGpu there = poisoned(bytes);
    expect_refused(Status::invalid_argument, "both have to lie on one GPU",
                   [&] { copy(packed(there.data()), turned(src.data())); });
    const OnGpu contents_there(contents);
    transpose(there.data(), contents_there.data(), rows, columns, ElementType(Kind::f32));
    EXPECT_TRUE(there.contents() == transposed(contents));
  }
  check(cudaSetDevice(0), "cudaSetDevice");
  expect_untouched();
}

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

TEST_F(ApiOnGpu, MeasuredPlansAreRightAndRemembered) {
  forget_plans();
  const OwnStream stream;
  Options options;
  options.stream = static_cast<cuda::Stream>(stream);
  options.effort = Effort::measure;
  copy(packed(dst.data()), turned(src.data()), options);
  check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  expect_transposed();
  const Plan measured = make_plan(packed(dst.data()), turned(src.data()), options);
  EXPECT_NE(measured.why().find("fastest when timed"), std::string::npos) << measured.why();
  const auto path =
      std::filesystem::temp_directory_path() / ("cornerturn_gpu_" + std::to_string(getpid()));
  save_winners(path.string());
  forget_plans();
  EXPECT_EQ(make_plan(packed(dst.data()), turned(src.data())).why().find("timed"),
            std::string::npos);
  load_winners(path.string());
  std::filesystem::remove(path);
  const Plan remembered = make_plan(packed(dst.data()), turned(src.data()));
  EXPECT_NE(remembered.why().find("timed before"), std::string::npos) << remembered.why();
  EXPECT_EQ(remembered.kernel(), measured.kernel());
  EXPECT_EQ(remembered.to_string(), measured.to_string());
  forget_plans();
}

TEST_F(ApiOnGpu, AnErrorThatSomebodyLeftBehindIsNotOurs) {
  void* never = nullptr;
  ASSERT_NE(cudaMalloc(&never, std::size_t{1} << 60), cudaSuccess);
  transpose(dst.data(), src.data(), rows, columns, ElementType(Kind::f32));
  EXPECT_EQ(cudaGetLastError(), cudaErrorMemoryAllocation) << "it is still there for its owner";
  expect_transposed();
}

// In a process of its own: the GPU is of no more use to it.
TEST(ApiOnGpuDeathTest, AnErrorOfEarlierWorkIsSaidToBe) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  const auto body = [] {
    const OnGpu memory(Bytes(1 << 20));
    const OnGpu result(Bytes(1 << 20));
    const ElementType type(Kind::f32);
    // The caller says that there is much more memory than there is, on the side away from dst.
    const std::int64_t far = (std::int64_t{1} << 40) * (result.data() > memory.data() ? -1 : 1);
    copy(View(result.data(), type, {2, 1000}), ConstView(memory.data(), type, {2, 1000}, {far, 4}));
    cudaDeviceSynchronize();
    const auto [status, message] =
        refusal([&] { transpose(result.data(), memory.data(), 30, 40, type); });
    std::fprintf(stderr, "%d: %s\n", static_cast<int>(status), message.c_str());
    std::_Exit(status == Status::device_error ? 0 : 1);
  };
  EXPECT_EXIT(body(), testing::ExitedWithCode(0), "8: a CUDA error from before this call: ");
}

TEST(ApiOnGpuLarge, MoreThan2To31Elements) {
  const std::int64_t n = 46349, m = 46351;  // 2^31 + 0.03 %
  const Bytes contents = numbered(n * m, 5);
  const OnGpu src(contents);
  const OnGpu dst = poisoned(n * m);
  transpose(dst.data(), src.data(), n, m, ElementType(Kind::u8));
  Bytes result = dst.contents();
  std::int64_t wrong = 0;
  for (std::int64_t j = 0; j < m; j += 97) {
    for (std::int64_t i = 0; i < n; ++i) {
      wrong += result[static_cast<std::size_t>(j * n + i)] !=
               contents[static_cast<std::size_t>(i * m + j)];
    }
  }
  EXPECT_EQ(wrong, 0);
  copy(View(dst.data(), ElementType(Kind::u8), {n * m}),
       ConstView(src.data(), ElementType(Kind::u8), {n * m}));
  EXPECT_TRUE(dst.contents() == contents);
}

TEST_F(ApiOnGpu, OfC) {
  const std::int64_t shape[2] = {rows, columns};
  const int perm[2] = {1, 0};
  const ct_const_view view = {src.data(), "f32", 2, shape, nullptr};
  const OwnStream stream;
  ct_options options = CT_OPTIONS_INIT;
  options.stream = static_cast<cuda::Stream>(stream);
  options.device = "gpu";
  ASSERT_EQ(ct_permute(dst.data(), &view, perm, &options), CT_OK) << ct_last_error();
  check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  expect_transposed();

  const std::int64_t turned_shape[2] = {columns, rows};
  const std::int64_t turned_strides[2] = {4, 4 * columns};
  const ct_const_view from = {src.data(), "f32", 2, turned_shape, turned_strides};
  const ct_view to = {dst.data(), "f32", 2, turned_shape, nullptr};
  ct_plan* plan = nullptr;
  ASSERT_EQ(ct_plan_make(&plan, &to, &from, nullptr), CT_OK) << ct_last_error();
  EXPECT_STRNE(ct_plan_device(plan), "cpu");
  for (const bool on_stream : {false, true}) {
    check(cudaMemset(dst.data(), 0xa5, bytes), "cudaMemset");
    check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    ASSERT_EQ(on_stream ? ct_plan_execute_on(plan, dst.data(), src.data(), options.stream)
                        : ct_plan_execute(plan, dst.data(), src.data()),
              CT_OK)
        << ct_last_error();
    check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    expect_transposed();
  }
  EXPECT_EQ(ct_plan_execute(plan, dst.data(), contents.data()), CT_INVALID_ARGUMENT);
  EXPECT_NE(std::string(ct_last_error()).find("src = "), std::string::npos);
  EXPECT_EQ(ct_transpose(dst.data(), contents.data(), rows, columns, "f32", nullptr),
            CT_INVALID_ARGUMENT);
  ct_plan_free(plan);
}

}  // namespace
}  // namespace cornerturn
