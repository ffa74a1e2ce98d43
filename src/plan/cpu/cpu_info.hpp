// What planning needs to know of a processor: a plain struct, so that plans can be made and tested
// for machines that are not there.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace cornerturn::plan {

struct CpuCosts;
/// What the families' headers say.
const std::shared_ptr<const CpuCosts>& standard_cpu_costs();

struct CpuInfo {
  std::string model;    ///< as the operating system names it
  std::string isa;      ///< the widest vector target that will be used
  int cores = 1;        ///< that this process may use
  int line_bytes = 64;  ///< a cache line
  std::int64_t l1_bytes = 32 << 10;
  std::int64_t l2_bytes = 1 << 20;   ///< of one core
  std::int64_t l3_bytes = 32 << 20;  ///< shared
  /// The caches are taken by a larger problem of which parts are planned: what a part reads is not
  /// in them yet, and what it writes does not stay there, however small it is.
  bool caches_taken = false;
  /// What kernels cost (costs.hpp), never null. Whoever plans need not know every family's costs.
  std::shared_ptr<const CpuCosts> costs = standard_cpu_costs();
  int family = 0;  ///< of x86 processors, as CPUID has it; 0: not known

  friend bool operator==(const CpuInfo& a, const CpuInfo& b);  // of costs, their values
};

/// Bytes of a register of the widest vector target.
inline int vector_bytes(const CpuInfo& cpu) {
  return cpu.isa.starts_with("AVX3") ? 64 : cpu.isa.starts_with("AVX2") ? 32 : 16;
}

}  // namespace cornerturn::plan
