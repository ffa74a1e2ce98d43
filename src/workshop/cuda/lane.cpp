#include "workshop/cuda/lane.hpp"

#include "cuda/device.hpp"
#include "cuda/device_buffer.hpp"

namespace cornerturn::cuda {

namespace {

// Before anything is allocated.
std::int64_t with_gpu(std::int64_t bytes) {
  if (const auto why = why_no_gpu()) throw Error(Status::unsupported, "no GPU: " + *why);
  return bytes;
}

}  // namespace

struct Lane::Buffers {
  class PinnedBuffer {
   public:
    explicit PinnedBuffer(std::int64_t bytes) {
      if (cudaMallocHost(&at_, static_cast<std::size_t>(bytes)) != cudaSuccess) {
        cudaGetLastError();
        throw Error(Status::out_of_memory, "too little memory: " + std::to_string(bytes) +
                                               " bytes of pinned memory are not to be had");
      }
    }
    PinnedBuffer(const PinnedBuffer&) = delete;
    PinnedBuffer& operator=(const PinnedBuffer&) = delete;
    ~PinnedBuffer() { cudaFreeHost(at_); }

    std::byte* get() const { return static_cast<std::byte*>(at_); }

   private:
    void* at_ = nullptr;
  };

  Buffers(std::int64_t bytes_in, std::int64_t bytes_out)
      : device_in(bytes_in), device_out(bytes_out), in(bytes_in), out(bytes_out) {}

  DeviceBuffer device_in;
  DeviceBuffer device_out;
  PinnedBuffer in;
  PinnedBuffer out;
  OwnStream stream;
};

Lane::Lane(std::int64_t bytes_in, std::int64_t bytes_out)
    : buffers_(std::make_unique<Buffers>(with_gpu(bytes_in), bytes_out)) {}
Lane::Lane(Lane&&) noexcept = default;
Lane::~Lane() = default;

std::byte* Lane::in() const noexcept {
  return buffers_->in.get();
}
std::byte* Lane::out() const noexcept {
  return buffers_->out.get();
}
std::byte* Lane::device_in() const noexcept {
  return buffers_->device_in.get();
}
std::byte* Lane::device_out() const noexcept {
  return buffers_->device_out.get();
}
void* Lane::stream() const noexcept {
  return static_cast<Stream>(buffers_->stream);
}

void Lane::run(std::int64_t bytes_in, std::int64_t bytes_out,
               const std::function<void()>& work) const {
  const Stream stream = buffers_->stream;
  check(cudaMemcpyAsync(device_in(), in(), static_cast<std::size_t>(bytes_in),
                        cudaMemcpyHostToDevice, stream),
        "a copy to the GPU");
  work();
  check(cudaMemcpyAsync(out(), device_out(), static_cast<std::size_t>(bytes_out),
                        cudaMemcpyDeviceToHost, stream),
        "a copy from the GPU");
  check(cudaStreamSynchronize(stream), "work on the GPU");
}

}  // namespace cornerturn::cuda
