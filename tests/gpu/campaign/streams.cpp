#include <cuda_runtime_api.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "campaign/report.hpp"
#include "cornerturn/cornerturn.hpp"
#include "cuda/check.hpp"
#include "gpu/side.hpp"

namespace cornerturn::campaign {
namespace {

using cuda::check;
using cuda::DeviceBuffer;
using test::Bytes;

constexpr int thread_count = 8, streams_a_thread = 8;

void upload(const DeviceBuffer& gpu, const Bytes& contents, cuda::Stream stream) {
  check(
      cudaMemcpyAsync(gpu.get(), contents.data(), contents.size(), cudaMemcpyHostToDevice, stream),
      "cudaMemcpyAsync");
}

// What one stream works on: x becomes its transpose, and the transpose x again, as other types.
struct Work {
  std::int64_t rows, columns;
  Bytes contents, expected;
  DeviceBuffer src, turned, back;
  cuda::OwnStream stream;

  Work(std::int64_t rows_of_it, std::int64_t columns_of_it, std::uint64_t seed)
      : rows(rows_of_it),
        columns(columns_of_it),
        contents(static_cast<std::size_t>(rows * columns * 4)),
        expected(contents.size()),
        src(rows * columns * 4),
        turned(rows * columns * 4),
        back(rows * columns * 4) {
    test::fill(contents, seed);
    transpose(expected.data(), contents.data(), rows, columns, ElementType::bytes(4));
    upload(src, contents, stream);
    poison();
  }
  void poison() const {
    const auto bytes = contents.size();
    check(cudaMemsetAsync(turned.get(), 0xa5, bytes, stream), "cudaMemsetAsync");
    check(cudaMemsetAsync(back.get(), 0xa5, bytes, stream), "cudaMemsetAsync");
    check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  }
  void enqueue() const {
    Options options;
    options.stream = static_cast<cuda::Stream>(stream);
    transpose(turned.get(), src.get(), rows, columns, ElementType::bytes(4), options);
    permute(back.get(), ConstView(turned.get(), ElementType::bytes(4), {columns, rows}), {1, 0},
            options);
  }
  bool is_right() const {
    check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    return same(turned, expected) && same(back, contents);
  }

 private:
  bool same(const DeviceBuffer& gpu, const Bytes& like) const {
    Bytes got(like.size());
    check(cudaMemcpyAsync(got.data(), gpu.get(), got.size(), cudaMemcpyDeviceToHost, stream),
          "cudaMemcpyAsync");
    check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    return got == like;
  }
};

// The calls as a graph, made while `mode` says what others may not do.
class Graph {
 public:
  Graph(const Work& work, cudaStreamCaptureMode mode) {
    check(cudaStreamBeginCapture(work.stream, mode), "cudaStreamBeginCapture");
    std::string refused;
    try {
      work.enqueue();
    } catch (const std::exception& error) {
      refused = error.what();
    }
    cudaGraph_t graph = nullptr;
    const cudaError_t ended = cudaStreamEndCapture(work.stream, &graph);
    if (!refused.empty()) throw Error(Status::internal, "captured: " + refused);
    check(ended, "cudaStreamEndCapture");
    const cudaError_t made = cudaGraphInstantiate(&executable_, graph, 0);
    cudaGraphDestroy(graph);
    check(made, "cudaGraphInstantiate");
  }
  ~Graph() { cudaGraphExecDestroy(executable_); }
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
  void launch(cuda::Stream stream) const {
    check(cudaGraphLaunch(executable_, stream), "cudaGraphLaunch");
  }

