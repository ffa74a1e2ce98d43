#include "cpu/cpu_info.hpp"

#include <unistd.h>

#include "cpu/targets.hpp"
#include "cpu/threads.hpp"

namespace cornerturn::cpu {
namespace {

std::int64_t cache_bytes(int name, std::int64_t fallback) {
  const long bytes = sysconf(name);
  return bytes > 0 ? bytes : fallback;
}

plan::CpuInfo look() {
  plan::CpuInfo info;
  info.isa = targets().front();
  info.cores = resolve_threads(0);
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
