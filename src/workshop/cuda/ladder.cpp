#include "workshop/cuda/ladder.hpp"

#include <cuda_profiler_api.h>
#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "core/checked.hpp"
#if defined(CORNERTURN_CUTE)
#include "workshop/cuda/cute_rungs.hpp"
#endif
#include "workshop/cuda/kernel_rungs.hpp"
#include "workshop/cuda/reference.hpp"
#include "workshop/cuda/timing.hpp"

namespace cornerturn::cuda {

namespace {

constexpr std::int64_t page = 4096;  // cudaMemcpy is slower for sizes that are not its multiples

#if defined(CORNERTURN_CUTE)
DeviceRung cute_row(const ladder::CuteRung& rung) {
  DeviceRung row;
  row.why_not = [rung](const DeviceMatrix& m) -> std::string {
    const char* why = rung.why_not(m.rows, m.cols, m.element_bytes);
    if (why != nullptr) return why;
    const auto address =
        reinterpret_cast<std::uintptr_t>(m.src) | reinterpret_cast<std::uintptr_t>(m.dst);
    return address % 16 == 0 ? "" : "needs matrices that begin at multiples of 16 bytes";
  };
  row.shape = [rung](const DeviceMatrix& m) -> LaunchShape {
    const ladder::CuteLaunch shape = rung.shape(m.rows, m.cols);
    return {shape.kernel, shape.blocks, shape.threads, shape.dynamic_shared};
  };
  row.launch = [rung](const DeviceMatrix& m, Stream stream) {
    const int error = rung.launch(m.src, m.dst, m.rows, m.cols, stream);
    check(static_cast<cudaError_t>(error), "launching " + std::string(rung.name));
  };
  return row;
}
#endif

const std::vector<DeviceRung>& device_rungs() {
  static const std::vector<DeviceRung> all = [] {
    std::vector<DeviceRung> list = kernel_rungs();
#if defined(CORNERTURN_CUTE)
    for (const ladder::CuteRung& rung : ladder::cute_rungs()) list.push_back(cute_row(rung));
#endif
    const std::vector<RungInfo> infos = rungs();
    for (std::size_t i = 0; i < list.size(); ++i) list[i].info = infos[i];
    return list;
  }();
  return all;
}

const DeviceRung& rung_named(std::string_view name) {
  for (const DeviceRung& rung : device_rungs()) {
    if (rung.info.name == name) return rung;
  }
  throw Error(Status::invalid_argument,
              fmt::format("rung = {} is unknown; `cornerturn ladder` lists them", name));
}

std::int64_t payload_of(std::int64_t rows, std::int64_t cols, int element_bytes,
                        std::int64_t batch = 1) {
  const auto wrong = [](const char* name, std::int64_t value, const char* rule) {
    throw Error(Status::invalid_argument, fmt::format("{} = {} {}", name, value, rule));
  };
  if (rows < 0) wrong("rows", rows, "is negative");
  if (cols < 0) wrong("cols", cols, "is negative");
  if (batch < 0) wrong("batch", batch, "is negative");
  if (element_bytes != 1 && element_bytes != 2 && element_bytes != 4 && element_bytes != 8) {
    wrong("element_bytes", element_bytes, "is none of 1, 2, 4, 8");
  }
  const auto what = [&] { return fmt::format("{} x {} x {} B", rows, cols, element_bytes); };
  return checked_mul(checked_mul(checked_mul(rows, cols, what), element_bytes, what), batch, what);
}

int compute_capability_major() {
  int device = 0;
  int major = 0;
  check(cudaGetDevice(&device), "cudaGetDevice");
  check(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device),
        "cudaDeviceGetAttribute");
  return major;
}

// Why the current GPU cannot do it, in one line; empty if it can.
std::string why_not(const DeviceRung& rung, const DeviceMatrix& matrix) {
  const auto& takes = rung.info.element_bytes;
  if (std::find(takes.begin(), takes.end(), matrix.element_bytes) == takes.end()) {
    return fmt::format("takes no {}-byte elements", matrix.element_bytes);
  }
  if (matrix.is_stack() && !rung.takes_stacks) {
    return fmt::format("it takes one matrix, not a stack of {}", matrix.batch);
  }
  if (rung.info.family == "cute" && compute_capability_major() != 9) {
    return "is compiled for compute capability 9.0 alone";
  }
  return rung.why_not(matrix);
}

// Makes a GPU the current one as long as it lives.
class CurrentDevice {
 public:
  explicit CurrentDevice(int device) {
    check(cudaGetDevice(&before_), "cudaGetDevice");
    if (device != before_) check(cudaSetDevice(device), fmt::format("device = {}", device));
  }
  ~CurrentDevice() { cudaSetDevice(before_); }
  CurrentDevice(const CurrentDevice&) = delete;
  CurrentDevice& operator=(const CurrentDevice&) = delete;