 private:
  cudaGraphExec_t executable_ = nullptr;
};

// Threads that report into one.
class Together {
 public:
  explicit Together(Report& report) : report_(report) {}
  template <class Body>
  void start(const Body& body) {
    threads_.emplace_back([this, body] {
      try {
        body();
      } catch (const std::exception& error) {
        say(false, std::string("a thread ended: ") + error.what());
      }
    });
  }
  void say(bool right, const std::string& what) {
    const std::lock_guard<std::mutex> lock(mutex_);
    report_.expect(right, what);
  }
  void count(const std::string& what, std::int64_t runs) {
    const std::lock_guard<std::mutex> lock(mutex_);
    report_.runs[what] += runs;
  }
  void join() {
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }

 private:
  Report& report_;
  std::mutex mutex_;
  std::vector<std::thread> threads_;
};

}  // namespace

Report graphs(const Settings& settings) {
  Report report("8 threads x 8 streams, with graphs");
  Together together(report);
  for (int t = 0; t < thread_count; ++t) {
    together.start([&, t] {
      std::vector<std::unique_ptr<Work>> works;
      std::vector<std::unique_ptr<Graph>> made;
      for (int s = 0; s < streams_a_thread; ++s) {
        const int number = t * streams_a_thread + s;
        works.push_back(std::make_unique<Work>(100 + 7 * number, 517 - 3 * number,
                                               settings.seed + static_cast<unsigned>(number)));
        made.push_back(std::make_unique<Graph>(*works.back(), cudaStreamCaptureModeThreadLocal));
      }
      for (int round = 0; round < 20; ++round) {
        for (const auto& work : works) work->poison();
        for (std::size_t s = 0; s < works.size(); ++s) {
          if ((round + static_cast<int>(s)) % 2 == 0) {
            made[s]->launch(works[s]->stream);
          } else {
            works[s]->enqueue();
          }
        }
        for (const auto& work : works) together.say(work->is_right(), "a stream's result");
        together.count("streams", static_cast<std::int64_t>(works.size()));
      }
    });
  }
  together.join();
  report.problems = thread_count * streams_a_thread;
  return report;
}

namespace {

// A global capture forbids other threads to wait, unless they say that they know what they do.
void wait_beside_captures(cudaStream_t stream) {
  cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
  check(cudaThreadExchangeStreamCaptureMode(&mode), "cudaThreadExchangeStreamCaptureMode");
  const cudaError_t waited = cudaStreamSynchronize(stream);
  check(cudaThreadExchangeStreamCaptureMode(&mode), "cudaThreadExchangeStreamCaptureMode");
  check(waited, "cudaStreamSynchronize");
}

}  // namespace

Report captures(const Settings& settings) {
  Report report("captured while others plan and work");
  std::vector<std::unique_ptr<Work>> works;
  for (int i = 0; i < thread_count; ++i) {
    works.push_back(std::make_unique<Work>(300 + i, 411 - i, settings.seed + unsigned(i)));
  }
  check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  std::atomic<bool> done = false;
  Together together(report);
  // Others forget plans, plan anew and launch; nothing of it may disturb a global capture.
  for (int t = 1; t < thread_count; ++t) {
    together.start([&, t] {
      std::int64_t calls = 0;
      for (; !done; ++calls) {
        if (t == 1 && calls % 16 == 0) forget_plans();
        works[static_cast<std::size_t>(t)]->enqueue();
        if (calls % 64 == 63) wait_beside_captures(works[static_cast<std::size_t>(t)]->stream);
      }
      together.count("calls of the others", 2 * calls);
    });
  }
  together.count("captures", 0);
  try {
    for (int i = 0; i < 200; ++i) {
      const auto mode = i % 2 == 0 ? cudaStreamCaptureModeGlobal : cudaStreamCaptureModeThreadLocal;
      const Graph graph(*works[0], mode);
      graph.launch(works[0]->stream);
      check(cudaStreamSynchronize(works[0]->stream), "wait");
      together.count("captures", 1);
    }
  } catch (const std::exception& error) {
    together.say(false, error.what());
  }
  done = true;
  together.join();
  for (const auto& work : works) report.expect(work->is_right(), "a stream's result");
  report.problems = thread_count;
  return report;
}

}  // namespace cornerturn::campaign
