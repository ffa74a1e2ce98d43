#include "api/target.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>

#include "core/refuse.hpp"
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
  bool gpu_reaches() const { return pointer == nullptr || on_gpu() || place.pinned; }
  bool cpu_reaches() const { return place.kind != Kind::device; }
  std::string text() const {
    switch (place.kind) {
      case Kind::device:
        return fmt::format("{} = {} is memory of GPU {}", name, pointer, place.device);
      case Kind::managed:
        return fmt::format("{} = {} is managed memory", name, pointer);
      case Kind::host:
        break;
    }
    return fmt::format("{} = {} is {} memory", name, pointer, place.pinned ? "pinned" : "host");
  }
};
using Arguments = std::span<const Argument>;

void look_at(std::span<Argument> arguments) {
  if (!cuda::driver_is_loaded()) return;
  for (Argument& argument : arguments) argument.place = cuda::place_of(argument.pointer);
}

std::array<Argument, 4> look_at(const void* dst, const void* src, const Vectors& vectors) {
  std::array<Argument, 4> arguments = {Argument{"dst", dst}, Argument{"src", src},
                                       Argument{"epilogue.scale", vectors.scale},
                                       Argument{"epilogue.bias", vectors.bias}};
  look_at(arguments);
  return arguments;
}

std::vector<Argument> arguments_of(const std::vector<NamedPointer>& pointers) {
  std::vector<Argument> arguments;
  arguments.reserve(pointers.size());
  for (const NamedPointer& one : pointers) arguments.push_back({one.name, one.pointer});
  look_at(arguments);
  return arguments;
}

void require_cpu(Arguments arguments, const char* why) {
  for (const Argument& argument : arguments) {
    if (argument.place.kind == Kind::device) refuse(fmt::format("{}, {}", argument.text(), why));
  }
}

