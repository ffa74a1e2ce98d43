#include "cuda/backend.hpp"

#include <cuda.h>
#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <mutex>

#include "cuda/check.hpp"
#include "cuda/crossing.hpp"
#include "cuda/device.hpp"
#include "cuda/device_buffer.hpp"
#include "cuda/driver_numbers.hpp"
#include "cuda/hold.hpp"
#include "plan/gpu/device_files.hpp"
#include "plan/rounds.hpp"

namespace cornerturn::cuda {
namespace {

static_assert(numbers::success == CUDA_SUCCESS);
static_assert(numbers::invalid_value == CUDA_ERROR_INVALID_VALUE);
static_assert(numbers::not_initialized == CUDA_ERROR_NOT_INITIALIZED);
static_assert(numbers::deinitialized == CUDA_ERROR_DEINITIALIZED);
static_assert(numbers::memory_type == CU_POINTER_ATTRIBUTE_MEMORY_TYPE);
static_assert(numbers::is_managed == CU_POINTER_ATTRIBUTE_IS_MANAGED);
static_assert(numbers::device_ordinal == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL);
static_assert(numbers::memory_pool == CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE);
static_assert(numbers::host_memory == CU_MEMORYTYPE_HOST);
static_assert(numbers::device_memory == CU_MEMORYTYPE_DEVICE);

plan::gpu::DeviceInfo describe(int device) {
  if (const auto why = why_no_gpu()) throw Error(Status::unsupported, "no GPU: " + *why);
  const DeviceInfo here = device_info_without_clocks(device);
  plan::gpu::DeviceInfo info;
  info.name = here.name;
  info.arch = 10 * here.major + here.minor;
  info.sm_count = here.sm_count;
  info.l2_bytes = here.l2_bytes;
  info.shared_per_sm = static_cast<int>(here.shared_per_sm);
  info.shared_per_block = static_cast<int>(here.shared_per_block);
  info.threads_per_sm = here.threads_per_sm;
  info.blocks_per_sm = here.blocks_per_sm;
  info.registers_per_sm = here.registers_per_sm;
  const auto& all = plan::gpu::known_devices();
  const auto known =
      std::find_if(all.begin(), all.end(), [&](const auto& one) { return one.name == info.name; });
  if (known != all.end()) {
    info.clock_hz = known->clock_hz;
    info.copy_bandwidth = known->copy_bandwidth;
    info.launch_seconds = known->launch_seconds;
    info.link = known->link;
    return info;
  }
  // A copy reaches about 0.89 of the nominal bandwidth. Where the driver does not tell that,
  // another GPU of its generation must do.
  const Clocks clocks = clocks_of(device);
  info.clock_hz = clocks.sm_hz;
  info.copy_bandwidth = 0.89 * clocks.memory_bandwidth;
  for (const plan::gpu::DeviceInfo& like : all) {
    if (info.copy_bandwidth > 0 || like.arch / 10 != info.arch / 10) continue;
    info.copy_bandwidth = like.copy_bandwidth;
    info.launch_seconds = like.launch_seconds;
    info.link = like.link;
  }
  return info;
}

}  // namespace

int current_device() {
  if (const auto device = device_of_context()) return *device;
  int device = 0;
  if (const cudaError_t error = cudaGetDevice(&device); error != cudaSuccess) {
    cudaGetLastError();
    if (const auto why = why_no_gpu()) throw Error(Status::unsupported, "no GPU: " + *why);
    check(error, "cudaGetDevice");
  }
  return device;
}

const plan::Machine& machine_of(int device) {
  static std::mutex mutex;
  static auto& known = *new std::map<int, plan::Machine>;
  const std::lock_guard<std::mutex> lock(mutex);
  const auto found = known.find(device);
  if (found != known.end()) return found->second;
  return known.emplace(device, describe(device)).first->second;
}

bool is_captured(Stream stream) {
  cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
  const cudaError_t asked = cudaStreamIsCapturing(stream, &capture);
  if (asked == cudaSuccess) return capture != cudaStreamCaptureStatusNone;
  cudaGetLastError();
  // The legacy stream cannot be asked while another stream is being captured.
  if (asked == cudaErrorStreamCaptureImplicit) return true;
  check_launch(asked);  // an earlier error, or no stream
  return false;
}

void refuse_captured(Stream stream, const char* what, const char* why) {
  if (!is_captured(stream)) return;
  throw Error(Status::unsupported,
              fmt::format("{}, but the stream is being captured: {}", what, why));
}

std::vector<double> seconds_of(const std::vector<plan::Plan>& plans, const Buffers& buffers,
                               Stream stream) {
  refuse_captured(stream, "options.effort = measure", "timing has to wait for the stream");
  constexpr int rounds = 4;         // the first one loads the kernels
  constexpr double enough = 50e-6;  // that the events' own time does not count
  Stopwatch watch;
  return plan::best_of_rounds(rounds, plans.size(), [&](int round, std::size_t i) {
    const int launches =
        std::clamp(static_cast<int>(enough / std::max(plans[i].predicted_seconds(), 1e-7)), 1, 20);
    watch.start(stream);
    for (int n = 0; n < launches; ++n) {
      if (plans[i].machine.link() != nullptr) {
        execute_across(plans[i], buffers, stream);
      } else {
        execute(plans[i], buffers, stream);
      }
    }
    watch.stop(stream);
    const double seconds = watch.seconds() / launches;
    return round > 0 ? seconds : std::numeric_limits<double>::max();
  });
}

plan::Timing execute_timed(const plan::Plan& plan, const Buffers& buffers, Stream stream) {
  constexpr double seconds = 20e-6;  // longer than the host needs for a launch and two events
  const auto watch = std::make_shared<Stopwatch>();
  {
    const RelaxedCapture relaxed;
    if (cudaStreamQuery(stream) == cudaSuccess) {
      hold(seconds, stream);
    } else {
      cudaGetLastError();
    }
  }
  watch->start(stream);
  execute(plan, buffers, stream);
  const bool waited = watch->has_started();
  watch->stop(stream);
  return [watch, waited]() -> std::optional<double> {
    if (waited) return std::numeric_limits<double>::infinity();
    return watch->seconds_if_done();
  };
}

}  // namespace cornerturn::cuda
