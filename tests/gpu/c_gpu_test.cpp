// The C interface with memory of a GPU.
#include <gtest/gtest.h>

#include <cuda_runtime_api.h>

#include <string>

#include "cornerturn/cornerturn.h"
#include "cornerturn/cornerturn.hpp"
#include "cuda/check.hpp"
#include "cuda/device_buffer.hpp"
#include "on_gpu.hpp"

namespace cornerturn {
namespace {

using cuda::check;
using cuda::OwnStream;
using namespace test::on_gpu;

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
  check(cudaMemset(dst.data(), 0xa5, bytes), "cudaMemset");
  EXPECT_EQ(ct_transpose(dst.data(), contents.data(), rows, columns, "f32", nullptr), CT_OK);
  expect_transposed();
  ct_plan_free(plan);
}

}  // namespace
}  // namespace cornerturn
