#include "plan/cpu/stores.hpp"

#include <algorithm>
#include <cstdlib>

#include "plan/cpu/cpu_info.hpp"

namespace cornerturn::plan {
namespace {

// A destination may take so much of the third-level cache, which others use as well: a policy.
constexpr std::int64_t l3_shares = 4;

}  // namespace

bool fits_l2(const Problem& normal, const CpuInfo& cpu) {
  return !cpu.caches_taken && 2 * normal.bytes() < cpu.l2_bytes;
}

Stores stores_for(const Problem& normal, const CpuInfo& cpu) {
  const bool large = cpu.caches_taken || normal.bytes() > cpu.l3_bytes / l3_shares;
  return large ? Stores::past_caches : Stores::regular;
}

double first_reads(const Problem& normal) {
  double part = 1;
  for (const Mode& mode : normal.modes) {
    if (mode.src_stride == 0 && mode.extent > 0) part /= static_cast<double>(mode.extent);
  }
  return part;
}

bool shares_lines(const Problem& normal, int rank, const CpuInfo& cpu) {
  const auto is_near = [&cpu](const Mode& mode) {
    return mode.extent > 1 && std::abs(mode.src_stride) < cpu.line_bytes;
  };
  return std::any_of(normal.modes.begin(), normal.modes.begin() + rank, is_near);
}

bool either_stores(const Problem& normal, const CpuInfo& cpu) {
  return !fits_l2(normal, cpu) && stores_for(normal, cpu) == Stores::regular;
}

}  // namespace cornerturn::plan
