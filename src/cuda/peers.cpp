#include "cuda/peers.hpp"

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <limits>
#include <map>
#include <mutex>
#include <set>
#include <utility>

#include "core/normalise.hpp"
#include "core/per_thread.hpp"
#include "cuda/backend.hpp"
#include "cuda/check.hpp"
#include "cuda/place.hpp"

namespace cornerturn::cuda {
namespace {

void set_current(int gpu) {
  const cudaError_t error = cudaSetDevice(gpu);
  if (error == cudaSuccess) return;
  cudaGetLastError();
  throw Error(Status::device_error,
              fmt::format("cudaSetDevice({}): {}", gpu, cudaGetErrorString(error)));
}

// The streams of a thread, by their GPU. A stream that is part of a capture is no use to others
// until that ends.
class SideStreams {
 public:
  ~SideStreams() {
    for (const auto& [gpu, streams] : by_gpu_) {
      for (const Stream stream : streams) cudaStreamDestroy(stream);
    }
  }

  // `count` streams of the current GPU, none of which takes part in another capture than `trunk`.
  std::vector<Stream> take(Stream trunk, std::size_t count) {
    std::vector<Stream>& mine = by_gpu_[current_device()];
    const unsigned long long wanted = capture_of(trunk);
    std::vector<Stream> taken;
    for (const Stream stream : mine) {
      if (taken.size() == count) return taken;
      const unsigned long long capture = capture_of(stream);
      if (capture == 0 || capture == wanted) taken.push_back(stream);
    }
    while (taken.size() < count) {
      Stream made = nullptr;
      check_call(cudaStreamCreateWithFlags(&made, cudaStreamNonBlocking));
      mine.push_back(made);
      taken.push_back(made);
    }
    return taken;
  }

 private:
  // 0: none.
  static unsigned long long capture_of(Stream stream) {
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    unsigned long long id = 0;
    const cudaError_t error = cudaStreamGetCaptureInfo(stream, &status, &id);
    if (error == cudaSuccess) return status == cudaStreamCaptureStatusNone ? 0 : id;
    cudaGetLastError();
    // The legacy stream, while another one is being captured: it is in no capture.
    if (error == cudaErrorStreamCaptureImplicit) return 0;
    check_launch(error);
    return 0;
  }

  std::map<int, std::vector<Stream>> by_gpu_;
};

constexpr std::size_t most_branches = 4;

// A rectangle of bytes, and how often it is repeated.
struct Rectangles {
  std::int64_t width = 0;
  Mode rows{1, 0, 0};
  ModeList others;
  std::int64_t count = 1;
};

Rectangles rectangles_of(const Problem& problem) {
  const Problem normal = normalise(problem);
  Rectangles found;
  found.width = normal.src_type.size();
  found.others = normal.modes;
  ModeList& modes = found.others;
  if (!modes.empty() && modes.back().src_stride == found.width &&
      modes.back().dst_stride == found.width) {
    found.width *= modes.back().extent;
    modes.pop_back();
  }
  // The longest mode that the engines take: rows lie further apart than they are wide.
  constexpr std::int64_t widest = std::numeric_limits<std::int32_t>::max();
  const auto taken = [&](std::int64_t pitch) { return pitch >= found.width && pitch <= widest; };
  int longest = -1;
  for (int k = 0; k < modes.size(); ++k) {
    if (!taken(modes[k].src_stride) || !taken(modes[k].dst_stride)) continue;
    if (longest < 0 || modes[k].extent > modes[longest].extent) longest = k;
  }
  if (longest >= 0) {
    found.rows = modes[longest];
    modes.erase(longest);
  }
  for (const Mode& mode : modes) found.count *= mode.extent;
  return found;
}

}  // namespace

CurrentGpu::CurrentGpu(int gpu) : before_(current_device()), gpu_(gpu) {
  if (before_ != gpu_) set_current(gpu_);
}

CurrentGpu::~CurrentGpu() {
  if (before_ != gpu_ && cudaSetDevice(before_) != cudaSuccess) cudaGetLastError();
}

void allow_access(int from, int to, const void* memory) {
  if (from == to) return;
  static std::mutex mutex;
  static auto& allowed = *new std::set<std::pair<int, int>>;
  const std::lock_guard<std::mutex> lock(mutex);
  if (!allowed.contains({from, to})) {
    int can = 0;
    check_call(cudaDeviceCanAccessPeer(&can, from, to));
    if (can == 0) {
      throw Error(Status::unsupported,
                  fmt::format("GPU {} cannot reach the memory of GPU {}: there is no peer access "
                              "between them",
                              from, to));
    }
    const CurrentGpu current(from);
    const cudaError_t error = cudaDeviceEnablePeerAccess(to, 0);
    if (error != cudaErrorPeerAccessAlreadyEnabled) check_call(error);
    cudaGetLastError();
    allowed.insert({from, to});
  }
  // Memory of a pool has an access of its own.
  if (void* pool = pool_of(memory)) {
    cudaMemAccessDesc access{};
    access.location.type = cudaMemLocationTypeDevice;
    access.location.id = from;
    access.flags = cudaMemAccessFlagsProtReadWrite;
    check_call(cudaMemPoolSetAccess(static_cast<cudaMemPool_t>(pool), &access, 1));
  }
}

Event::Event() {
  check_call(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming));
}

