#include "cpu/cpu_info.hpp"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "cpu/targets.hpp"
#include "cpu/threads.hpp"
#include "plan/cpu/cpu_files.hpp"

namespace cornerturn::cpu {
namespace {

// The cache of the first processor at `level`. The C library's figure is the fallback: on some
// processors it adds up every third-level cache of the package.
std::int64_t cache_bytes(int level, int name, std::int64_t fallback) {
  const std::filesystem::path caches = "/sys/devices/system/cpu/cpu0/cache";
  const auto read = [](const std::filesystem::path& file) {
    std::string text;
    std::ifstream(file) >> text;
    return text;
  };
  for (int i = 0; i < 8; ++i) {
    const std::filesystem::path cache = caches / ("index" + std::to_string(i));
    if (read(cache / "level") != std::to_string(level) || read(cache / "type") == "Instruction") {
      continue;
    }
    std::int64_t size = 0;
    char unit = 0;
    std::ifstream(cache / "size") >> size >> unit;
    if (size > 0) return unit == 'K' ? size << 10 : unit == 'M' ? size << 20 : size;
  }
  const long bytes = sysconf(name);
  return bytes > 0 ? bytes : fallback;
}

// What the system says of the first processor; empty where it says nothing.
std::string said_of_processor(std::string_view field) {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(": ");
    if (line.starts_with(field) && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "";
}

plan::CpuInfo look() {
  plan::CpuInfo info;
  const std::string model = said_of_processor("model name");
  info.model = model.empty() ? "unknown" : model;
  info.family = std::atoi(said_of_processor("cpu family").c_str());
  info.isa = targets().front();
  info.cores = usable_cores();
  const long line = sysconf(_SC_LEVEL1_DCACHE_LINESIZE);
  if (line > 0) info.line_bytes = static_cast<int>(line);
  info.l1_bytes = cache_bytes(1, _SC_LEVEL1_DCACHE_SIZE, info.l1_bytes);
  info.l2_bytes = cache_bytes(2, _SC_LEVEL2_CACHE_SIZE, info.l2_bytes);
  info.l3_bytes = cache_bytes(3, _SC_LEVEL3_CACHE_SIZE, info.l3_bytes);
  info.costs = plan::costs_of(info);
  const char* const description = std::getenv("CORNERTURN_CPU");
  if (description == nullptr || *description == '\0') return info;
  return plan::described_cpu(info, description, targets(), "CORNERTURN_CPU");
}

}  // namespace

const plan::Machine& machine() {
  static const auto& here = *new plan::Machine(look());
  return here;
}

const plan::CpuInfo& cpu_info() {
  return *machine().cpu();
}

}  // namespace cornerturn::cpu
