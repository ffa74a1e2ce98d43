#include "plan/gpu/copy.hpp"

#include <algorithm>

#include "plan/gpu/row_runs.hpp"

namespace cornerturn::plan::gpu::copy {
namespace {

constexpr std::int64_t vector_bytes = 16;
constexpr int threads = 256;

// Enough for every vector of the destination that the run touches.
std::int64_t blocks_of(const CopyConfig& config, const Rows& run) {
  const std::int64_t of_block = std::int64_t{threads} * config.in_flight * vector_bytes;
  return (run.bytes + vector_bytes + of_block - 1) / of_block;
}

}  // namespace

const char* Family::why_not(const Problem& normal, const DeviceInfo&) {
  if (normal.converts()) return "values are changed";
  const Rows run(normal);
  if (!run.outer.empty()) return "it is not one run on both sides";
  if (run.bytes < vector_bytes) return "less than 16 B";
  if (blocks_of({1}, run) >= std::int64_t{1} << 31) return "2^31 blocks of 4 KiB or more";
  return nullptr;
}

void Family::configure(const Problem&, const Alignment&, const DeviceInfo&,
                       const Add<CopyConfig>& add) {
  for (const int in_flight : {1, 2}) add({in_flight});
}

Demand Family::demand(const CopyConfig& config, const Problem& normal, const Model& model,
                      const Costs& c) {
  const Rows run(normal);
  Demand demand;
  demand.blocks = static_cast<double>(blocks_of(config, run));
  demand.resident = resident_blocks(model.device, threads, 0, 8 / config.in_flight);
  demand.instructions = demand.blocks * threads * config.in_flight * c.lane;
  demand.block_seconds = c.block * config.in_flight;
  demand.src_bytes = static_cast<double>(run.bytes);
  demand.dst_bytes = static_cast<double>(run.bytes);
  return demand;
}

std::string Family::describe(const CopyConfig& config, const Problem& normal) {
  return std::string(Rows(normal).granule == vector_bytes ? "aligned" : "shifted") + " vectors, " +
         std::to_string(config.in_flight) + " a thread";
}

Launchable<kernels::CopyArgs> Family::prepare(const CopyConfig& config, const Problem& normal) {
  const Rows run(normal);
  kernels::CopyArgs args;
  args.bytes = run.bytes;
  args.granule = static_cast<int>(run.granule);
  args.in_flight = config.in_flight;
  return {args, {{static_cast<unsigned>(blocks_of(config, run)), 1, 1}, {threads, 1, 1}, 0}};
}

}  // namespace cornerturn::plan::gpu::copy
