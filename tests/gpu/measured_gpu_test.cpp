// Plans whose kernels were timed on the GPU.
#include <gtest/gtest.h>

#include <cuda_runtime_api.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "cornerturn/cornerturn.hpp"
#include "cuda/check.hpp"
#include "cuda/device_buffer.hpp"
#include "on_gpu.hpp"

namespace cornerturn {
namespace {

using cuda::check;
using cuda::OwnStream;
using namespace test::on_gpu;

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

}  // namespace
}  // namespace cornerturn
