#include "cpu/cgroup.hpp"

#include <algorithm>
#include <fstream>
#include <string>

namespace cornerturn::cpu {
namespace {

namespace fs = std::filesystem;

// Version 2, one file: "150000 100000", or "max 100000" when there is no limit.
std::optional<double> limit_v2(const fs::path& group) {
  std::ifstream file(group / "cpu.max");
  double quota = 0;
  double period = 0;
  if (!(file >> quota >> period) || quota <= 0 || period <= 0) return std::nullopt;
  return quota / period;
}

// Version 1, two files; a quota of -1 when there is no limit.
std::optional<double> limit_v1(const fs::path& group) {
  double quota = 0;
  double period = 0;
  std::ifstream(group / "cpu.cfs_quota_us") >> quota;
  std::ifstream(group / "cpu.cfs_period_us") >> period;
  if (quota <= 0 || period <= 0) return std::nullopt;
  return quota / period;
}

bool lists(const std::string& controllers, const std::string& name) {
  return ("," + controllers + ",").find("," + name + ",") != std::string::npos;
}

}  // namespace

std::optional<double> cgroup_cpus(const fs::path& root) {
  std::optional<double> least;
  // A group is bound by its parents too. Inside a container the path may name groups that only the
  // host sees; the hierarchy's root is then the container's own group.
  const auto look = [&least](const fs::path& hierarchy, fs::path group, auto limit_of) {
    for (;; group = group.parent_path()) {
      const std::optional<double> limit = limit_of(hierarchy / group);
      if (limit) least = std::min(least.value_or(*limit), *limit);
      if (group.empty()) return;
    }
  };
  // Lines are "id:controllers:/path", without controllers in version 2.
  std::ifstream groups(root / "proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const fs::path group = fs::path(line.substr(second + 1)).relative_path();
    if (controllers.empty()) {
      look(root / "sys/fs/cgroup", group, limit_v2);
      look(root / "sys/fs/cgroup/unified", group, limit_v2);
    } else if (lists(controllers, "cpu")) {
      look(root / "sys/fs/cgroup" / controllers, group, limit_v1);
      if (controllers != "cpu") look(root / "sys/fs/cgroup/cpu", group, limit_v1);
    }
  }
  return least;
}

}  // namespace cornerturn::cpu
