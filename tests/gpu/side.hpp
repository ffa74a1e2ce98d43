// One side of a problem in the host's memory and the GPU's, with guard zones.
#pragma once

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/validate.hpp"
#include "cuda/check.hpp"
#include "cuda/device_buffer.hpp"

namespace cornerturn::test {

using Bytes = std::vector<std::byte>;

/// `guard` bytes, the problem's reach, `guard` bytes. What it reaches begins `phase` bytes past a
/// multiple of 256.
class Side {
 public:
  Side(const Reach& reach, std::int64_t phase, std::int64_t guard)
      : before_(guard + phase),
        low_(reach.low),
        host_(static_cast<std::size_t>(before_ + reach.high - reach.low + guard)),
        gpu_(static_cast<std::int64_t>(host_.size())) {}

  Bytes& host() { return host_; }
  std::byte* host_zero() { return zero(host_.data()); }
  std::byte* gpu_zero() const { return zero(gpu_.get()); }
  void upload(const Bytes& contents) const {
    cuda::check(cudaMemcpy(gpu_.get(), contents.data(), contents.size(), cudaMemcpyHostToDevice),
                "cudaMemcpy");
  }
  Bytes download() const {
    Bytes contents(host_.size());
    cuda::check(cudaMemcpy(contents.data(), gpu_.get(), contents.size(), cudaMemcpyDeviceToHost),
                "cudaMemcpy");
    return contents;
  }

 private:
  // Where the problem's offsets count from.
  std::byte* zero(std::byte* start) const { return start + before_ - low_; }

  std::int64_t before_;
  std::int64_t low_;
  Bytes host_;
  cuda::DeviceBuffer gpu_;
};

inline void fill(Bytes& bytes, std::uint64_t state) {
  for (std::byte& byte : bytes) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    byte = static_cast<std::byte>(state >> 56);
  }
}

inline std::int64_t alignment_of(const void* p) {
  const auto address = reinterpret_cast<std::uintptr_t>(p);
  return std::min<std::int64_t>(16, static_cast<std::int64_t>(address & (0 - address)));
}

}  // namespace cornerturn::test
