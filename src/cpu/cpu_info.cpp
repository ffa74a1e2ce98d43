#include "cpu/cpu_info.hpp"

#include <unistd.h>

#include <fstream>

#include "cpu/targets.hpp"
#include "cpu/threads.hpp"

namespace cornerturn::cpu {
namespace {

std::int64_t cache_bytes(int name, std::int64_t fallback) {
  const long bytes = sysconf(name);
  return bytes > 0 ? bytes : fallback;
}

std::string model_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(": ");
    if (line.rfind("model name", 0) == 0 && colon != std::string::npos) {
      return line.substr(colon + 2);
    }
  }
  return "unknown";
}

plan::CpuInfo look() {
  plan::CpuInfo info;
  info.model = model_name();
  info.isa = targets().front();
  info.cores = usable_cores();
  info.line_bytes = static_cast<int>(cache_bytes(_SC_LEVEL1_DCACHE_LINESIZE, info.line_bytes));
  info.l1_bytes = cache_bytes(_SC_LEVEL1_DCACHE_SIZE, info.l1_bytes);
  info.l2_bytes = cache_bytes(_SC_LEVEL2_CACHE_SIZE, info.l2_bytes);
  info.l3_bytes = cache_bytes(_SC_LEVEL3_CACHE_SIZE, info.l3_bytes);
  return info;
}

}  // namespace

const plan::CpuInfo& cpu_info() {
  static const plan::CpuInfo info = look();
  return info;
}

}  // namespace cornerturn::cpu
