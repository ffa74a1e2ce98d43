#include "harness/machine.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <gnu/libc-version.h>
#include <sched.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <sstream>
#include <thread>

#include "bench_build.hpp"
#include "harness/copies.hpp"

namespace cornerturn::bench {
namespace {

// "Linux 6.1.0": without what a distributor or a host adds to the release.
std::string kernel_version(const utsname& names) {
  const std::string release = names.release;
  return fmt::format("{} {}", names.sysname, release.substr(0, release.find('-')));
}

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// "key : value" of /proc/cpuinfo, the first that is there.
std::string cpuinfo(const std::string& key) {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(':');
    if (line.rfind(key, 0) == 0 && colon != std::string::npos && colon + 2 <= line.size()) {
      return line.substr(colon + 2);
    }
  }
  return "";
}

struct Cache {
  int level = 0;
  std::string type;
  std::string size;  // "32768K"
};

std::vector<Cache> caches() {
  std::vector<Cache> out;
  for (int i = 0; i < 8; ++i) {
    const std::string folder = fmt::format("/sys/devices/system/cpu/cpu0/cache/index{}/", i);
    const std::string level = first_line(folder + "level");
    if (level.empty()) break;
    out.push_back({std::stoi(level), first_line(folder + "type"), first_line(folder + "size")});
  }
  return out;
}

std::int64_t parse_cache_size(const std::string& text) {
  std::istringstream in(text);
  std::int64_t n = 0;
  char unit = 0;
  in >> n >> unit;
  return n * (unit == 'M' ? 1 << 20 : unit == 'K' ? 1 << 10 : 1);
}

// The chosen entry of a list such as "always [madvise] never".
std::string chosen(const std::string& list) {
  const std::size_t begin = list.find('[');
  const std::size_t end = list.find(']');
  return begin == std::string::npos || end == std::string::npos
             ? list
             : list.substr(begin + 1, end - begin - 1);
}

}  // namespace

std::string cpu_model() {
  std::string model = cpuinfo("model name");
  if (model.empty()) {
    utsname names{};
    uname(&names);
    model = fmt::format("{} part {}", names.machine, cpuinfo("CPU part"));
  }
  return model;
}

int usable_processors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) == 0) return CPU_COUNT(&set);
  return static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
}

std::int64_t last_level_cache_bytes() {
  std::int64_t largest = 0;
  for (const Cache& cache : caches()) largest = std::max(largest, parse_cache_size(cache.size));
  return largest > 0 ? largest : std::int64_t{32} << 20;
}

nlohmann::ordered_json provenance() {
  nlohmann::ordered_json cache_list = nlohmann::ordered_json::array();
  for (const Cache& c : caches())
    cache_list.push_back(fmt::format("L{} {} {}", c.level, c.type, c.size));
  utsname names{};
  uname(&names);
  const std::string governor = first_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
  const std::string flags = cpuinfo("flags");
  const std::int64_t memory = static_cast<std::int64_t>(sysconf(_SC_PHYS_PAGES)) *
                              static_cast<std::int64_t>(sysconf(_SC_PAGESIZE));
  return {
      {"commit", CT_BENCH_COMMIT},
      {"dirty", CT_BENCH_DIRTY},
      {"date", fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)))},
      {"cpu", cpu_model()},
      {"family_model_stepping",
       fmt::format("{}/{}/{}", cpuinfo("cpu family"), cpuinfo("model\t"), cpuinfo("stepping"))},
      {"virtual_machine", flags.find(" hypervisor") != std::string::npos},
      {"processors", usable_processors()},
      {"caches", cache_list},
      {"memory_bytes", memory},
      {"governor", governor.empty() ? "unknown" : governor},
      {"kernel", kernel_version(names)},
      {"architecture", names.machine},
      {"page_bytes", static_cast<std::int64_t>(sysconf(_SC_PAGESIZE))},
      {"huge_pages", chosen(first_line("/sys/kernel/mm/transparent_hugepage/enabled"))},
      {"compiler", CT_BENCH_COMPILER},
      {"flags", CT_BENCH_FLAGS},
      {"non_temporal_copy", non_temporal_target()},
      {"libraries",
       {{"highway", CT_BENCH_HIGHWAY},
        {"onetbb", CT_BENCH_TBB},
        {"glibc", gnu_get_libc_version()}}},
  };
}

}  // namespace cornerturn::bench
