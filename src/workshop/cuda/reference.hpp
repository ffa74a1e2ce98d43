// The check of a transposition, on the GPU: what every element should be is computed on its own.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "cuda/device_buffer.hpp"
#include "workshop/cuda/device_rung.hpp"

namespace cornerturn::cuda {

/// A matrix between two guard zones.
class GuardedMatrix {
 public:
  GuardedMatrix() = default;
  /// Room for `payload` bytes, the first of them `shift` bytes after a multiple of 256, and `spare`
  /// bytes after the last that are no guard.
  GuardedMatrix(std::int64_t payload, std::int64_t guard, std::int64_t shift, std::int64_t spare);

  std::byte* data() const { return memory_.get() + before_; }
  std::byte* begin() const { return memory_.get(); }
  std::int64_t before() const { return before_; }  ///< bytes of the guard in front
  std::int64_t after() const { return after_; }    ///< and behind
  std::int64_t payload() const { return payload_; }

 private:
  DeviceBuffer memory_;
  std::int64_t before_ = 0;
  std::int64_t after_ = 0;
  std::int64_t payload_ = 0;
};

/// rows x cols elements, numbered so that 2- and 1-byte elements repeat without a period and longer
/// ones not at all (4 bytes: not within 2^32 elements).
void fill_source(const GuardedMatrix& src, int element_bytes, Stream stream);

/// The complement of what is expected everywhere in the output, and the guard zones' pattern.
void poison(const GuardedMatrix& dst, const DeviceMatrix& m, bool transposes, Stream stream);

/// How many elements or bytes of a part were not as expected, and the first of them.
struct Found {
  unsigned long long count = 0;
  unsigned long long first = ~0ULL;
};
enum Part { output, source, before_source, after_source, before_output, after_output, part_count };

/// Compares all elements of the output and the source, and all guard zones; waits.
std::array<Found, part_count> compare(const GuardedMatrix& src, const GuardedMatrix& dst,
                                      const DeviceMatrix& m, bool transposes, Stream stream);

/// What `compare` found, in one line; empty if all is right.
std::string difference(const GuardedMatrix& src, const GuardedMatrix& dst, const DeviceMatrix& m,
                       bool transposes, Stream stream);

/// The value of element `i` of the source, and where element `i` of the output comes from.
std::uint64_t source_value(std::int64_t i, int element_bytes);
std::int64_t source_index(std::int64_t i, const DeviceMatrix& m, bool transposes);

}  // namespace cornerturn::cuda
