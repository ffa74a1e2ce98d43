#include "execute.hpp"

#include <fmt/format.h>
#include <nanobind/nanobind.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <utility>

#include "api/target.hpp"
#include "cornerturn/cornerturn.hpp"
#include "cpu/interleave.hpp"
#include "cuda/backend.hpp"
#include "cuda/device.hpp"
#include "threads.hpp"
#ifdef CORNERTURN_CUDA
#include <cuda_runtime_api.h>
#endif

namespace cornerturn::python {
namespace {

#ifdef CORNERTURN_CUDA
void check(cudaError_t result, const std::string& what) {
  if (result == cudaSuccess) return;
  cudaGetLastError();
  throw Error(Status::device_error, fmt::format("{}: {}", what, cudaGetErrorString(result)));
}
#endif

// Makes a GPU the current one as long as it lives.
class CurrentGpu {
 public:
  explicit CurrentGpu(int device) : before_(cuda::current_device()), device_(device) {
    if (before_ != device_) set(device_);
  }
  ~CurrentGpu() {
    if (before_ == device_) return;
    try {
      set(before_);
    } catch (const Error&) {  // the device that was current no longer is
    }
  }
  CurrentGpu(const CurrentGpu&) = delete;
  CurrentGpu& operator=(const CurrentGpu&) = delete;

