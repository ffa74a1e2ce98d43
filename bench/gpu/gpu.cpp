#include <cuda_runtime_api.h>

#include <algorithm>
#include <chrono>

#include "core/problem.hpp"
#include "cuda/device.hpp"
#include "cuda/device_buffer.hpp"
#include "cuda/hold.hpp"
#include "gpu/accelerator.hpp"
#include "gpu/nvml.hpp"
#include "workshop/cuda/strided_check.hpp"
#include "workshop/cuda/timing.hpp"

namespace cornerturn::bench {
namespace {

using cuda::check;

Problem problem_of(const Case& c) {
  Problem problem;
  problem.src_type = problem.dst_type = ElementType::bytes(c.element_bytes);
  for (std::size_t k = 0; k < c.shape.size(); ++k) {
    problem.modes.push_back(
        {c.shape[k], c.src_strides[k] * c.element_bytes, c.dst_strides[k] * c.element_bytes});
  }
  problem.src_offset = c.src_offset * c.element_bytes;
  problem.dst_offset = c.dst_offset * c.element_bytes;
  return problem;
}

class Graph {
 public:
  Graph(cudaGraph_t graph, cudaStream_t stream) : stream_(stream) {
    const cudaError_t error = cudaGraphInstantiate(&executable_, graph, 0);
    cudaGraphDestroy(graph);
    check(error, "cudaGraphInstantiate");
    check(cudaGraphUpload(executable_, stream), "cudaGraphUpload");
  }
  ~Graph() { cudaGraphExecDestroy(executable_); }
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  void launch() const { check(cudaGraphLaunch(executable_, stream_), "cudaGraphLaunch"); }

 private:
  cudaStream_t stream_;
  cudaGraphExec_t executable_ = nullptr;
};

class Gpu : public Accelerator {
 public:
  Gpu() : info_(cuda::device_info()) {}

  std::string name() const override { return info_.name; }

  nlohmann::ordered_json provenance() const override {
    nlohmann::ordered_json out = {
        {"gpu", info_.name},
        {"compute_capability", std::to_string(info_.major) + "." + std::to_string(info_.minor)},
        {"multiprocessors", info_.sm_count},
        {"l2_bytes", info_.l2_bytes},
        {"memory_bytes", info_.memory_bytes},
        {"cuda_of_driver", info_.driver},
        {"cuda_of_build", info_.runtime}};
    out.update(nvml_facts());
    return out;
  }

  std::int64_t cache_bytes() const override { return info_.l2_bytes; }

  std::int64_t available_bytes() const override {
    std::size_t free_bytes = 0;
    std::size_t total = 0;
    check(cudaMemGetInfo(&free_bytes, &total), "cudaMemGetInfo");
    return static_cast<std::int64_t>(free_bytes) + src_bytes_ + dst_bytes_;
  }

  void reserve(std::int64_t src_bytes, std::int64_t dst_bytes) override {
    if (src_bytes <= src_bytes_ && dst_bytes <= dst_bytes_) return;
    src_bytes = std::max(src_bytes, src_bytes_);
    dst_bytes = std::max(dst_bytes, dst_bytes_);
    src_ = cuda::DeviceBuffer();
    dst_ = cuda::DeviceBuffer();
    src_bytes_ = dst_bytes_ = 0;
    src_ = cuda::DeviceBuffer(src_bytes);
    src_bytes_ = src_bytes;
    dst_ = cuda::DeviceBuffer(dst_bytes);
    dst_bytes_ = dst_bytes;
  }
  std::byte* src() const override { return src_.get(); }
  std::byte* dst() const override { return dst_.get(); }
  void* stream() const override { return static_cast<cudaStream_t>(stream_); }
  void synchronize() override { check(cudaStreamSynchronize(stream_), "waiting for the GPU"); }

  void fill(std::byte* src, std::int64_t bytes, int element_bytes) override {
    cuda::fill_with_ordinary_values(src, bytes, element_bytes, stream_);
  }
  void poison(const Case& c, std::byte* dst, std::int64_t bytes) override {
    cuda::StridedCheck(problem_of(c)).poison(dst, bytes, stream_);
  }
  std::string check(const Case& c, std::byte* dst, std::int64_t bytes) override {
    return cuda::StridedCheck(problem_of(c)).difference(dst, bytes, stream_);
  }

  void copy_by_driver(std::byte* dst, const std::byte* src, std::int64_t bytes) override {
    check(cudaMemcpyAsync(dst, src, static_cast<std::size_t>(bytes), cudaMemcpyDeviceToDevice,
                          stream_),
          "cudaMemcpyAsync");
  }
  void copy_by_kernel(std::byte* dst, const std::byte* src, std::int64_t bytes) override {
    cuda::vector_copy(src, dst, bytes, stream_);
  }

  std::vector<double> time(const std::vector<Work>& works) override {
    while (watches_.size() < works.size()) {
      watches_.push_back(std::make_unique<cuda::Stopwatch>());
    }
    cuda::hold(hold_seconds_, stream_);
    const auto from = std::chrono::steady_clock::now();
    for (std::size_t i = 0; i < works.size(); ++i) {
      watches_[i]->start(stream_);
      works[i]();
      watches_[i]->stop(stream_);
    }
    // As long as the host took this time, and a little.
    const std::chrono::duration<double> host = std::chrono::steady_clock::now() - from;
    hold_seconds_ = std::min(1.3 * host.count() + 20e-6, 5e-3);
    std::vector<double> seconds;
    for (std::size_t i = 0; i < works.size(); ++i) seconds.push_back(watches_[i]->seconds());
    check(cudaGetLastError(), "the timed work");
    return seconds;
  }

  Work capture(const Work& work, int calls) override {
    check(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal),
          "cudaStreamBeginCapture");
    cudaGraph_t graph = nullptr;
    try {
      for (int i = 0; i < calls; ++i) work();
    } catch (...) {
      cudaStreamEndCapture(stream_, &graph);
      cudaGraphDestroy(graph);
      cudaGetLastError();
      throw;
    }
    check(cudaStreamEndCapture(stream_, &graph), "cudaStreamEndCapture");
    return [held = std::make_shared<Graph>(graph, stream_)] { held->launch(); };
  }

 private:
  static void check(cudaError_t error, const char* what) { cuda::check(error, what); }

  cuda::DeviceInfo info_;
  cuda::OwnStream stream_;
  cuda::DeviceBuffer src_;
  cuda::DeviceBuffer dst_;
  std::int64_t src_bytes_ = 0;
  std::int64_t dst_bytes_ = 0;
  std::vector<std::unique_ptr<cuda::Stopwatch>> watches_;
  double hold_seconds_ = 200e-6;
};

}  // namespace

std::unique_ptr<Accelerator> open_gpu() {
  return std::make_unique<Gpu>();
}

}  // namespace cornerturn::bench
