// One of the lanes on which boxes travel from the host through the GPU and back. Plain C++, and in
// every build.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

namespace cornerturn::cuda {

/// Pinned memory of the host and memory of the GPU for one box, before and after, and a stream.
class Lane {
 public:
  /// Bytes of the buffers for a box before, and after. Throws Error: unsupported where there is no
  /// GPU, out_of_memory.
  Lane(std::int64_t bytes_in, std::int64_t bytes_out);
  Lane(Lane&&) noexcept;
  ~Lane();

  std::byte* in() const noexcept;   ///< of the host, to be filled before run()
  std::byte* out() const noexcept;  ///< of the host, the result after run()
  std::byte* device_in() const noexcept;
  std::byte* device_out() const noexcept;
  void* stream() const noexcept;

  /// Copies `bytes_in` of in() to the GPU, calls `work`, which enqueues on the stream, copies
  /// `bytes_out` of the result to out(), and waits for all of it.
  void run(std::int64_t bytes_in, std::int64_t bytes_out, const std::function<void()>& work) const;

 private:
  struct Buffers;
  std::unique_ptr<Buffers> buffers_;
};

}  // namespace cornerturn::cuda