Event::~Event() {
  if (event_ != nullptr) cudaEventDestroy(event_);
}

Event::Event(Event&& other) noexcept : event_(std::exchange(other.event_, nullptr)) {}

void Event::record(Stream stream) {
  check_call(cudaEventRecord(event_, stream));
}

void Event::hold(Stream stream) const {
  check_call(cudaStreamWaitEvent(stream, event_, 0));
}

Branches::~Branches() {
  try {
    join();
  } catch (const Error&) {  // the one that is on its way says more
  }
}

void Branches::fork() {
  std::vector<Stream> streams = PerThread<SideStreams>::get().take(trunk_, most_branches - 1);
  Event now;
  now.record(trunk_);
  for (const Stream stream : streams) {
    now.hold(stream);
    streams_.push_back(stream);
  }
}

Stream Branches::operator[](int number) {
  const std::size_t which = static_cast<std::size_t>(number) % most_branches;
  if (which == 0) return trunk_;
  if (streams_.empty()) fork();
  return streams_[which - 1];
}

void Branches::join() {
  const std::vector<Stream> streams = std::exchange(streams_, {});
  for (const Stream stream : streams) {
    Event end;
    end.record(stream);
    end.hold(trunk_);
  }
}

bool engines_can(const Problem& problem) {
  constexpr std::int64_t most_calls = 64;
  if (problem.operation() != Operation::move) return false;
  const Rectangles all = rectangles_of(problem);
  return all.count <= most_calls;
}

void copy_by_engines(const Problem& problem, void* dst, const void* src, Stream stream) {
  if (problem.elements() == 0) return;
  // Offsets and signs of strides are those of the normal form.
  const Problem normal = normalise(problem);
  const Rectangles all = rectangles_of(problem);
  auto* const to = static_cast<std::byte*>(dst) + normal.dst_offset;
  const auto* const from = static_cast<const std::byte*>(src) + normal.src_offset;
  for (std::int64_t n = 0; n < all.count; ++n) {
    std::int64_t rest = n, to_at = 0, from_at = 0;
    for (const Mode& mode : all.others) {
      to_at += rest % mode.extent * mode.dst_stride;
      from_at += rest % mode.extent * mode.src_stride;
      rest /= mode.extent;
    }
    const auto size = [](std::int64_t bytes) { return static_cast<std::size_t>(bytes); };
    if (all.rows.extent == 1) {
      check_call(
          cudaMemcpyAsync(to + to_at, from + from_at, size(all.width), cudaMemcpyDefault, stream));
    } else {
      check_call(cudaMemcpy2DAsync(to + to_at, size(all.rows.dst_stride), from + from_at,
                                   size(all.rows.src_stride), size(all.width),
                                   size(all.rows.extent), cudaMemcpyDefault, stream));
    }
  }
}

}  // namespace cornerturn::cuda
