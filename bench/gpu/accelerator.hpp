// What the runner needs of a GPU, in plain C++: memory, a stream, timed work, and the check.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "harness/case.hpp"

namespace cornerturn::bench {

/// Enqueues something on the accelerator's stream.
using Work = std::function<void()>;

class Accelerator {
 public:
  virtual ~Accelerator() = default;

  virtual std::string name() const = 0;
  /// Driver, versions, clocks as they are now.
  virtual nlohmann::ordered_json provenance() const = 0;
  virtual std::int64_t cache_bytes() const = 0;
  /// Memory that is free or held by reserve().
  virtual std::int64_t available_bytes() const = 0;

  /// Makes src() and dst() hold at least so many bytes. Their contents are lost when they move.
  virtual void reserve(std::int64_t src_bytes, std::int64_t dst_bytes) = 0;
  virtual std::byte* src() const = 0;
  virtual std::byte* dst() const = 0;
  /// A cudaStream_t.
  virtual void* stream() const = 0;
  virtual void synchronize() = 0;

  /// Fills `bytes` bytes of the source with the values that check() expects.
  virtual void fill(std::byte* src, std::int64_t bytes, int element_bytes) = 0;
  /// Makes the first `bytes` of a destination differ from what `c` leaves there, in every element.
  virtual void poison(const Case& c, std::byte* dst, std::int64_t bytes) = 0;
  /// "" or what is wrong with a destination that was poisoned before. Waits.
  virtual std::string check(const Case& c, std::byte* dst, std::int64_t bytes) = 0;

  /// Enqueues the two plain copies: the driver's, and a kernel's with 16 bytes an access.
  virtual void copy_by_driver(std::byte* dst, const std::byte* src, std::int64_t bytes) = 0;
  virtual void copy_by_kernel(std::byte* dst, const std::byte* src, std::int64_t bytes) = 0;

  /// Runs each work once, in this order, and returns the seconds that each took on the device. The
  /// stream is held until the host has enqueued all of them, so that no launch waits for the host.
  virtual std::vector<double> time(const std::vector<Work>& works) = 0;
  /// A work that runs `work` `calls` times, captured in a graph.
  virtual Work capture(const Work& work, int calls) = 0;
};

/// The GPU that this process would use. Throws Error(unsupported) that says why there is none.
std::unique_ptr<Accelerator> open_gpu();

}  // namespace cornerturn::bench
