// Which pointers the public functions take for a GPU, and what they say of the others.
#include <gtest/gtest.h>

#include <cuda_runtime_api.h>

#include <cstring>

#include "cornerturn/cornerturn.hpp"
#include "cuda/check.hpp"
#include "on_gpu.hpp"

namespace cornerturn {
namespace {

using cuda::check;
using namespace test::on_gpu;

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

}  // namespace
}  // namespace cornerturn
