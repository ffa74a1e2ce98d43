// Processors that are described, not here: those of devices/cpu, with one core, two and many, and
// with small caches and large ones.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "plan/cpu/cpu_files.hpp"

namespace cornerturn::test {

inline std::vector<std::pair<std::string, plan::CpuInfo>> described_machines() {
  std::vector<plan::CpuFile> files = plan::known_cpus();
  files.push_back({"a processor that no file describes", {}, 0, "SCALAR", ""});
  std::vector<std::pair<std::string, plan::CpuInfo>> all;
  for (const plan::CpuFile& file : files) {
    for (const int cores : {1, 2, 64}) {
      for (const bool large : {false, true}) {
        plan::CpuInfo cpu;
        cpu.model = file.name;
        cpu.family = file.family;
        cpu.isa = file.isa == "AVX3" ? "AVX3_DL" : file.isa;
        cpu.costs = file.costs;
        cpu.cores = cores;
        cpu.l1_bytes = large ? 64 << 10 : 16 << 10;
        cpu.l2_bytes = large ? 4 << 20 : 64 << 10;
        cpu.l3_bytes = large ? 256 << 20 : 256 << 10;
        all.emplace_back(file.name + ", " + std::to_string(cores) + " cores, " +
                             (large ? "large caches" : "small caches"),
                         cpu);
      }
    }
  }
  return all;
}

}  // namespace cornerturn::test
