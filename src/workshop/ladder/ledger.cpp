#include "workshop/ladder/ledger.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "plan/gpu/estimate.hpp"

namespace cornerturn::ladder {
namespace {

// A copy whose bytes go through registers alone reaches the bandwidth of a plain copy.
bool copies_plainly(const Prediction& run) {
  for (const Leg& leg : run.report.legs) {
    if (leg.is_shared()) return false;
  }
  const Leg stores = run.report.total(simt::Op::global_store);
  const Rung* rung = find_rung(run.report.kernel);
  return rung != nullptr && !rung->transposes && stores.requests > 0 && stores.width == 16 &&
         run.shared_bytes == 0;
}

// More than 1 where the work counted for `run` is that of a larger matrix.
double scale_of(const Prediction& run, const Matrix& matrix) {
  const auto counted = static_cast<double>(std::max<std::int64_t>(run.matrix.size(), 1));
  return static_cast<double>(matrix.size()) / counted;
}

}  // namespace

const LedgerPart& Ledger::largest() const {
  return *std::max_element(parts.begin(), parts.end(),
                           [](const auto& a, const auto& b) { return a.seconds < b.seconds; });
}

std::string Ledger::text() const {
  std::vector<LedgerPart> sorted(parts.begin(), parts.end());
  sorted.push_back({"launch", start_seconds});
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.seconds > b.seconds; });
  std::string out = fmt::format("{:.0f} % of a copy's speed at {} x {} on {}; of that time",
                                100 * share_of_copy(), matrix.rows, matrix.cols, device);
  const char* between = " ";
  for (const LedgerPart& part : sorted) {
    const double busy = seconds > 0 ? 100 * part.seconds / seconds : 0;
    if (busy < 0.5) continue;
    out += fmt::format("{}{} {:.0f} %", between, part.name, busy);
    between = ", ";
  }
  return out;
}

Ledger ledger_of(const Prediction& run, const Matrix& matrix, const plan::gpu::DeviceInfo& device,
                 const AccessCosts& costs) {
  const double scale = scale_of(run, matrix);
  const auto bytes = static_cast<double>(matrix.size());
  double wavefronts = 0;
  double requests = 0;
  double excess[2] = {0, 0};  // sectors beyond those of the matrix, of loads and of stores
  for (const Leg& leg : run.report.legs) {
    requests += scale * static_cast<double>(leg.requests);
    wavefronts += scale * static_cast<double>(leg.wavefronts);
    if (leg.is_global()) {
      excess[leg.op == simt::Op::global_store] += scale * static_cast<double>(leg.sectors);
    }
  }
  for (double& sectors : excess) sectors = std::max(sectors - bytes / 32, 0.0);
  const double moved = copies_plainly(run) ? bytes : bytes * (1 + costs.transposed);

  plan::gpu::SharedCosts shared;
  shared.norm.value = costs.norm;
  shared.rounds.value = 1;
  shared.barriers.value = 0;
  plan::gpu::Work work;
  work.src_bytes = moved + 32 * costs.sector_load * excess[0];
  work.dst_bytes = moved + 32 * costs.sector_store * excess[1];
  work.blocks = scale * static_cast<double>(run.launch.grid.count());
  const std::uint64_t warps_of_block = (run.launch.block.count() + 31) / 32;
  const auto warps = static_cast<double>(warps_of_block);
  work.instructions = 32 * (costs.request * requests + costs.thread * work.blocks * warps);
  work.wavefronts = costs.wavefront * wavefronts;
  work.resident = 1;
  work.block_seconds = costs.block * device.sm_count;  // they begin one after the other
  const plan::gpu::Model model{device, shared, {}};
  const plan::Estimate e = plan::gpu::estimate_of(model, work);

  Ledger ledger;
  ledger.device = device.name;
  ledger.matrix = matrix;
  ledger.parts = {LedgerPart{"memory", e.memory_seconds}, LedgerPart{"shared", e.shared_seconds},
                  LedgerPart{"issue", e.issue_seconds}, LedgerPart{"blocks", e.rounds_seconds}};
  ledger.start_seconds = e.start_seconds;
  ledger.seconds = e.seconds;
  ledger.copy_seconds = device.launch_seconds + 2 * bytes / device.copy_bandwidth;
  return ledger;
}

}  // namespace cornerturn::ladder
