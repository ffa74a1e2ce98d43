#include "workshop/ladder/explain.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "workshop/ladder/compiled.hpp"

namespace cornerturn::ladder {
namespace {

using simt::Op;

// What 128 bytes of the matrix cost: as much as one warp moves with 4 bytes a lane.
struct Cost {
  double sectors_loaded = 0;
  double sectors_stored = 0;
  double wavefronts_in = 0;  // to fill the tile
  double wavefronts_out = 0;
  double requests = 0;
};

Cost cost_of(const Prediction& run) {
  const double lines = static_cast<double>(std::max<std::int64_t>(run.matrix.size(), 1)) / 128;
  const auto each = [&](std::uint64_t total) { return static_cast<double>(total) / lines; };
  Cost cost;
  const Leg async = run.report.total(Op::async_copy);  // both loads and fills the tile
  cost.sectors_loaded = each(run.report.total(Op::global_load).sectors + async.sectors);
  cost.sectors_stored = each(run.report.total(Op::global_store).sectors);
  cost.wavefronts_in = each(run.report.total(Op::shared_store).wavefronts + async.wavefronts);
  cost.wavefronts_out = each(run.report.total(Op::shared_load).wavefronts);
  for (const Leg& leg : run.report.legs) cost.requests += each(leg.requests);
  return cost;
}

// Two digits at most behind the point, and none that say nothing.
std::string figure(double value) {
  std::string text = fmt::format("{:.2f}", value);
  while (text.back() == '0') text.pop_back();
  if (text.back() == '.') text.pop_back();
  return text;
}

std::string counted(double value, const char* noun) {
  const std::string text = figure(value);
  return fmt::format("{} {}{}", text, noun, text == "1" ? "" : "s");
}

bool differ(double a, double b) {
  return std::abs(a - b) > 0.1 * std::max(a, b);
}

class Clauses {
 public:
  /// "loads" 4 "sectors" instead of 16.
  void compare(const char* verb, const char* unit, double now, double before) {
    if (!differ(now, before)) return;
    const std::string clause =
        fmt::format("{} {} instead of {}", verb, counted(now, unit), figure(before));
    (now < before ? less_ : more_).push_back(clause);
  }
  void less(std::string clause) { less_.push_back(std::move(clause)); }
  void more(std::string clause) { more_.push_back(std::move(clause)); }

  std::string text() const {
    if (less_.empty() && more_.empty()) return "makes the same accesses";
    std::string out = fmt::format("{}", fmt::join(less_, ", "));
    if (!less_.empty() && !more_.empty()) out += "; but ";
    return out + fmt::format("{}", fmt::join(more_, ", "));
  }

