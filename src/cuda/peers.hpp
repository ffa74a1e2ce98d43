// Several GPUs of one process, and several streams of one GPU: what a redistribution needs beside
// launches. Plain C++: no CUDA types.
#pragma once

#include <vector>

#include "core/problem.hpp"
#include "cuda/stream.hpp"

struct CUevent_st;

namespace cornerturn::cuda {

/// Makes a GPU the current one as long as it lives.
class CurrentGpu {
 public:
  explicit CurrentGpu(int gpu);
  ~CurrentGpu();  // NOLINT(performance-trivially-destructible): not where there are GPUs
  CurrentGpu(const CurrentGpu&) = delete;
  CurrentGpu& operator=(const CurrentGpu&) = delete;

 private:
  [[maybe_unused]] int before_;
  [[maybe_unused]] int gpu_;
};

/// Lets the GPU `from` store to `memory`, which the GPU `to` owns, from now on. Throws
/// Error(unsupported) where the hardware has no way.
void allow_access(int from, int to, const void* memory);

/// A point in the work of a stream of the current GPU, for which other streams can wait.
class Event {
 public:
  Event();
  ~Event();  // NOLINT(performance-trivially-destructible): as above
  Event(Event&& other) noexcept;
  Event& operator=(Event&&) = delete;

  void record(Stream stream);
  /// The stream, of any GPU, goes on after the point. Nobody waits on the host.
  void hold(Stream stream) const;

 private:
  [[maybe_unused]] CUevent_st* event_ = nullptr;
};

/// Streams of the current GPU whose work happens beside that of `trunk`: after what is in it now,
/// and before what comes to it after join(). They may be captured with it. Each thread has its own,
/// and keeps them.
class Branches {
 public:
  explicit Branches(Stream trunk) : trunk_(trunk) {}
  ~Branches();
  Branches(const Branches&) = delete;
  Branches& operator=(const Branches&) = delete;

  /// Number 0 is the trunk itself.
  Stream operator[](int number);
  void join();

 private:
  void fork();

  [[maybe_unused]] Stream trunk_;
  std::vector<Stream> streams_;
};

/// Can the copy engines do it: is it a few rectangles of long runs?
bool engines_can(const Problem& problem);
/// Has copy engines do it: `dst` and `src` lie anywhere that the current GPU reaches.
void copy_by_engines(const Problem& problem, void* dst, const void* src, Stream stream);

}  // namespace cornerturn::cuda
