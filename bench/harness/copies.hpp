// The yardsticks: memcpy and a non-temporal copy loop, on one thread or several.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

namespace cornerturn::bench {

/// Threads that sleep between jobs, so that they do not disturb what is measured in between.
class Team {
 public:
  explicit Team(int threads);
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  int size() const noexcept { return static_cast<int>(workers_.size()) + 1; }

  /// Calls job(0) ... job(size() - 1), each on its own thread (0 on the caller's), and waits.
  void run(const std::function<void(int)>& job);

 private:
  void work(int member);

  std::vector<std::thread> workers_;
  const std::function<void(int)>* job_ = nullptr;
  std::atomic<unsigned> round_{0};
  std::atomic<int> busy_{0};
  std::atomic<bool> stop_{false};
};

/// Both yardsticks share the work out alike: copy_part(dst, src, size) for one contiguous part a
/// thread, cut at multiples of 4 KiB.
using CopyPartFunction = void (*)(std::byte* dst, const std::byte* src, std::size_t size);
void copy_in_parts(Team& team, void* dst, const void* src, std::int64_t bytes,
                   CopyPartFunction copy_part);

/// std::memcpy, each thread a contiguous part.
void copy_with_memcpy(Team& team, void* dst, const void* src, std::int64_t bytes);

/// Vector loads and non-temporal stores of whole vectors, the widest this machine has. `dst` is
/// aligned to 64 bytes.
void copy_non_temporal(Team& team, void* dst, const void* src, std::int64_t bytes);

/// The name of the instruction set that copy_non_temporal uses here, e.g. "AVX3".
const char* non_temporal_target();

}  // namespace cornerturn::bench
