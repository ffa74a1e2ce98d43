#include "api/target.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/validate.hpp"
#include "cornerturn/error.hpp"
#include "cuda/backend.hpp"
#include "plan/gpu/device_files.hpp"

namespace cornerturn {
namespace {

using Kind = cuda::Place::Kind;

// An argument that is a pointer, and where it leads.
struct Argument {
  const char* name;
  const void* pointer;
  cuda::Place place = {};

  bool on_host() const { return pointer != nullptr && place.kind == Kind::host; }
  bool on_gpu() const { return place.kind != Kind::host; }
  std::string text() const {
    switch (place.kind) {
      case Kind::device:
        return fmt::format("{} = {} is memory of GPU {}", name, pointer, place.device);
      case Kind::managed:
        return fmt::format("{} = {} is managed memory", name, pointer);
      case Kind::host:
        break;
    }
    return fmt::format("{} = {} is host memory", name, pointer);
  }
  std::int64_t alignment() const {
    const auto address = reinterpret_cast<std::uintptr_t>(pointer) | 16;
    return static_cast<std::int64_t>(address & -address);
  }
};
using Arguments = std::array<Argument, 2>;

Arguments look_at(const void* dst, const void* src) {
  Arguments arguments = {Argument{"dst", dst}, Argument{"src", src}};
  if (!cuda::driver_is_loaded()) return arguments;
  for (Argument& argument : arguments) argument.place = cuda::place_of(argument.pointer);
  return arguments;
}

[[noreturn]] void refuse(const std::string& message) {
  throw Error(Status::invalid_argument, message);
}

void require_cpu(const Arguments& arguments, const char* why) {
  for (const Argument& argument : arguments) {
    if (argument.place.kind == Kind::device) refuse(fmt::format("{}, {}", argument.text(), why));
  }
}

// The current GPU, on which both lie. `why` returns what an error says of it.
template <class Why>
int require_gpu(const Arguments& arguments, const Why& why) {
  for (const Argument& argument : arguments) {
    if (argument.on_host()) refuse(fmt::format("{}, {}", argument.text(), why()));
  }
  const auto& [dst, src] = arguments;
  if (dst.place.kind == Kind::device && src.place.kind == Kind::device &&
      dst.place.device != src.place.device) {
    refuse(fmt::format("{}, {}: both have to lie on one GPU", dst.text(), src.text()));
  }
  const int current = cuda::current_device();
  for (const Argument& argument : arguments) {
    if (argument.place.kind == Kind::device && argument.place.device != current) {
      refuse(fmt::format("{}, the current one is GPU {}: cudaSetDevice({}) has to come first",
                         argument.text(), current, argument.place.device));
    }
  }
  return current;
}

}  // namespace

std::optional<plan::gpu::DeviceInfo> described_device(const Options& options) {
  if (options.device.empty() || options.device == "cpu" || options.device == "gpu") {
    return std::nullopt;
  }
  return plan::gpu::device_named(options.device, "options.device");
}

Target target_of(const Options& options, const void* dst, const void* src) {
  const Arguments arguments = look_at(dst, src);
  Target target;
  if (options.device == "cpu") {
    require_cpu(arguments, "options.device = 'cpu' needs host memory");
    return target;
  }
  if (options.device == "gpu") {
    target.gpu =
        require_gpu(arguments, [] { return "options.device = 'gpu' needs the GPU's memory"; });
  } else if (arguments[0].on_gpu() || arguments[1].on_gpu()) {
    target.gpu = require_gpu(arguments, [&] {
      const Argument& other = arguments[arguments[0].on_gpu() ? 0 : 1];
      return other.text() + ": both have to lie on one side";
    });
  } else {
    return target;
  }
  target.dst = arguments[0].alignment();
  target.src = arguments[1].alignment();
  return target;
}

void check_runs_on(const plan::AnyPlan& plan, const void* dst, const void* src) {
  const plan::gpu::Plan* on_gpu = plan.of_gpu();
  if (on_gpu != nullptr && plan.gpu < 0) {
    throw Error(Status::unsupported,
                fmt::format("plan: it was made for a described {}: only plans for a device that is "
                            "here can be run",
                            on_gpu->device.name));
  }
  check_pointers(plan.problem(), src, dst);
  const Arguments arguments = look_at(dst, src);
  if (on_gpu == nullptr) return require_cpu(arguments, "the plan is for the CPU");

  const auto name = [&] { return fmt::format("GPU {} ({})", plan.gpu, on_gpu->device.name); };
  const int current = require_gpu(arguments, [&] { return "the plan is for " + name(); });
  if (current != plan.gpu) {
    refuse(fmt::format("plan: it is for {}, the current one is GPU {}", name(), current));
  }
  const std::array needed = {on_gpu->alignment.dst, on_gpu->alignment.src};
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i].alignment() >= needed[i]) continue;
    refuse(
        fmt::format("{} = {} is aligned to {} B, the plan is for addresses aligned to {}: these "
                    "need a plan of their own",
                    arguments[i].name, arguments[i].pointer, arguments[i].alignment(), needed[i]));
  }
}

}  // namespace cornerturn