 private:
  int before_ = 0;
};

void check_memory(std::int64_t rows, std::int64_t cols, int element_bytes, std::int64_t batch,
                  std::int64_t payload) {
  const auto free_bytes = static_cast<double>(device_info().free_bytes);
  const double needed = 2.0 * static_cast<double>(payload);
  if (needed <= free_bytes) return;
  constexpr double gib = 1 << 30;
  throw Error(
      Status::out_of_memory,
      fmt::format("rows x cols = {} x {} of {} B{} needs {:.1f} GiB of GPU memory for source "
                  "and output, {:.1f} GiB are free: choose fewer",
                  rows, cols, element_bytes, batch == 1 ? "" : fmt::format(", {} times,", batch),
                  needed / gib, free_bytes / gib));
}

}  // namespace

void run_rung(std::string_view name, const DeviceMatrix& matrix, int device, Stream stream) {
  const DeviceRung& rung = rung_named(name);
  const std::int64_t payload =
      payload_of(matrix.rows, matrix.cols, matrix.element_bytes, matrix.batch);
  const CurrentDevice current(device);
  if (const std::string why = why_not(rung, matrix); !why.empty()) {
    throw Error(Status::unsupported, fmt::format("{} does not apply: {}", name, why));
  }
  if (payload == 0) return;
  rung.launch(matrix, stream);
  check_launch(cudaGetLastError());
}

void run_converting_rung(std::string_view name, const DeviceMatrix& matrix, ElementType src_type,
                         ElementType dst_type, int device, Stream stream) {
  const DeviceRung& rung = rung_named(name);
  payload_of(matrix.rows, matrix.cols, src_type.size());
  payload_of(matrix.rows, matrix.cols, dst_type.size());
  const CurrentDevice current(device);
  if (rung.convert == nullptr) {
    throw Error(Status::unsupported,
                fmt::format("{} does not apply: it moves elements, and converts none", name));
  }
  if (matrix.rows == 0 || matrix.cols == 0) return;
  if (src_type.is_swapped() || dst_type.is_swapped() ||
      !rung.convert(matrix, src_type.kind(), dst_type.kind(), stream)) {
    throw Error(Status::unsupported,
                fmt::format("{} does not apply: it does not convert {} into {}", name,
                            src_type.name(), dst_type.name()));
  }
  check_launch(cudaGetLastError());
}

struct LadderCase::Impl {
  Impl(std::int64_t rows, std::int64_t cols, int element_bytes, const MeasureOptions& measure,
       const Stack& stack)
      : options(measure), payload(payload_of(rows, cols, element_bytes, stack.batch)) {
    check_memory(rows, cols, element_bytes, stack.batch, payload);
    // A copy of whole 4 KiB needs room behind the payload; guards and checks do not stand for it.
    const std::int64_t spare = options.time ? page : 0;
    src = GuardedMatrix(payload, options.guard_bytes, options.src_offset * element_bytes, spare);
    dst = GuardedMatrix(payload, options.guard_bytes, options.dst_offset * element_bytes, spare);
    matrix = {src.data(), dst.data(), rows, cols, element_bytes, stack.batch, stack.fused};
    fill_source(src, element_bytes, stream);
    if (options.time) {
      flush.emplace();
      check(cudaMemsetAsync(
                src.data() + payload + src.after(), 0,
                static_cast<std::size_t>(std::max(spare - src.after(), std::int64_t{0})), stream),
            "cudaMemset");
    }
    check(cudaStreamSynchronize(stream), "filling the source");
  }

  void launch(const DeviceRung& rung) const {
    rung.launch(matrix, stream);
    check(cudaGetLastError(), "launching " + rung.info.name);
  }

  std::string verify(const DeviceRung& rung) const {
    poison(dst, matrix, rung.info.transposes, stream);
    launch(rung);
    check(cudaStreamSynchronize(stream), "running " + rung.info.name);
    return difference(src, dst, matrix, rung.info.transposes, stream);
  }

