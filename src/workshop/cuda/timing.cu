#include "workshop/cuda/timing.hpp"

#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace cornerturn::cuda {

namespace {

__global__ void read_kernel(const uint4* data, std::int64_t count, unsigned* never) {
  unsigned sum = 0;
  for (std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count;
       i += std::int64_t{gridDim.x} * blockDim.x) {
    const uint4 v = data[i];
    sum += v.x ^ v.y ^ v.z ^ v.w;
  }
  if (sum == 1) *never = sum;  // all of the data is zero
}

constexpr int copy_threads = 256;
constexpr int copy_vectors = 4;  // in flight, of a thread

__global__ void __launch_bounds__(copy_threads)
    copy_kernel(const std::byte* src, std::byte* dst, std::int64_t bytes) {
  const std::int64_t vectors = bytes / 16;
  const std::int64_t first = std::int64_t{blockIdx.x} * (copy_threads * copy_vectors) + threadIdx.x;
  const auto* from = reinterpret_cast<const uint4*>(src);
  auto* to = reinterpret_cast<uint4*>(dst);
  if (first + (copy_vectors - 1) * copy_threads < vectors) {
    uint4 v[copy_vectors];
#pragma unroll
    for (int i = 0; i < copy_vectors; ++i) v[i] = from[first + i * copy_threads];
#pragma unroll
    for (int i = 0; i < copy_vectors; ++i) to[first + i * copy_threads] = v[i];
    return;
  }
  for (int i = 0; i < copy_vectors; ++i) {
    const std::int64_t at = first + i * copy_threads;
    if (at < vectors) to[at] = from[at];
    if (at == vectors) {
      for (std::int64_t b = 16 * vectors; b < bytes; ++b) dst[b] = src[b];
    }
  }
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*std::max_element(values.begin(), middle) + *middle) / 2;
}

Timing summary(const std::vector<double>& seconds) {
  Timing timing;
  timing.runs = static_cast<int>(seconds.size());
  timing.seconds = median(seconds);
  std::vector<double> deviations;
  for (const double s : seconds) deviations.push_back(std::abs(s - timing.seconds));
  timing.noise = timing.seconds == 0 ? 0 : 1.4826 * median(std::move(deviations)) / timing.seconds;
  return timing;
}

// run(subject, stopwatch) enqueues what is timed; `launches` says of how many launches that was.
template <class Run>
std::vector<Timing> in_turns(const std::vector<Subject>& subjects, const MeasureOptions& options,
                             const std::vector<int>& launches, Run&& run) {
  std::vector<Stopwatch> watches(subjects.size());
  std::vector<std::vector<double>> seconds(subjects.size());
  double seen = 0;
  for (int n = 0; n < options.max_runs && (n < options.min_runs || seen < options.budget); ++n) {
    for (std::size_t i = 0; i < subjects.size(); ++i) run(i, watches[i]);
    for (std::size_t i = 0; i < subjects.size(); ++i) {
      const double total = watches[i].seconds();
      seconds[i].push_back(total / launches[i]);
      if (i == 0) seen += total;
    }
  }
  std::vector<Timing> timings;
  for (const auto& s : seconds) timings.push_back(summary(s));
  return timings;
}

}  // namespace

CacheFlush::CacheFlush() {
  int device = 0;
  int cache = 0;
  check(cudaGetDevice(&device), "cudaGetDevice");
  check(cudaDeviceGetAttribute(&cache, cudaDevAttrL2CacheSize, device), "cudaDeviceGetAttribute");
  bytes_ = 2 * std::int64_t{std::max(cache, 1 << 20)};
  data_ = DeviceBuffer(bytes_ + 16);
  check(cudaMemset(data_.get(), 0, static_cast<std::size_t>(bytes_) + 16), "cudaMemset");
}

void CacheFlush::operator()(Stream stream) const {
  read_kernel<<<1024, 256, 0, stream>>>(reinterpret_cast<const uint4*>(data_.get()), bytes_ / 16,
                                        reinterpret_cast<unsigned*>(data_.get() + bytes_));
}

void vector_copy(const std::byte* src, std::byte* dst, std::int64_t bytes, Stream stream) {
  constexpr std::int64_t of_block = 16 * copy_threads * copy_vectors;
  const std::int64_t blocks = bytes / of_block + 1;  // one more than full ones: the rest
  copy_kernel<<<static_cast<unsigned>(blocks), copy_threads, 0, stream>>>(src, dst, bytes);
}

std::vector<Timing> time_cold(const std::vector<Subject>& subjects, const CacheFlush& flush,
                              const MeasureOptions& options, Stream stream) {
  for (const Subject& subject : subjects) subject(stream);  // modules loaded, attributes set
  const std::vector<int> once(subjects.size(), 1);
  return in_turns(subjects, options, once, [&](std::size_t i, Stopwatch& watch) {
    flush(stream);
    watch.start(stream);
    subjects[i](stream);
    watch.stop(stream);
  });
}

namespace {

// Launches that follow each other without the host: what it takes to enqueue one does not count.
class Graph {
 public:
  Graph(const Subject& subject, int launches, Stream stream) {
    cudaGraph_t recorded = nullptr;
    check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "recording a graph");
    for (int n = 0; n < launches; ++n) subject(stream);
    check(cudaStreamEndCapture(stream, &recorded), "recording a graph");
    const cudaError_t made = cudaGraphInstantiate(&graph_, recorded, 0);
    cudaGraphDestroy(recorded);
    check(made, "making a graph");
    check(cudaGraphUpload(graph_, stream), "making a graph");
  }
  ~Graph() {
    if (graph_ != nullptr) cudaGraphExecDestroy(graph_);
  }
  Graph(Graph&& other) noexcept : graph_(std::exchange(other.graph_, nullptr)) {}
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
  Graph& operator=(Graph&&) = delete;

  void play(Stream stream) const { check(cudaGraphLaunch(graph_, stream), "playing a graph"); }

 private:
  cudaGraphExec_t graph_ = nullptr;
};

}  // namespace

std::vector<Timing> time_warm(const std::vector<Subject>& subjects, const MeasureOptions& options,
                              Stream stream) {
  // So many launches that the events' own time and the graph's start do not count.
  constexpr double enough = 400e-6;
  MeasureOptions few = options;
  few.max_runs = few.min_runs = 3;
  const std::vector<int> once(subjects.size(), 1);
  const std::vector<Timing> roughly =
      in_turns(subjects, few, once, [&](std::size_t i, Stopwatch& watch) {
        subjects[i](stream);
        watch.start(stream);
        subjects[i](stream);
        watch.stop(stream);
      });
  std::vector<int> launches;
  std::vector<Graph> graphs;
  for (std::size_t i = 0; i < subjects.size(); ++i) {
    launches.push_back(
        std::clamp(static_cast<int>(enough / std::max(roughly[i].seconds, 1e-7)), 1, 100));
    graphs.emplace_back(subjects[i], launches[i], stream);
  }
  return in_turns(subjects, options, launches, [&](std::size_t i, Stopwatch& watch) {
    subjects[i](stream);
    watch.start(stream);
    graphs[i].play(stream);
    watch.stop(stream);
  });
}

}  // namespace cornerturn::cuda
