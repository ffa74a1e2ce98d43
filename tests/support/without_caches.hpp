#pragma once

#include "cpu/cpu_info.hpp"

namespace cornerturn::test {

/// A processor with hardly any cache: small problems are then planned as large ones are here.
inline plan::CpuInfo without_caches() {
  plan::CpuInfo cpu = cpu::cpu_info();
  cpu.l1_bytes = 1 << 10;
  cpu.l2_bytes = 8 << 10;
  cpu.l3_bytes = 64;
  return cpu;
}

}  // namespace cornerturn::test