 private:
  static void set([[maybe_unused]] int device) {
#ifdef CORNERTURN_CUDA
    check(cudaSetDevice(device), fmt::format("cudaSetDevice({})", device));
#endif
  }
  int before_;
  int device_;
};

std::atomic<std::int64_t> piece_bytes = std::int64_t{1} << 30;

struct Views {
  View dst;
  ConstView src;
};

// Elements that are longer than the library's get a last mode of shorter ones.
std::int64_t part_of_element(std::int64_t itemsize) {
  std::int64_t part = std::min<std::int64_t>(itemsize, ElementType::max_size);
  while (itemsize % part != 0) --part;
  return part;
}

// Throws what a signal's handler has raised.
void check_signals() {
  const nanobind::gil_scoped_acquire acquired;
  if (PyErr_CheckSignals() != 0) throw nanobind::python_error();
}

// work(piece) for pieces of at most piece_bytes, whose order is that of their addresses in dst.
template <class Work>
void in_pieces(const Sides& sides, const Work& work) {
  std::int64_t bytes = sides.itemsize;
  std::size_t outer = 0;
  const auto stride = [&](std::size_t i) { return std::abs(sides.dst_strides[i]); };
  for (std::size_t i = 0; i < sides.shape.size(); ++i) {
    bytes *= sides.shape[i];
    if (sides.shape[i] > 1 && (sides.shape[outer] < 2 || stride(i) > stride(outer))) outer = i;
  }
  if (bytes <= piece_bytes || sides.shape.empty() || sides.shape[outer] < 2) return work(sides);
  constexpr std::int64_t whole_lines = 64;
  std::int64_t half = sides.shape[outer] / 2;
  if (half > whole_lines) half -= half % whole_lines;
  Sides part = sides;
  part.shape[outer] = half;
  in_pieces(part, work);
  check_signals();
  part.shape[outer] = sides.shape[outer] - half;
  part.dst += static_cast<std::uintptr_t>(half * sides.dst_strides[outer]);
  part.src += static_cast<std::uintptr_t>(half * sides.src_strides[outer]);
  in_pieces(part, work);
}

bool is_pinned(std::uintptr_t address) {
  return cuda::place_of(reinterpret_cast<const void*>(address)).pinned;
}

// One side lies in host memory, the other one on link.gpu.
void copy_across(const View& dst, const ConstView& src, const Epilogue& epilogue,
                 const Link& link) {
  const CurrentGpu current(link.gpu);
  Options options;
  options.threads = thread_limit();
  options.stream = reinterpret_cast<void*>(link.stream);
  options.blocks = link.blocks;
  const Target target = target_of(options, dst.data, src.data, {epilogue.scale, epilogue.bias});
  if (!target.crossing || target.gpu != link.gpu) {
    throw Error(
        Status::invalid_argument,
        fmt::format("dst = {} and src = {}: neither is memory of GPU {}, although one of the "
                    "two arrays says so",
                    dst.data, src.data, link.gpu));
  }
  if (link.waits && target.crossing.captured) {
    throw Error(Status::unsupported,
                "non_blocking = False waits for the copy, but the stream is being captured: "
                "non_blocking = True has to be given");
  }
  copy_on(target, dst, src, epilogue, options);
}

// Valid until the thread's next call, whose vectors need no new memory.
const Views& views_of(const Sides& sides) {
  thread_local Views views{View(nullptr, ElementType(Kind::u8), {}, {}),
                           ConstView(nullptr, ElementType(Kind::u8), {}, {})};
  const std::int64_t part = part_of_element(sides.itemsize);
  const ElementType type = ElementType::bytes(part);
  const auto fill = [&](auto& view, auto* data, const std::vector<std::int64_t>& strides) {
    view.data = data;
    view.type = type;
    view.shape = sides.shape;
    view.strides = strides;
    if (part == sides.itemsize) return;
    view.shape.push_back(sides.itemsize / part);
    view.strides.push_back(part);
  };
  fill(views.dst, reinterpret_cast<void*>(sides.dst), sides.dst_strides);
  fill(views.src, reinterpret_cast<const void*>(sides.src), sides.src_strides);
  return views;
}

}  // namespace

void execute(const Sides& sides, int device, std::uintptr_t stream) {
  if (sides.itemsize == 0) return;
  const Views& views = views_of(sides);
  // Whoever owns the arrays has said where they are: the driver need not be asked.
  Options options;
  options.threads = thread_limit();
  if (device == host) return copy_on({}, views.dst, views.src, {}, options);
  const CurrentGpu current(device);
  options.stream = reinterpret_cast<void*>(stream);
  copy_on(target_on(device, views.dst.data, views.src.data), views.dst, views.src, {}, options);
}

void execute_in_pieces(const Sides& sides, int device, std::uintptr_t stream) {
  if (device != host) return execute(sides, device, stream);
  in_pieces(sides, [](const Sides& part) { execute(part, host, 0); });
}

bool execute_across(const Sides& sides, const Link& link) {
  if (sides.itemsize == 0) return false;
  const bool pinned = is_pinned(sides.dst) || is_pinned(sides.src);
  const auto run = [&](const Sides& part) {
    const Views& views = views_of(part);
    copy_across(views.dst, views.src, {}, link);
  };
  // With pinned memory a call returns at once, and is one launch for whoever captures it.
  if (pinned) {
    run(sides);
  } else {
    in_pieces(sides, run);
  }
  if (link.waits) synchronize(link.gpu, link.stream);
  return pinned && !link.waits;
}

void interleave_in_pieces(std::uintptr_t dst, const Stack& stack) {
  const std::int64_t a_row = stack.row * stack.itemsize;
  const std::int64_t all_rows = a_row * std::ssize(stack.arrays);
  if (all_rows == 0) return;
  const std::int64_t part = part_of_element(stack.itemsize);
  const std::int64_t a_piece = std::max<std::int64_t>(1, piece_bytes / all_rows);
  std::vector<const void*> arrays(stack.arrays.size());
  for (std::int64_t first = 0; first < stack.rows; first += a_piece) {
    if (first > 0) check_signals();
    for (std::size_t k = 0; k < arrays.size(); ++k) {
      arrays[k] = reinterpret_cast<const void*>(stack.arrays[k] +
                                                static_cast<std::uintptr_t>(first * a_row));
    }
    cpu::interleave(
        reinterpret_cast<void*>(dst + static_cast<std::uintptr_t>(first * all_rows)),
        {arrays, std::min(a_piece, stack.rows - first), a_row / part, ElementType::bytes(part)},
        thread_limit());
  }
}

std::int64_t check_signals_every(std::int64_t bytes) {
  return piece_bytes.exchange(bytes);
}

void execute_converting(const View& dst, const ConstView& src, const Epilogue& epilogue, int device,
                        std::uintptr_t stream) {
  Options options;
  options.threads = thread_limit();
  if (device == host) return copy_on({}, dst, src, epilogue, options);
  const CurrentGpu current(device);
  options.stream = reinterpret_cast<void*>(stream);
  copy_on(target_on(device, dst.data, src.data), dst, src, epilogue, options);
}

bool convert_across(const View& dst, const ConstView& src, const Epilogue& epilogue,
                    const Link& link) {
  copy_across(dst, src, epilogue, link);
  if (link.waits) synchronize(link.gpu, link.stream);
  const auto pinned = [](const void* at) { return cuda::place_of(at).pinned; };
  return !link.waits && (pinned(dst.data) || pinned(src.data));
}

Plan make_plan(const Sides& sides, int gpu, Options options) {
  const Views& views = views_of(sides);
  return make_plan(views.dst, views.src, gpu, std::move(options));
}

Plan make_plan(const View& dst, const ConstView& src, int gpu, Options options) {
  if (options.threads == 0) options.threads = thread_limit();
  if (gpu == host) return cornerturn::make_plan(dst, src, options);
  const CurrentGpu current(gpu);
  return cornerturn::make_plan(dst, src, options);
}

void on_device(int device, const std::function<void()>& work) {
  if (device == host) return work();
  const CurrentGpu current(device);
  work();
}

int gpu_of(std::uintptr_t address) {
  const cuda::Place place = cuda::place_of(reinterpret_cast<const void*>(address));
  return place.kind == cuda::Place::Kind::host ? host : place.device;
}

int gpu_count() {
  const int count = cuda::device_count();
  if (count > 0) return count;
  throw Error(Status::unsupported, "no GPU: " + cuda::why_no_gpu().value_or("none is here"));
}

int current_gpu() {
  return cuda::current_device();
}

#ifdef CORNERTURN_CUDA
namespace {

// Lets a thread ask for events, whoever captures a stream meanwhile.
class BesideCaptures {
 public:
  BesideCaptures() { cudaThreadExchangeStreamCaptureMode(&mode_); }
  ~BesideCaptures() { cudaThreadExchangeStreamCaptureMode(&mode_); }
  BesideCaptures(const BesideCaptures&) = delete;
  BesideCaptures& operator=(const BesideCaptures&) = delete;

