#include "plan/gpu/copy.hpp"

#include <algorithm>

#include "plan/gpu/plan.hpp"
#include "plan/gpu/row_runs.hpp"

namespace cornerturn::plan::gpu::copy {
namespace {

constexpr std::int64_t vector_bytes = 16;
constexpr std::int64_t threads = 256;

// Enough for every vector of the destination that the run touches.
std::int64_t blocks_of(const CopyConfig& config, const Rows& run) {
  const std::int64_t of_block = threads * config.in_flight * vector_bytes;
  return (run.bytes + vector_bytes + of_block - 1) / of_block;
}

}  // namespace

const char* why_not(const Problem& normal, const DeviceInfo&) {
  const Rows run(normal);
  if (!run.outer.empty()) return "it is not one run on both sides";
  if (run.bytes < vector_bytes) return "less than 16 B";
  if (blocks_of({1}, run) >= std::int64_t{1} << 31) return "2^31 blocks of 4 KiB or more";
  return nullptr;
}

void configure(const Problem&, const Alignment&, const DeviceInfo&,
               const std::function<void(const CopyConfig&)>& add) {
  for (const int in_flight : {1, 2, 4}) add({in_flight});
}

double cost_seconds(const CopyConfig& config, const Problem& normal, const DeviceInfo& device) {
  const Rows run(normal);
  const double efficiency = 1.0 - 0.008 * (config.in_flight - 1);
  const double busy = std::min(1.0, static_cast<double>(blocks_of(config, run)) / device.sm_count);
  return device.launch_seconds +
         2 * static_cast<double>(run.bytes) / (efficiency * device.copy_bandwidth * busy);
}

std::string describe(const CopyConfig& config, const Problem& normal) {
  return std::string(Rows(normal).granule == vector_bytes ? "aligned" : "shifted") + " vectors, " +
         std::to_string(config.in_flight) + " a thread";
}

Prepared prepare(const CopyConfig& config, const Problem& normal) {
  const Rows run(normal);
  kernels::CopyArgs args;
  args.bytes = run.bytes;
  args.granule = static_cast<int>(run.granule);
  args.in_flight = config.in_flight;
  return {args, {{static_cast<unsigned>(blocks_of(config, run)), 1, 1}, {threads, 1, 1}, 0}};
}

}  // namespace cornerturn::plan::gpu::copy