 private:
  std::vector<std::string> less_;
  std::vector<std::string> more_;
};

}  // namespace

Residency residency(const Launch& launch, std::int64_t shared_bytes, int registers, const Sm& sm) {
  constexpr int quarters = 4;
  constexpr int portion = 256;  // registers that a warp gets at a time
  const auto warps = static_cast<int>((launch.block.count() + 31) / 32);
  if (warps == 0) return {};
  Residency fits{sm.threads / (32 * warps), 0, "threads"};
  const auto bound = [&](int blocks, const char* by) {
    if (blocks >= fits.blocks) return;
    fits.blocks = blocks;
    fits.bound = by;
  };
  bound(sm.blocks, "blocks");
  if (registers > 0) {
    const int of_warp = (32 * registers + portion - 1) / portion * portion;
    bound(sm.registers / quarters / of_warp * quarters / warps, "registers");
  }
  if (shared_bytes > 0) {
    bound(static_cast<int>(sm.shared_bytes / (shared_bytes + sm.reserved_bytes)), "shared memory");
  }
  fits.threads = fits.blocks * 32 * warps;
  return fits;
}

Residency residency(const Prediction& run, const Sm& sm) {
  const CompiledRung* compiled = find_compiled(run.report.kernel, run.matrix);
  const auto of_sm = static_cast<std::size_t>(&sm - sms.data());
  const int registers = compiled == nullptr ? 0 : compiled->registers[of_sm];
  return residency(run.launch, run.shared_bytes, registers, sm);
}

std::string difference(const Prediction& now, const Prediction& before) {
  const Cost a = cost_of(now);
  const Cost b = cost_of(before);
  Clauses clauses;
  clauses.compare("loads", "sector", a.sectors_loaded, b.sectors_loaded);
  clauses.compare("stores", "sector", a.sectors_stored, b.sectors_stored);
  const bool has_tile = a.wavefronts_in + a.wavefronts_out > 0;
  const bool had_tile = b.wavefronts_in + b.wavefronts_out > 0;
  if (has_tile && had_tile) {  // what the copy engine does to the tile is not known
    if (a.wavefronts_in > 0 && b.wavefronts_in > 0) {
      clauses.compare("fills the tile in", "wavefront", a.wavefronts_in, b.wavefronts_in);
    }
    if (a.wavefronts_out > 0 && b.wavefronts_out > 0) {
      clauses.compare("reads the tile in", "wavefront", a.wavefronts_out, b.wavefronts_out);
    }
  } else if (has_tile) {
    clauses.more(fmt::format("fills a tile in {} and reads it in {}",
                             counted(a.wavefronts_in, "wavefront"),
                             counted(a.wavefronts_out, "wavefront")));
  } else if (had_tile) {
    clauses.less("needs no shared memory");
  }
  clauses.compare("takes", "request", a.requests, b.requests);
  if (has_tile && had_tile && now.shared_bytes != before.shared_bytes) {
    const std::string clause = fmt::format("has {} B of shared memory a block instead of {}",
                                           now.shared_bytes, before.shared_bytes);
    now.shared_bytes < before.shared_bytes ? clauses.less(clause) : clauses.more(clause);
  }
  const Sm& small = sms.back();
  const int threads = residency(now, small).threads;
  const int threads_before = residency(before, small).threads;
  if (threads != threads_before) {
    const std::string clause =
        fmt::format("has {} threads at a time on an SM of compute capability {} instead of {}",
                    threads, small.name, threads_before);
    threads > threads_before ? clauses.less(clause) : clauses.more(clause);
  }
  return clauses.text();
}

std::string path_picture(const Emulation& run, const Rung& rung) {
  constexpr std::array<std::size_t, 8> lanes = {0, 1, 2, 3, 7, 8, 16, 31};
  const Matrix& m = run.matrix;
  const RungBody& body = *rung.body(m.bytes);
  std::string out = fmt::format("{:<13}", "lane");
  for (const std::size_t lane : lanes) out += fmt::format("{:>8}", lane);
  out += "\n";
  for (const simt::Request& request : run.first) {
    out += fmt::format("{:<13}", cornerturn::name(request.op));
    const std::int64_t width = request.op == Op::global_store && rung.transposes ? m.rows
                               : m.fused                                         ? m.cols * m.batch
                                                                                 : m.cols;
    for (const std::size_t lane : lanes) {
      const auto offset = static_cast<std::int64_t>(request.lanes.address[lane]);
      if (!request.lanes.is_active(static_cast<int>(lane))) {
        out += fmt::format("{:>8}", "-");
      } else if (simt::is_global(request.op)) {
        const std::int64_t element = offset / m.bytes;
        out += fmt::format("{:>8}", fmt::format("{},{}", element / width, element % width));
      } else {
        out += fmt::format("{:>8}", offset / (body.tile ? body.tile->slot_bytes : m.bytes));
      }
    }
    out += "\n";
  }
  return out;
}

std::string bank_picture(const TileMap& tile) {
  const int chunk = tile.chunk;
  const int all_rows = tile.rows / chunk;  // rows of one chunk look the same
  const int all_columns = tile.columns / chunk;
  const auto bank = [&](int row, int column) {
    return tile.at(row * chunk, column * chunk) * tile.slot_bytes / bank_bytes % bank_count;
  };
  // After how many rows, or columns, the banks are the same again.
  const auto period = [&](int count, auto same) {
    int after = 1;
    while (after < count && !same(after)) ++after;
    return after;
  };
  const int rows = period(all_rows, [&](int after) {
    for (int r = after; r < all_rows; ++r) {
      for (int c = 0; c < all_columns; ++c) {
        if (bank(r, c) != bank(r - after, c)) return false;
      }
    }
    return true;
  });
  const int columns = period(all_columns, [&](int after) {
    for (int r = 0; r < rows; ++r) {
      for (int c = after; c < all_columns; ++c) {
        if (bank(r, c) != bank(r, c - after)) return false;
      }
    }
    return true;
  });
  const int width = (columns - 1) * chunk < 100 ? 3 : 4;
  std::string out = "row\\col";
  for (int c = 0; c < columns; ++c) out += fmt::format("{:>{}}", c * chunk, width);
  out += "\n";
  for (int r = 0; r < rows; ++r) {
    out += fmt::format("{:>7}", r * chunk);
    for (int c = 0; c < columns; ++c) out += fmt::format("{:>{}}", bank(r, c), width);
    out += "\n";
  }
  const auto repeat = [&](int shown, int all, const char* what) {
    return shown == all
               ? std::string()
               : fmt::format("({} {} to {} repeat these)\n", what, shown * chunk, all * chunk - 1);
  };
  return out + repeat(rows, all_rows, "rows") + repeat(columns, all_columns, "columns");
}

}  // namespace cornerturn::ladder
