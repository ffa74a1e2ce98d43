#include "plan/link/few_blocks.hpp"

namespace cornerturn::plan::link {
namespace {

constexpr double vector_bytes = 16;

}  // namespace

bool runs_in_few_blocks(const Row& row) {
  return []<class... Families>(const Row& one, TypeList<Families...>) {
    return ((one.name == Families::name) || ...);
  }(row, FewBlocksFamilies{});
}

double bytes_of_block(const Plan& plan) {
  const Launch& launch = plan.ready.launch;
  const AnyConfig& config = plan.chosen.config;
  const auto threads = static_cast<double>(launch.block.count());
  if (plan.kernel() == gpu::copy::Family::name) {
    return vector_bytes * threads * config.as<gpu::CopyConfig>().in_flight;
  }
  if (plan.kernel() == gpu::rows::Family::name) {
    return vector_bytes * threads * config.as<gpu::RowsConfig>().in_flight;
  }
  return launch.dynamic_shared;
}

}  // namespace cornerturn::plan::link
