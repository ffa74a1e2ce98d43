// The check of strided copies on the GPU: it accepts what the host has copied, and no byte else.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "cuda/device_buffer.hpp"
#include "workshop/cuda/strided_check.hpp"

namespace cornerturn::cuda {
namespace {

std::int64_t span(const Problem& problem, std::int64_t Mode::*stride, std::int64_t offset) {
  for (const Mode& mode : problem.modes) {
    if (mode.*stride > 0) offset += mode.*stride * (mode.extent - 1);
  }
  return offset + problem.dst_type.size();
}

void copy_on_host(const Problem& p, std::vector<std::byte>& dst,
                  const std::vector<std::byte>& src) {
  const auto size = static_cast<std::size_t>(p.dst_type.size());
  for (std::int64_t i = 0; i < p.elements(); ++i) {
    std::int64_t from = p.src_offset;
    std::int64_t to = p.dst_offset;
    std::int64_t rest = i;
    for (const Mode& mode : p.modes) {
      from += rest % mode.extent * mode.src_stride;
      to += rest % mode.extent * mode.dst_stride;
      rest /= mode.extent;
    }
    std::memcpy(&dst[static_cast<std::size_t>(to)], &src[static_cast<std::size_t>(from)], size);
  }
}

// 5 x 7 x 9 elements: turned, one mode backwards in the source, with gaps on both sides.
Problem turned(int element_bytes) {
  const std::int64_t b = element_bytes;
  Problem p;
  p.src_type = p.dst_type = ElementType::bytes(element_bytes);
  p.modes = {{5, b, 80 * b}, {7, -6 * b, 11 * b}, {9, 50 * b, b}};
  p.src_offset = 38 * b;
  p.dst_offset = 3 * b;
  return p;
}

class StridedCheckOfSize : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(ElementBytes, StridedCheckOfSize, testing::Values(1, 2, 3, 4, 8, 16, 40));

TEST_P(StridedCheckOfSize, SeesEveryWrongByte) {
  const Problem p = turned(GetParam());
  const std::int64_t src_bytes = span(p, &Mode::src_stride, p.src_offset);
  const std::int64_t dst_bytes = span(p, &Mode::dst_stride, p.dst_offset) + 37;
  const DeviceBuffer src(src_bytes);
  const DeviceBuffer dst(dst_bytes);
  const OwnStream stream;
  fill_with_ordinary_values(src.get(), src_bytes, GetParam(), stream);
  const StridedCheck check_of(p);

  check_of.poison(dst.get(), dst_bytes, stream);
  const std::string untouched = check_of.difference(dst.get(), dst_bytes, stream);
  EXPECT_NE(untouched.find("; 315 of 315 elements differ"), std::string::npos) << untouched;

  check_of.poison(dst.get(), dst_bytes, stream);
  std::vector<std::byte> source(static_cast<std::size_t>(src_bytes));
  std::vector<std::byte> right(static_cast<std::size_t>(dst_bytes));
  const auto download = [&](std::vector<std::byte>& to, const DeviceBuffer& from) {
    check(cudaMemcpyAsync(to.data(), from.get(), to.size(), cudaMemcpyDeviceToHost, stream),
          "copy");
    check(cudaStreamSynchronize(stream), "copy");
  };
  download(source, src);
  download(right, dst);
  copy_on_host(p, right, source);
  const auto verdict = [&](const std::vector<std::byte>& bytes) {
    check(cudaMemcpyAsync(dst.get(), bytes.data(), bytes.size(), cudaMemcpyHostToDevice, stream),
          "copy");
    return check_of.difference(dst.get(), dst_bytes, stream);
  };
  EXPECT_EQ(verdict(right), "");
  for (std::size_t i = 0; i < right.size(); i += 1 + right.size() / 150) {
    std::vector<std::byte> wrong = right;
    wrong[i] ^= std::byte{4};
    EXPECT_NE(verdict(wrong), "") << "byte " << i;
  }
}

TEST(StridedCheck, SaysWhichElementAndWhichByte) {
  Problem p;
  p.src_type = p.dst_type = ElementType::bytes(4);
  p.modes = {{3, 4, 20}, {4, 12, 4}};
  const DeviceBuffer dst(64);
  const OwnStream stream;
  const StridedCheck check_of(p);
  const DeviceBuffer src(64);
  fill_with_ordinary_values(src.get(), 64, 4, stream);
  const auto copy = [&](std::int64_t to, std::int64_t from, std::int64_t bytes) {
    check(cudaMemcpyAsync(dst.get() + to, src.get() + from, static_cast<std::size_t>(bytes),
                          cudaMemcpyDeviceToDevice, stream),
          "copy");
  };
  const auto copy_all = [&] {
    for (const std::int64_t i : {0, 1, 2}) {
      for (const std::int64_t j : {0, 1, 2, 3}) copy(20 * i + 4 * j, 4 * i + 12 * j, 4);
    }
  };
  check_of.poison(dst.get(), 64, stream);
  copy_all();
  copy(24, 0, 4);
  EXPECT_EQ(check_of.difference(dst.get(), 64, stream),
            "destination element 6 is not source element 4; 1 of 12 elements differ");
  check_of.poison(dst.get(), 64, stream);
  copy_all();
  copy(17, 0, 1);
  const std::string stray = check_of.difference(dst.get(), 64, stream);
  EXPECT_EQ(stray, "byte 17 of the destination belongs to no element and was written, one of 1");
}

}  // namespace
}  // namespace cornerturn::cuda
