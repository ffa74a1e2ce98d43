// One case across the link: everybody who does it is checked, and then timed in turns.
#pragma once

#include <cuda_runtime_api.h>

#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "cornerturn/cornerturn.hpp"
#include "cuda/device_buffer.hpp"
#include "gpu/accelerator.hpp"
#include "link/cases.hpp"
#include "link/host_memory.hpp"

namespace cornerturn::bench::link {

/// Calls go through several buffers one after the other, so that caches are cold.
struct Slots {
  explicit Slots(const LinkCase& c);

  std::int64_t host_step;  ///< bytes; of the scratch memory on the GPU as well
  std::int64_t gpu_step;
  int count;
};

/// Memory for all cases of a run, as large as the largest one needs it.
class Sides {
 public:
  Sides(Accelerator& gpu, const std::vector<LinkCase>& cases);

  Accelerator& gpu() const { return gpu_; }
  cudaStream_t stream() const { return static_cast<cudaStream_t>(gpu_.stream()); }
  std::byte* host(Memory memory, bool into_gpu) const {
    return hosts_.at({memory, into_gpu})->data();
  }
  /// A scale and a bias where the CPU and the GPU reach them, and where the GPU alone does.
  const float* vectors(bool on_gpu) const;

 private:
  Accelerator& gpu_;
  std::map<std::pair<Memory, bool>, std::unique_ptr<HostMemory>> hosts_;
  HostMemory vectors_;
  cuda::DeviceBuffer gpu_vectors_;
};

/// Who does a case, by calls for a slot that are done when the stream is.
struct Contestant {
  std::string name;
  std::function<void(int)> run;
  std::string plan = {};
  bool is_copy = false;     ///< a dense copy of as many bytes, whose result is nobody's
  bool overwrites = false;  ///< what lies between the elements: its result is not checked
  std::string wrong = {};
  std::vector<double> seconds = {};
  double spent = 0;
};

class Measurement {
 public:
  Measurement(const Sides& sides, const LinkCase& c);

  void add_own();
  void add_routes();        ///< each that can do the case, by name
  void add_candidates();    ///< every configuration of every route
  void add_few_blocks();    ///< `direct` on 4 to 32 blocks
  void add_dense_copies();  ///< in pinned memory, which is 100 %, and in the case's own
  void add_dense_then_permute();
  void add_copies_of_runs();  ///< cudaMemcpy2DAsync and cudaMemcpyBatchAsync

  /// Checks everybody, and times those whose result is right.
  void run();

  bool is_right() const;
  double seconds_of(const std::string& name) const;  ///< 0: it was not timed
  nlohmann::ordered_json to_json() const;

 private:
  std::byte* host(int slot) const { return host_ + slot * slots_.host_step; }
  std::byte* on_gpu(int slot) const { return on_gpu_ + slot * slots_.gpu_step; }
  std::byte* src(int slot) const { return c_.into_gpu ? host(slot) : on_gpu(slot); }
  std::byte* dst(int slot) const { return c_.into_gpu ? on_gpu(slot) : host(slot); }
  View dst_view(std::byte* start) const;
  ConstView src_view(const std::byte* start) const;
  Epilogue epilogue(bool vectors_on_gpu) const;
  void add_library(const std::string& name, const std::string& kernel, int blocks = 0);
  void add_memcpy_2d(const Problem& normal);
  void add_batch(const Problem& normal);
  cudaMemcpyKind kind() const {
    return c_.into_gpu ? cudaMemcpyHostToDevice : cudaMemcpyDeviceToHost;
  }
  void cross(std::byte* to, const std::byte* from, std::int64_t bytes) const;

  void fill();
  void copy_and_wait(std::byte* to, const std::byte* from, std::int64_t bytes) const;
  std::vector<std::byte> bytes_of(const std::byte* at, std::int64_t bytes) const;
  std::string difference(const Contestant& one);
  std::string difference_of_values(const Contestant& one);
  void check(Contestant& one);
  void take_turns();

  const Sides& sides_;
  const LinkCase& c_;
  Slots slots_;
  std::byte* host_;
  std::byte* on_gpu_;
  std::byte* scratch_;  ///< on the GPU
  std::vector<Contestant> contestants_;
  std::map<std::string, std::string> refused_;
  std::vector<std::byte> expected_;  ///< of values that change, where they were asked for
};

}  // namespace cornerturn::bench::link