 private:
  cudaStreamCaptureMode mode_ = cudaStreamCaptureModeRelaxed;
};

struct Kept {
  cudaEvent_t done = nullptr;
  nanobind::object object;
};

}  // namespace

void keep(nanobind::object object, int device, std::uintptr_t stream) {
  const CurrentGpu current(device);
  const auto of_stream = reinterpret_cast<cudaStream_t>(stream);
  if (cuda::is_captured(of_stream)) return;
  // Never destroyed: at the end of the process there is no Python to give objects back to. Those
  // that are no longer used go when the next one comes.
  static auto& all = *new std::vector<Kept>;
  std::vector<Kept> given_back;  // destroyed last: what Python does then may come back here
  const BesideCaptures guard;
  for (std::size_t i = all.size(); i-- > 0;) {
    if (cudaEventQuery(all[i].done) == cudaErrorNotReady) continue;
    cudaEventDestroy(all[i].done);
    given_back.push_back(std::move(all[i]));
    all.erase(all.begin() + static_cast<std::ptrdiff_t>(i));
  }
  cudaGetLastError();
  Kept kept{nullptr, std::move(object)};
  check(cudaEventCreateWithFlags(&kept.done, cudaEventDisableTiming), "cudaEventCreateWithFlags");
  all.push_back(std::move(kept));
  check(cudaEventRecord(all.back().done, of_stream), "cudaEventRecord");
}
#else
void keep(nanobind::object, int device, std::uintptr_t) {
  const CurrentGpu current(device);
}
#endif

void synchronize(int device, [[maybe_unused]] std::uintptr_t stream) {
  const CurrentGpu current(device);
#ifdef CORNERTURN_CUDA
  check(cudaStreamSynchronize(reinterpret_cast<cudaStream_t>(stream)), "cudaStreamSynchronize");
#endif
}

}  // namespace cornerturn::python
