// cornerturn devices, cornerturn version: what runs where.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "commands.hpp"
#include "cornerturn/version.hpp"
#include "cpu/cpu_info.hpp"
#include "cpu/threads.hpp"
#include "cuda/device.hpp"
#include "io/print.hpp"
#include "io/schedule.hpp"
#include "plan/gpu/device_files.hpp"

namespace cornerturn::cli {
namespace {

// A GPU's figures: those that are here and those that are described are put in the same words.
struct GpuLine {
  std::string name;
  int arch = 0;
  int sm_count = 0;
  double clock_hz = 0;
  std::int64_t l2_bytes = 0;
  std::int64_t shared_per_sm = 0;
  std::string memory;

  std::string text() const {
    return fmt::format("{:<25} sm_{:<4} {:>3} SMs, {:.2f} GHz, {:>9} L2, {} shared, {}", name, arch,
                       sm_count, clock_hz * 1e-9, io::size_text(l2_bytes),
                       io::size_text(shared_per_sm), memory);
  }
  nlohmann::json json() const {
    return {{"name", name},         {"arch", arch},         {"sm_count", sm_count},
            {"clock_hz", clock_hz}, {"l2_bytes", l2_bytes}, {"shared_per_sm", shared_per_sm}};
  }
};

GpuLine line_of(const cuda::DeviceInfo& gpu) {
  const std::string rate =
      gpu.clocks.memory_bandwidth > 0
          ? fmt::format(", {:.2f} TB/s nominal", gpu.clocks.memory_bandwidth * 1e-12)
          : "";
  return {gpu.name,
          10 * gpu.major + gpu.minor,
          gpu.sm_count,
          gpu.clocks.sm_hz,
          gpu.l2_bytes,
          gpu.shared_per_sm,
          io::size_text(gpu.memory_bytes) + rate};
}

GpuLine line_of(const plan::gpu::DeviceInfo& gpu) {
  return {gpu.name,
          gpu.arch,
          gpu.sm_count,
          gpu.clock_hz,
          gpu.l2_bytes,
          gpu.shared_per_sm,
          fmt::format("copies {:.2f} TB/s", gpu.copy_bandwidth * 1e-12)};
}

nlohmann::json cpu_json(const plan::CpuInfo& cpu, int threads) {
  return {{"device", "cpu"},          {"model", cpu.model},       {"isa", cpu.isa},
          {"cores", cpu.cores},       {"threads", threads},       {"line_bytes", cpu.line_bytes},
          {"l1_bytes", cpu.l1_bytes}, {"l2_bytes", cpu.l2_bytes}, {"l3_bytes", cpu.l3_bytes}};
}

nlohmann::json devices_json(const plan::CpuInfo& cpu, int threads) {
  nlohmann::json list = nlohmann::json::array({cpu_json(cpu, threads)});
  const std::optional<std::string> why = cuda::why_no_gpu();
  for (int i = 0; i < cuda::device_count(); ++i) {
    const cuda::DeviceInfo gpu = cuda::device_info(i);
    nlohmann::json json = line_of(gpu).json();
    json.update({{"device", "gpu"},
                 {"index", i},
                 {"memory_bytes", gpu.memory_bytes},
                 {"memory_bandwidth", gpu.clocks.memory_bandwidth},
                 {"driver", gpu.driver},
                 {"runtime", gpu.runtime}});
    list.push_back(json);
  }
  if (why) list.push_back({{"device", "gpu"}, {"why_not", *why}});
  for (std::size_t i = 0; i < plan::gpu::known_devices().size(); ++i) {
    const plan::gpu::DeviceInfo& gpu = plan::gpu::known_devices()[i];
    nlohmann::json json = line_of(gpu).json();
    json.update({{"device", plan::gpu::embedded_devices()[i].name},
                 {"described", true},
                 {"copy_bandwidth", gpu.copy_bandwidth}});
    list.push_back(json);
  }
  return list;
}

void devices(bool as_json) {
  const plan::CpuInfo& cpu = cpu::cpu_info();
  const int threads = cpu::resolve_threads(0);
  if (as_json) {
    io::print_json(devices_json(cpu, threads));
    return;
  }
  io::print("cpu      {}\n", cpu.model);
  io::print("vectors  {}\n", cpu.isa);
  io::print("cores    {}, {} threads used\n", cpu.cores, threads);
  io::print("caches   {} L1, {} L2 a core, {} L3, lines of {} B\n", io::size_text(cpu.l1_bytes),
            io::size_text(cpu.l2_bytes), io::size_text(cpu.l3_bytes), cpu.line_bytes);
  for (int i = 0; i < cuda::device_count(); ++i) {
    const cuda::DeviceInfo gpu = cuda::device_info(i);
    io::print("gpu {:<4} {}\n", i, line_of(gpu).text());
    if (i == 0) io::print("         CUDA {}, driver up to {}\n", gpu.runtime, gpu.driver);
  }
  if (const auto why = cuda::why_no_gpu()) io::print("gpu      none to use: {}\n", *why);
  io::print("described GPUs, for plan --on:\n");
  for (std::size_t i = 0; i < plan::gpu::known_devices().size(); ++i) {
    io::print("{:<8} {}\n", plan::gpu::embedded_devices()[i].name,
              line_of(plan::gpu::known_devices()[i]).text());
  }
}

}  // namespace

void add_devices_command(CLI::App& app) {
  auto as_json = std::make_shared<bool>(false);
  CLI::App& command = *app.add_subcommand("devices", "Lists what can run a transposition here");
  command.add_flag("--json", *as_json, "Write the report as JSON");
  command.callback([as_json] { devices(*as_json); });
}

void add_version_command(CLI::App& app) {
  CLI::App& command = *app.add_subcommand("version", "Says which version this is");
  command.callback([] { io::print("cornerturn {}\n", version()); });
}

}  // namespace cornerturn::cli
