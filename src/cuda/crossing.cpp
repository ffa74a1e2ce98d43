#include "cuda/crossing.hpp"

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <array>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "core/per_thread.hpp"
#include "cuda/backend.hpp"
#include "cuda/check.hpp"
#include "cuda/device_buffer.hpp"
#include "cuda/few_blocks.hpp"
#include "link/lanes.hpp"
#include "plan/link/route.hpp"

namespace cornerturn::cuda {
namespace {

// Pinned memory, and the event after which nothing happens with it any more.
struct Block {
  std::byte* at = nullptr;
  std::int64_t bytes = 0;
  cudaEvent_t idle = nullptr;
  bool is_taken = false;
};

// The blocks of one GPU. They stay until the process ends: to pin memory takes longer than to fill
// it.
class PinnedMemory {
 public:
  // Waits while others have all of it.
  Block& take(std::int64_t bytes) {
    std::unique_lock<std::mutex> lock(mutex_);
    Block* found = nullptr;
    given_back_.wait(lock, [&] { return (found = free_block(bytes)) != nullptr; });
    found->is_taken = true;
    lock.unlock();
    check_call(cudaEventSynchronize(found->idle));
    return *found;
  }

  void give_back(Block& block) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      block.is_taken = false;
    }
    given_back_.notify_all();
  }

 private:
  // Null: all that may be had is taken.
  Block* free_block(std::int64_t bytes) {
    for (const auto& block : blocks_) {
      if (!block->is_taken && block->bytes >= bytes) return block.get();
    }
    const std::int64_t most = most_pinned_bytes();
    for (auto it = blocks_.begin(); it != blocks_.end() && total_ + bytes > most;) {
      if ((*it)->is_taken) {
        ++it;
        continue;
      }
      release(**it);
      it = blocks_.erase(it);
    }
    if (total_ + bytes > most && total_ > 0) return nullptr;
    blocks_.push_back(std::make_unique<Block>(allocated(bytes)));
    total_ += bytes;
    return blocks_.back().get();
  }

  static Block allocated(std::int64_t bytes) {
    Block block{nullptr, bytes, nullptr, false};
    void* at = nullptr;
    const cudaError_t error = cudaMallocHost(&at, static_cast<std::size_t>(bytes));
    if (error == cudaErrorMemoryAllocation) {
      cudaGetLastError();
      throw Error(
          Status::out_of_memory,
          fmt::format("too little memory: {} bytes of pinned memory are not to be had", bytes));
    }
    check_call(error);
    block.at = static_cast<std::byte*>(at);
    check_call(cudaEventCreateWithFlags(&block.idle, cudaEventDisableTiming));
    return block;
  }

  void release(const Block& block) {
    cudaEventSynchronize(block.idle);
    cudaEventDestroy(block.idle);
    cudaFreeHost(block.at);
    total_ -= block.bytes;
  }

  std::mutex mutex_;
  std::condition_variable given_back_;
  std::vector<std::unique_ptr<Block>> blocks_;
  std::int64_t total_ = 0;
};

PinnedMemory& pinned_memory_of(int gpu) {
  static std::mutex mutex;
  static auto& all = *new std::map<int, PinnedMemory>;
  const std::lock_guard<std::mutex> lock(mutex);
  return all[gpu];
}

// Memory of a GPU for pieces on their way. It stays the library's between calls, as far as it is no
// more than `kept`: to map it takes longer than to fill it.
cudaMemPool_t pool_of_pieces(int gpu) {
  constexpr std::uint64_t kept = 64 << 20;
  static std::mutex mutex;
  static auto& all = *new std::map<int, cudaMemPool_t>;
  const std::lock_guard<std::mutex> lock(mutex);
  const auto found = all.find(gpu);
  if (found != all.end()) return found->second;
  cudaMemPoolProps properties{};
  properties.allocType = cudaMemAllocationTypePinned;
  properties.location.type = cudaMemLocationTypeDevice;
  properties.location.id = gpu;
  cudaMemPool_t pool = nullptr;
  check_call(cudaMemPoolCreate(&pool, &properties));
  std::uint64_t threshold = kept;
  check_call(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold));
  return all.emplace(gpu, pool).first->second;
}

void* from_pool(int gpu, std::int64_t bytes, Stream stream) {
  void* memory = nullptr;
  const cudaError_t error = cudaMallocFromPoolAsync(&memory, static_cast<std::size_t>(bytes),
                                                    pool_of_pieces(gpu), stream);
  if (error == cudaErrorMemoryAllocation) {
    cudaGetLastError();
    throw Error(Status::out_of_memory,
                fmt::format("too little GPU memory: {} bytes for pieces on their way", bytes));
  }
  check_call(error);
  return memory;
}

// Memory for small pieces that one stream of a thread uses again and again. To ask the pool and to
// give back takes as long as a tenth of a small copy.
class SmallPieces {
 public:
  static constexpr std::int64_t bytes = 4 << 20;

  SmallPieces() = default;
  SmallPieces(const SmallPieces&) = delete;
  SmallPieces& operator=(const SmallPieces&) = delete;
  ~SmallPieces() {
    if (at_ == nullptr) return;
    cudaFree(at_);
    cudaEventDestroy(idle_);
  }

