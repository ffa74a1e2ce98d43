#include "torch/is_pytorchs.hpp"

#include <cstdint>

#include "core/problem.hpp"
#include "plan/cpu/rows.hpp"

namespace cornerturn::torch {
namespace {

// PyTorch copies rows of so many bytes by whole lines of the memory, which is all that limits it.
constexpr std::int64_t long_row = 128;

// Its loop then reads all lines that it needs once, one after the other.
bool takes_every_second(const Problem& normal) {
  if (normal.modes.size() == 0) return false;
  const Mode& fastest = normal.modes[normal.modes.size() - 1];
  const std::int64_t size = normal.dst_type.size();
  return size > 1 && fastest.dst_stride == size && fastest.src_stride == 2 * size;
}

bool is_pytorchs_on_cpu(const plan::Plan& plan) {
  if (plan.kernel() == plan::rows::Family::name) {
    const auto& rows = plan.chosen.config.as<plan::RowsConfig>();
    return rows.stores != plan::Stores::regular && rows.run_bytes >= long_row;
  }
  return takes_every_second(plan.normal);
}

}  // namespace

bool is_pytorchs(const plan::Plan& plan) {
  if (plan.kernel() == "copy") return true;
  return plan.machine.gpu() == nullptr ? is_pytorchs_on_cpu(plan) : plan.kernel() == "gather";
}

}  // namespace cornerturn::torch
