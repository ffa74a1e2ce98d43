// Memory of a GPU with contents, and a transposition there that the tests of the public functions
// share.
#pragma once

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "cornerturn/cornerturn.hpp"
#include "cuda/check.hpp"
#include "cuda/device_buffer.hpp"

namespace cornerturn::test::on_gpu {

using Bytes = std::vector<std::uint8_t>;

inline Bytes numbered(std::int64_t count, std::uint64_t seed = 1) {
  Bytes bytes(static_cast<std::size_t>(count));
  for (std::uint8_t& byte : bytes) {
    seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
    byte = static_cast<std::uint8_t>(seed >> 56);
  }
  return bytes;
}

/// Memory of the GPU with contents; it begins `shift` bytes past a multiple of 256.
class OnGpu {
 public:
  explicit OnGpu(const Bytes& contents, std::int64_t shift = 0)
      : size_(contents.size()), memory_(static_cast<std::int64_t>(size_) + shift), shift_(shift) {
    cuda::check(cudaMemcpy(data(), contents.data(), size_, cudaMemcpyHostToDevice), "cudaMemcpy");
    // A copy of up to 64 KiB from pageable memory may return before it has arrived, and streams
    // that do not wait for the default stream would then be ahead of it.
    cuda::check(cudaStreamSynchronize(nullptr), "cudaStreamSynchronize");
  }

  std::byte* data() const { return memory_.get() + shift_; }
  Bytes contents() const {
    Bytes bytes(size_);
    cuda::check(cudaMemcpy(bytes.data(), data(), size_, cudaMemcpyDeviceToHost), "cudaMemcpy");
    return bytes;
  }

 private:
  std::size_t size_;
  cuda::DeviceBuffer memory_;
  std::int64_t shift_;
};

inline OnGpu poisoned(std::int64_t size, std::int64_t shift = 0) {
  return OnGpu(Bytes(static_cast<std::size_t>(size), 0xa5), shift);
}

inline constexpr std::int64_t rows = 300, columns = 517, bytes = rows * columns * 4;

inline Bytes transposed(const Bytes& src) {
  Bytes dst(src.size());
  transpose(reinterpret_cast<float*>(dst.data()), reinterpret_cast<const float*>(src.data()), rows,
            columns);
  return dst;
}

inline ConstView turned(const void* src) {
  return ConstView(src, ElementType(Kind::f32), {rows, columns}).permuted({{1, 0}});
}
inline View packed(void* dst) {
  return View(dst, ElementType(Kind::f32), {columns, rows});
}

inline std::pair<Status, std::string> refusal(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return {error.status(), error.what()};
  }
  return {Status::ok, ""};
}

inline void expect_refused(Status status, const std::string& part,
                           const std::function<void()>& call) {
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

}  // namespace cornerturn::test::on_gpu