  /// Null where another stream is not done with them: streams do not wait for each other.
  std::byte* take(int gpu, Stream stream) {
    if (at_ == nullptr) {
      if (idle_ == nullptr) check_call(cudaEventCreateWithFlags(&idle_, cudaEventDisableTiming));
      at_ = from_pool(gpu, bytes, stream);
    } else if (stream == stream_) {
      // A stream may be another one of the same address.
      check_call(cudaStreamWaitEvent(stream, idle_, 0));
    } else if (!is_done(idle_)) {
      return nullptr;
    }
    stream_ = stream;
    return static_cast<std::byte*>(at_);
  }

  void give_back() { cudaEventRecord(idle_, stream_); }

 private:
  void* at_ = nullptr;
  cudaEvent_t idle_ = nullptr;
  Stream stream_ = nullptr;
};

// A thread's streams for copies, one for each way, its events, and memory for small pieces, by GPU.
class ThreadsQueues {
 public:
  struct OfGpu {
    std::array<Stream, 2> engines = {};
    std::vector<cudaEvent_t> events;
    SmallPieces small;
  };

  ~ThreadsQueues() {
    for (const auto& [gpu, one] : by_gpu_) {
      for (const Stream stream : one.engines) {
        if (stream != nullptr) cudaStreamDestroy(stream);
      }
      for (const cudaEvent_t event : one.events) cudaEventDestroy(event);
    }
  }

  OfGpu& of(int gpu) { return by_gpu_[gpu]; }

 private:
  std::map<int, OfGpu> by_gpu_;
};

class CudaLanes : public link::Lanes {
 public:
  CudaLanes(int gpu, bool into_gpu, Stream stream)
      : gpu_(gpu),
        into_gpu_(into_gpu),
        caller_(stream),
        mine_(PerThread<ThreadsQueues>::get().of(gpu)) {}

  ~CudaLanes() override {
    // Memory goes back when both queues have come so far, whatever has happened.
    if (used_engine_) {
      cudaEventRecord(event(0), engine());
      cudaStreamWaitEvent(caller_, event(0), 0);
    }
    if (small_ != nullptr) mine_.small.give_back();
    if (memory_ != nullptr) cudaFreeAsync(memory_, caller_);
    if (block_ == nullptr) return;
    cudaEventRecord(block_->idle, caller_);
    pinned_memory_of(gpu_).give_back(*block_);
  }

  std::byte* gpu_memory(std::int64_t bytes) override {
    if (bytes <= SmallPieces::bytes) {
      small_ = mine_.small.take(gpu_, caller_);
      if (small_ != nullptr) return small_;
    }
    memory_ = from_pool(gpu_, bytes, caller_);
    return static_cast<std::byte*>(memory_);
  }

  std::byte* pinned_memory(std::int64_t bytes) override {
    block_ = &pinned_memory_of(gpu_).take(bytes);
    return block_->at;
  }

  void copy(link::Queue queue, void* dst, const void* src, std::int64_t bytes) override {
    check_call(cudaMemcpyAsync(dst, src, static_cast<std::size_t>(bytes),
                               into_gpu_ ? cudaMemcpyHostToDevice : cudaMemcpyDeviceToHost,
                               stream_of(queue)));
  }

  void run(const plan::Plan& plan, const Buffers& buffers, int blocks) override {
    if (blocks > 0) return execute_in_few_blocks(plan, buffers, blocks, caller_);
    execute(plan, buffers, caller_);
  }

  void record(link::Queue queue, int number) override {
    check_call(cudaEventRecord(event(number), stream_of(queue)));
  }
  void wait(link::Queue queue, int number) override {
    check_call(cudaStreamWaitEvent(stream_of(queue), event(number), 0));
  }
  void wait_here(int number) override { check_call(cudaEventSynchronize(event(number))); }

 private:
  Stream stream_of(link::Queue queue) { return queue == link::Queue::caller ? caller_ : engine(); }

  Stream engine() {
    Stream& stream = mine_.engines[into_gpu_ ? 0 : 1];
    if (stream == nullptr) check_call(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    used_engine_ = true;
    return stream;
  }

  cudaEvent_t event(int number) {
    const auto needed = static_cast<std::size_t>(number) + 1;
    while (mine_.events.size() < needed) {
      cudaEvent_t made = nullptr;
      check_call(cudaEventCreateWithFlags(&made, cudaEventDisableTiming));
      mine_.events.push_back(made);
    }
    return mine_.events[needed - 1];
  }

  int gpu_;
  bool into_gpu_;
  Stream caller_;
  ThreadsQueues::OfGpu& mine_;
  bool used_engine_ = false;
  std::byte* small_ = nullptr;
  void* memory_ = nullptr;
  Block* block_ = nullptr;
};

}  // namespace

void execute_across(const plan::Plan& plan, const Buffers& buffers, Stream stream) {
  CudaLanes lanes(plan.gpu, plan.machine.link()->into_gpu(), stream);
  link::execute(plan, buffers, lanes);
}

}  // namespace cornerturn::cuda
