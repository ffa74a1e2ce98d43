#include "workshop/ladder/ledger.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "plan/gpu/roofline.hpp"
#include "workshop/ladder/compiled.hpp"
#include "workshop/ladder/explain.hpp"

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

// The way through the compiled code that the counted accesses took; none where nobody knows.
const CompiledPath* path_of(const Prediction& run) {
  const CompiledRung* code = find_compiled(run.report.kernel, run.matrix);
  if (code == nullptr) return nullptr;
  const bool narrow = run.report.total(simt::Op::global_load).width <= run.matrix.bytes;
  const CompiledPath& path = narrow ? code->elements : code->vectors;
  return path.instructions > 0 ? &path : nullptr;
}

// What residency() needs of a kernel whose blocks have so many threads, and a tile that grows
// alike.
Prediction with_threads(const Prediction& run, int threads) {
  Prediction other;
  other.matrix = run.matrix;
  other.launch = run.launch;
  other.shared_bytes = run.shared_bytes;
  other.report.kernel = run.report.kernel;
  if (threads == 0) return other;
  const auto now = static_cast<std::int64_t>(run.launch.block.count());
  other.shared_bytes = run.shared_bytes * threads / now;
  other.launch.block = {static_cast<unsigned>(threads), 1, 1};
  return other;
}

// Blocks on an SM of this GPU at a time, with the registers of the code that is compiled for it.
int resident_on(const Prediction& run, const plan::gpu::DeviceInfo& device) {
  const Sm& nearest = device.arch >= 90 ? sms.front() : sms.back();
  const CompiledRung* code = find_compiled(run.report.kernel, run.matrix);
  const auto which = static_cast<std::size_t>(&nearest - sms.data());
  const Sm sm{nearest.name,         device.threads_per_sm,  device.blocks_per_sm,
              device.shared_per_sm, nearest.reserved_bytes, device.registers_per_sm};
  const int registers = code == nullptr ? 0 : code->registers[which];
  return std::max(1, residency(run.launch, run.shared_bytes, registers, sm).blocks);
}

// Of the launch for the whole matrix: some rungs round the sides of their grid up.
double blocks_of(const Prediction& run, const Matrix& matrix) {
  const Rung* rung = find_rung(run.report.kernel);
  const RungBody* body = rung == nullptr ? nullptr : rung->body(matrix.bytes);
  if (body != nullptr && body->launch != nullptr) {
    return static_cast<double>(body->launch(nullptr, nullptr, matrix).grid.count());
  }
  return scale_of(run, matrix) * static_cast<double>(run.launch.grid.count());
}

// Parts that overlap take as long as the longest, and a little more: their norm.
double norm_of(const std::array<LedgerPart, 5>& parts, double order) {
  double sum = 0;
  for (const LedgerPart& part : parts) sum += std::pow(part.seconds, order);
  return std::pow(sum, 1 / order);
}

}  // namespace

double excess_sectors(const Leg& leg, const AccessCosts& costs) {
  const bool stores = leg.op == simt::Op::global_store;
  const auto fewest = static_cast<double>(leg.bytes_used) / 32;
  const auto again = static_cast<double>(leg.sectors_again);
  const double others = std::max(static_cast<double>(leg.sectors) - fewest - again, 0.0);
  const double cost = leg.only_cut() ? (stores ? costs.cut_store : costs.cut_load)
                                     : (stores ? costs.sector_store : costs.sector_load);
  return costs.again * again + cost * others;
}

const LedgerPart& Ledger::largest() const {
  return *std::max_element(parts.begin(), parts.end(),
                           [](const auto& a, const auto& b) { return a.seconds < b.seconds; });
}

std::string Ledger::why_not() const {
  if (matrix.rows * matrix.cols * matrix.batch >= least_predicted) return {};
  return fmt::format(
      "no speed at {} x {}: the model was fitted to matrices of 4096 x 4096 elements and more",
      matrix.rows, matrix.cols);
}

