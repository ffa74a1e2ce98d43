// What the control groups of this process allow.
#pragma once

#include <filesystem>
#include <optional>

namespace cornerturn::cpu {

/// Processors' worth of time that the control groups (versions 1 and 2) leave to this process, e.g.
/// 1.5; nothing when they set no limit. `root` is where the file system starts: tests bring theirs.
std::optional<double> cgroup_cpus(const std::filesystem::path& root = "/");

}  // namespace cornerturn::cpu