// The current GPU, on which all those lie that are no host memory.
int current_gpu_of(Arguments arguments) {
  const auto on_device = [](const Argument& one) { return one.place.kind == Kind::device; };
  const Argument& first = *std::find_if(arguments.begin(), arguments.end() - 1, on_device);
  for (const Argument& other : arguments) {
    if (first.place.kind == Kind::device && other.place.kind == Kind::device &&
        first.place.device != other.place.device) {
      refuse(fmt::format("{}, {}: both have to lie on one GPU", first.text(), other.text()));
    }
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

// The current GPU, on which both lie. `why` returns what an error says of it.
template <class Why>
int require_gpu(Arguments arguments, const Why& why) {
  for (const Argument& argument : arguments) {
    if (argument.on_host()) refuse(fmt::format("{}, {}", argument.text(), why()));
  }
  return current_gpu_of(arguments);
}

// What lies between the two sides: `arguments` begin with dst and src, of which one is host memory.
plan::Crossing crossing_of(Arguments arguments, void* stream, int blocks) {
  using Way = plan::Crossing::Way;
  plan::Crossing crossing;
  const Argument& host = arguments[arguments[0].on_host() ? 0 : 1];
  crossing.way = arguments[0].on_host() ? Way::out_of_gpu : Way::into_gpu;
  crossing.pinned = host.place.pinned;
  for (const Argument& vector : arguments.subspan(2)) {
    crossing.cpu_reaches_vectors = crossing.cpu_reaches_vectors && vector.cpu_reaches();
    crossing.gpu_reaches_vectors = crossing.gpu_reaches_vectors && vector.gpu_reaches();
  }
  crossing.blocks = blocks;
  crossing.captured = cuda::is_captured(static_cast<cuda::Stream>(stream));
  if (crossing.captured && !crossing.pinned) {
    refuse(
        fmt::format("{} and pageable, but the stream is being captured: a graph takes pinned "
                    "memory alone",
                    host.text()));
  }
  return crossing;
}

}  // namespace

void check_blocks(const Options& options, bool crosses) {
  if (options.blocks < 0) refuse(fmt::format("options.blocks = {} is negative", options.blocks));
  if (options.blocks == 0 || crosses) return;
  refuse(
      fmt::format("options.blocks = {}, but no side lies across the link: it limits kernels that "
                  "reach from a GPU into host memory",
                  options.blocks));
}

std::optional<plan::gpu::DeviceInfo> described_device(const Options& options) {
  if (options.device.empty() || options.device == "cpu" || options.device == "gpu") {
    return std::nullopt;
  }
  return plan::gpu::device_named(options.device, "options.device");
}

void require_here(const Options& options) {
  if (!described_device(options)) return;
  throw Error(Status::unsupported,
              fmt::format("options.device = '{}' is a described GPU: plans can be made for it, but "
                          "not run",
                          options.device));
}

Target target_of(const Options& options, const std::vector<NamedPointer>& pointers) {
  check_blocks(options, false);
  std::vector<Argument> arguments = arguments_of(pointers);
  if (options.device == "cpu") {
    require_cpu(arguments, "options.device = 'cpu' needs host memory");
    return {};
  }
  if (options.device == "gpu") {
    return {require_gpu(arguments, [] { return "options.device = 'gpu' needs the GPU's memory"; })};
  }
  return {gpu_of(pointers)};
}

Target target_of_lists(const Options& options, const void* dst, const void* src,
                       const Vectors& vectors, const ListTables& tables) {
  const std::vector<NamedPointer> pointers = {{"dst", dst},
                                              {"src", src},
                                              {"epilogue.scale", vectors.scale},
                                              {"epilogue.bias", vectors.bias},
                                              {"dst.list.table", tables.dst},
                                              {"src.list.table", tables.src}};
  const std::vector<Argument> arguments = arguments_of(pointers);
  const bool may_cross = options.device.empty() && dst != nullptr && src != nullptr;
  Target target;
  if (may_cross && arguments[0].on_gpu() != arguments[1].on_gpu()) {
    check_blocks(options, true);
    for (const Argument& table : Arguments(arguments).subspan(4)) {
      if (!table.on_host()) continue;
      refuse(table.text() + ": across the link a table lies in the GPU's memory");
    }
    target.gpu = current_gpu_of(arguments);
    target.crossing = crossing_of(Arguments(arguments).first(4), options.stream, options.blocks);
  } else {
    target = target_of(options, pointers);
  }
  if (target.gpu < 0) return target;
  if (dst != nullptr) target.alignment.dst = alignment_of(dst);
  if (src != nullptr) target.alignment.src = alignment_of(src);
  return target;
}

int gpu_of(const std::vector<NamedPointer>& pointers) {
  const std::vector<Argument> arguments = arguments_of(pointers);
  const auto there = std::find_if(arguments.begin(), arguments.end(),
                                  [](const Argument& a) { return a.on_gpu(); });
  if (there == arguments.end()) return -1;
  return require_gpu(arguments, [&] {
    return there->text() +
           ": the arrays of this call have to lie in one memory; copy() brings them there";
  });
}

void check_elements_aligned(const char* name, const void* data, ElementType type,
                            const Extents& strides) {
  const std::int64_t size = type.size();
  bool aligned = reinterpret_cast<std::uintptr_t>(data) % static_cast<unsigned>(size) == 0;
  for (const std::int64_t stride : strides) aligned = aligned && stride % size == 0;
  if (aligned) return;
  refuse(
      fmt::format("{}: data = {}, strides = ({}): on a GPU elements of {} lie at multiples of {} "
                  "bytes",
                  name, data, fmt::join(strides, ", "), type.name(), size));
}

Target target_of(const Options& options, const void* dst, const void* src, const Vectors& vectors) {
  const std::array arguments = look_at(dst, src, vectors);
  const bool may_cross =
      options.device.empty() && arguments[0].pointer != nullptr && arguments[1].pointer != nullptr;
  const bool crosses = may_cross && arguments[0].on_gpu() != arguments[1].on_gpu();
  check_blocks(options, crosses);
  Target target;
  if (options.device == "cpu") {
    require_cpu(arguments, "options.device = 'cpu' needs host memory");
    return target;
  }
  if (options.device == "gpu") {
    target.gpu =
        require_gpu(arguments, [] { return "options.device = 'gpu' needs the GPU's memory"; });
  } else if (crosses) {
    target.gpu = current_gpu_of(arguments);
    target.crossing = crossing_of(arguments, options.stream, options.blocks);
  } else if (arguments[0].on_gpu() || arguments[1].on_gpu()) {
    target.gpu = require_gpu(arguments, [&] {
      const Argument& other = arguments[arguments[0].on_gpu() ? 0 : 1];
      return other.text() + ": both have to lie on one side";
    });
  } else {
    require_cpu(arguments, "dst and src are host memory");
    return target;
  }
  target.alignment.dst = alignment_of(arguments[0].pointer);
  target.alignment.src = alignment_of(arguments[1].pointer);
  return target;
}

namespace {

// A plan for the link needs what it was made for: which side is host memory, and who reaches it.
void check_sides(Arguments arguments, const plan::Crossing& crossing) {
  const Argument& host = arguments[crossing.into_gpu() ? 1 : 0];
  const Argument& gpu = arguments[crossing.into_gpu() ? 0 : 1];
  if (!host.on_host()) refuse(fmt::format("{}, the plan needs it in host memory", host.text()));
  if (!gpu.on_gpu()) refuse(fmt::format("{}, the plan needs it on a GPU", gpu.text()));
  if (crossing.pinned && !host.place.pinned) {
    refuse(fmt::format("{}, the plan is for pinned memory", host.text()));
  }
  for (const Argument& vector : arguments.subspan(2)) {
    if ((crossing.gpu_reaches_vectors && !vector.gpu_reaches()) ||
        (crossing.cpu_reaches_vectors && !vector.cpu_reaches())) {
      refuse(fmt::format("{}, the plan is for other memory", vector.text()));
    }
  }
}

}  // namespace

void check_runs_on(const plan::Plan& plan, const Buffers& buffers) {
  const plan::gpu::DeviceInfo* gpu = plan.machine.gpu();
  if (plan.machine.cpu() == nullptr && plan.gpu < 0) {
    throw Error(Status::unsupported,
                fmt::format("plan: it was made for a described {}: only plans for a device that is "
                            "here can be run",
                            plan.machine.name()));
  }
  check_pointers(plan.problem, buffers.dst, buffers.src);
  check_vectors(plan.problem, buffers.dst, buffers.vectors);
  const std::array arguments = look_at(buffers.dst, buffers.src, buffers.vectors);
  if (plan.machine.cpu() != nullptr) return require_cpu(arguments, "the plan is for the CPU");

  const auto name = [&] { return fmt::format("GPU {} ({})", plan.gpu, plan.machine.name()); };
  if (const plan::link::LinkInfo* link = plan.machine.link()) {
    check_sides(arguments, link->crossing);
  }
  const int current = gpu == nullptr
                          ? current_gpu_of(arguments)
                          : require_gpu(arguments, [&] { return "the plan is for " + name(); });
  if (current != plan.gpu) {
    refuse(fmt::format("plan: it is for {}, the current one is GPU {}", name(), current));
  }
  const std::array needed = {plan.alignment.dst, plan.alignment.src};
  for (std::size_t i = 0; i < needed.size(); ++i) {
    if (alignment_of(arguments[i].pointer) >= needed[i]) continue;
    refuse(fmt::format(
        "{} = {} is aligned to {} B, the plan is for addresses aligned to {}: these "
        "need a plan of their own",
        arguments[i].name, arguments[i].pointer, alignment_of(arguments[i].pointer), needed[i]));
  }
}

}  // namespace cornerturn
