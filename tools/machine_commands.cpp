// cornerturn devices, cornerturn version: what runs where.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "commands.hpp"
#include "cornerturn/version.hpp"
#include "cpu/cpu_info.hpp"
#include "cpu/threads.hpp"
#include "io/schedule.hpp"

namespace cornerturn::cli {
namespace {

void devices(bool as_json) {
  const plan::CpuInfo& cpu = cpu::cpu_info();
  const int threads = cpu::resolve_threads(0);
  if (as_json) {
    const nlohmann::json json = {{{"device", "cpu"},
                                  {"model", cpu.model},
                                  {"isa", cpu.isa},
                                  {"cores", cpu.cores},
                                  {"threads", threads},
                                  {"line_bytes", cpu.line_bytes},
                                  {"l1_bytes", cpu.l1_bytes},
                                  {"l2_bytes", cpu.l2_bytes},
                                  {"l3_bytes", cpu.l3_bytes}}};
    fmt::print("{}\n", json.dump(2));
    return;
  }
  fmt::print("cpu      {}\n", cpu.model);
  fmt::print("vectors  {}\n", cpu.isa);
  fmt::print("cores    {}, {} threads used\n", cpu.cores, threads);
  fmt::print("caches   {} L1, {} L2 a core, {} L3, lines of {} B\n", io::size_text(cpu.l1_bytes),
             io::size_text(cpu.l2_bytes), io::size_text(cpu.l3_bytes), cpu.line_bytes);
}

}  // namespace

void add_devices_command(CLI::App& app) {
  auto as_json = std::make_shared<bool>(false);
  CLI::App& command = *app.add_subcommand("devices", "Lists what can run a transposition here");
  command.add_flag("--json", *as_json, "Report as JSON");
  command.callback([as_json] { devices(*as_json); });
}

void add_version_command(CLI::App& app) {
  CLI::App& command = *app.add_subcommand("version", "Says which version this is");
  command.callback([] { fmt::print("cornerturn {}\n", version()); });
}

}  // namespace cornerturn::cli
