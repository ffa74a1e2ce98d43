// Errors of CUDA that were there before a call.
#include <gtest/gtest.h>

#include <cuda_runtime_api.h>

#include <cstdio>
#include <cstdlib>

#include "cornerturn/cornerturn.hpp"
#include "on_gpu.hpp"

namespace cornerturn {
namespace {

using namespace test::on_gpu;

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

}  // namespace
}  // namespace cornerturn