std::string Ledger::text() const {
  if (std::string why = why_not(); !why.empty()) return why;
  std::vector<LedgerPart> sorted(parts.begin(), parts.end());
  sorted.push_back({"launch", start_seconds});
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.seconds > b.seconds; });
  std::string out = fmt::format("{:.0f} % of a copy's speed at {}{} x {} on {}; of that time",
                                100 * share_of_copy(),
                                matrix.batch == 1 ? "" : fmt::format("{} x ", matrix.batch),
                                matrix.rows, matrix.cols, device);
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
                 const AccessCosts& costs, const Change& change) {
  const double scale = scale_of(run, matrix);
  const auto bytes = static_cast<double>(matrix.size());
  double wavefronts = 0;
  double requests = 0;
  int widest = 1;
  double excess[2] = {0, 0};  // time of sectors beyond the fewest, of loads and of stores, as bytes
  for (const Leg& leg : run.report.legs) {
    const double fewer = change.wide ? leg.width / 16.0 : 1;
    const std::uint64_t conflicts = change.no_conflicts ? leg.conflicts : 0;
    widest = std::max(widest, leg.width);
    requests += scale * fewer * static_cast<double>(leg.requests);
    wavefronts += scale * static_cast<double>(leg.wavefronts - conflicts);
    if (leg.is_global()) {
      excess[leg.op == simt::Op::global_store] += 32 * scale * excess_sectors(leg, costs);
    }
  }
  const double moved = copies_plainly(run) ? bytes : bytes * (1 + costs.transposed);

  plan::gpu::Demand demand;
  demand.src_bytes = moved + excess[0];
  demand.dst_bytes = moved + excess[1];
  demand.wavefronts = costs.wavefront * wavefronts;
  const Prediction launched = with_threads(run, change.threads);
  const Launch& launch = launched.launch;
  demand.blocks = blocks_of(run, matrix) * (change.wide ? widest / 16.0 : 1) *
                  static_cast<double>(run.launch.block.count()) /
                  static_cast<double>(launch.block.count());
  const int resident = resident_on(launched, device);
  demand.resident = resident;
  const std::uint64_t warps_of_block = (launch.block.count() + 31) / 32;
  const double warps = demand.blocks * static_cast<double>(warps_of_block);
  double trips = 1;
  double turns = 1;
  double empty = 0;  // blocks
  if (const CompiledPath* path = path_of(run)) {
    // How often each warp takes the path.
    const double busy = requests / (warps * path->accesses);
    // In a loop over matrices the way there is taken once.
    const double once = path->instructions - path->turn;
    const double run_by_warp = path->turn > 0 ? once + path->turn * busy : once * busy;
    turns = path->turn > 0 ? busy : 1;
    if (!change.wide) empty = demand.blocks * std::max(1 - busy, 0.0);
    trips = path->trips * turns * std::min(busy, 1.0);
    demand.instructions = 32 * costs.instruction * run_by_warp * warps;
  } else {
    demand.instructions = 32 * costs.request * requests;
  }
  demand.instructions += 32 * costs.warp * warps;
  demand.block_seconds =
      costs.alone + costs.latency * trips + (wavefronts > 0 ? costs.staged * turns : 0);

  plan::gpu::SharedCosts shared;
  shared.rounds.value = 1;
  const plan::Estimate e = plan::gpu::roofline(demand, device, shared);

  Ledger ledger;
  ledger.device = device.name;
  ledger.matrix = matrix;
  ledger.resident = resident;
  ledger.parts = {LedgerPart{"memory", e.memory_seconds}, LedgerPart{"shared", e.shared_seconds},
                  LedgerPart{"issue", e.issue_seconds},
                  LedgerPart{"starts", demand.blocks / costs.starts},
                  LedgerPart{"latency", e.rounds_seconds}};
  ledger.start_seconds = e.start_seconds;
  // Empty blocks follow each other, and nothing else overlaps them.
  const double in_vain = costs.empty * empty;
  ledger.seconds = e.start_seconds + norm_of(ledger.parts, costs.norm) + in_vain;
  ledger.parts[3].seconds += in_vain;
  ledger.copy_seconds = device.launch_seconds + 2 * bytes / device.copy_bandwidth;
  return ledger;
}

}  // namespace cornerturn::ladder
