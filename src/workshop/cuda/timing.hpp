// Times launches on a GPU, several subjects in rounds, with a cold and with a warm L2 cache.
#pragma once

#include <functional>
#include <vector>

#include "cuda/device_buffer.hpp"
#include "workshop/cuda/device_rung.hpp"

namespace cornerturn::cuda {

/// Fills the L2 cache with lines that nobody else wants, none of them dirty.
class CacheFlush {
 public:
  CacheFlush();
  void operator()(Stream stream) const;

 private:
  std::int64_t bytes_ = 0;
  DeviceBuffer data_;
};

/// Enqueues one launch.
using Subject = std::function<void(Stream)>;

/// Times all subjects, one run of each after the other, until the first has been seen for
/// `options.budget` seconds. Same order as `subjects`.
std::vector<Timing> time_cold(const std::vector<Subject>& subjects, const CacheFlush& flush,
                              const MeasureOptions& options, Stream stream);
/// One run is a CUDA graph of many launches of a subject.
std::vector<Timing> time_warm(const std::vector<Subject>& subjects, const MeasureOptions& options,
                              Stream stream);

/// A copy through registers, 16 bytes an access. Both addresses are multiples of 16.
void vector_copy(const std::byte* src, std::byte* dst, std::int64_t bytes, Stream stream);

}  // namespace cornerturn::cuda