  Occupancy occupancy(const DeviceRung& rung) const {
    const LaunchShape shape = rung.shape(matrix);
    cudaFuncAttributes attributes;
    check(cudaFuncGetAttributes(&attributes, shape.kernel), "cudaFuncGetAttributes");
    Occupancy o;
    o.blocks = shape.blocks;
    o.threads = shape.threads;
    o.registers = attributes.numRegs;
    o.local_bytes = static_cast<int>(attributes.localSizeBytes);
    o.shared_bytes = static_cast<int>(attributes.sharedSizeBytes) + shape.dynamic_shared;
    check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(
              &o.blocks_per_sm, shape.kernel, shape.threads,
              static_cast<std::size_t>(shape.dynamic_shared)),
          "cudaOccupancyMaxActiveBlocksPerMultiprocessor");
    return o;
  }

  void time(const DeviceRung& rung, Measurement& result) const {
    struct Copy {
      const char* name;
      Subject run;
    };
    const auto memcpy_of = [this](std::int64_t bytes) {
      return [this, bytes](Stream on) {
        check(cudaMemcpyAsync(dst.data(), src.data(), static_cast<std::size_t>(bytes),
                              cudaMemcpyDeviceToDevice, on),
              "cudaMemcpyAsync");
      };
    };
    std::vector<Copy> copies = {
        {"cudaMemcpyAsync", memcpy_of(payload)},
        {"cudaMemcpyAsync in whole 4 KiB", memcpy_of((payload + page - 1) / page * page)}};
    if ((options.src_offset | options.dst_offset) * matrix.element_bytes % 16 == 0) {
      copies.push_back(
          {"vector copy", [this](Stream on) { vector_copy(src.data(), dst.data(), payload, on); }});
    }
    std::vector<Subject> subjects = {[&](Stream on) { rung.launch(matrix, on); }};
    for (const Copy& copy : copies) subjects.push_back(copy.run);

    const auto keep = [&](const std::vector<Timing>& timings, Timing& own, Timing& best,
                          std::string& by) {
      own = timings[0];
      const auto fastest =
          std::min_element(timings.begin() + 1, timings.end(),
                           [](const Timing& a, const Timing& b) { return a.seconds < b.seconds; });
      best = *fastest;
      by = copies[static_cast<std::size_t>(fastest - timings.begin() - 1)].name;
    };
    keep(time_cold(subjects, *flush, options, stream), result.cold, result.copy_cold,
         result.copy_cold_by);
    keep(time_warm(subjects, options, stream), result.warm, result.copy_warm, result.copy_warm_by);
    check(cudaGetLastError(), "timing " + rung.info.name);
  }

  MeasureOptions options;
  std::int64_t payload = 0;
  OwnStream stream;
  std::optional<CacheFlush> flush;
  GuardedMatrix src;
  GuardedMatrix dst;
  DeviceMatrix matrix;
};

LadderCase::LadderCase(std::int64_t rows, std::int64_t cols, int element_bytes,
                       const MeasureOptions& options, const Stack& stack) {
  if (const auto why = why_no_gpu()) throw Error(Status::unsupported, "no GPU: " + *why);
  impl_ = std::make_unique<Impl>(rows, cols, element_bytes, options, stack);
}
LadderCase::~LadderCase() = default;
LadderCase::LadderCase(LadderCase&&) noexcept = default;
LadderCase& LadderCase::operator=(LadderCase&&) noexcept = default;

Measurement LadderCase::measure(std::string_view name) {
  const DeviceRung& rung = rung_named(name);
  Measurement result;
  result.why_not = why_not(rung, impl_->matrix);
  if (!result.why_not.empty()) return result;
  result.occupancy = impl_->occupancy(rung);
  if (impl_->options.verify) {
    result.wrong = impl_->verify(rung);
    result.verified = result.wrong.empty();
  }
  if (impl_->options.time && impl_->payload > 0) impl_->time(rung, result);
  return result;
}

std::string LadderCase::launch(std::string_view name) {
  const DeviceRung& rung = rung_named(name);
  std::string why = why_not(rung, impl_->matrix);
  if (!why.empty()) return why;
  check(cudaProfilerStart(), "cudaProfilerStart");
  impl_->launch(rung);
  check(cudaDeviceSynchronize(), "running " + std::string(name));
  check(cudaProfilerStop(), "cudaProfilerStop");
  return {};
}

}  // namespace cornerturn::cuda
