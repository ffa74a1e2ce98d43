#include "workshop/analyse/kernel_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <nlohmann/json.hpp>

#include "workshop/analyse/access.hpp"
#include "workshop/analyse/access_costs.hpp"

namespace cornerturn {

using simt::Op;

namespace {

double per(std::uint64_t total, std::uint64_t count) {
  return count == 0 ? 0 : static_cast<double>(total) / static_cast<double>(count);
}

SharedOp shared_op(Op op) {
  switch (op) {
    case Op::shared_store:
      return SharedOp::store;
    case Op::ldmatrix:
      return SharedOp::ldmatrix;
    case Op::stmatrix:
      return SharedOp::stmatrix;
    default:
      return SharedOp::load;
  }
}

void add_global(Leg& leg, const WarpRequest& lanes, int sectors) {
  const GlobalCost cost = global_cost(lanes);
  leg.sectors_min = leg.sectors == 0 ? sectors : std::min(leg.sectors_min, sectors);
  leg.sectors_max = std::max(leg.sectors_max, sectors);
  leg.sectors += static_cast<std::uint64_t>(sectors);
  leg.sectors_ideal += static_cast<std::uint64_t>(cost.ideal);
  leg.bytes_used += static_cast<std::uint64_t>(cost.bytes);
}

int sectors_of_both(const WarpRequest& one, const WarpRequest& other) {
  std::array<std::uint64_t, 2 * warp_lanes> sectors;
  std::size_t count = 0;
  for (const WarpRequest* lanes : {&one, &other}) {
    for (int lane = 0; lane < warp_lanes; ++lane) {
      if (!lanes->is_active(lane)) continue;
      sectors[count++] = lanes->address[static_cast<std::size_t>(lane)] / sector_bytes;
    }
  }
  const auto end = sectors.begin() + static_cast<std::ptrdiff_t>(count);
  std::sort(sectors.begin(), end);
  return static_cast<int>(std::unique(sectors.begin(), end) - sectors.begin());
}

void add_shared(Leg& leg, const SharedCost& cost) {
  leg.wavefronts += static_cast<std::uint64_t>(cost.wavefronts);
  leg.wavefronts_ideal += static_cast<std::uint64_t>(cost.ideal);
  leg.conflicts += static_cast<std::uint64_t>(cost.conflicts);
  if (cost.wavefronts <= leg.wavefronts_max) return;
  leg.wavefronts_max = cost.wavefronts;
  leg.collision = cost.collision;
}

void add_async(Leg& leg, const simt::Request& request) {
  AsyncCopyRequest copy;
  copy.shared = request.lanes;
  copy.source = request.source;
  copy.bypass = !request.through_l1;
  const AsyncCopyCost cost = async_copy_cost(copy);
  WarpRequest read = request.lanes;
  read.address = request.source;
  add_global(leg, read, cost.sectors);
  const int bytes = std::popcount(request.lanes.active) * request.lanes.width;
  const int row = bank_count * bank_bytes;
  const int ideal = (bytes + row - 1) / row;
  add_shared(leg, {cost.wavefronts, ideal, std::max(cost.wavefronts - ideal, 0), {}});
}

std::string who_collides(const Leg& leg) {
  return leg.collision == Collision{} ? std::string("its lanes meet in the banks")
                                      : describe(leg.collision);
}

}  // namespace

const char* name(Op op) {
  switch (op) {
    case Op::global_load:
      return "global load";
    case Op::global_store:
      return "global store";
    case Op::shared_load:
      return "shared load";
    case Op::shared_store:
      return "shared store";
    case Op::prefetch:
      return "prefetch";
    case Op::async_copy:
      return "async copy";
    case Op::ldmatrix:
      return "ldmatrix";
    case Op::stmatrix:
      return "stmatrix";
  }
  return "";
}

Leg& KernelReport::leg_of(const simt::Request& request) {
  for (Leg& leg : legs) {
    if (leg.op == request.op && leg.width == request.lanes.width && leg.site == request.site) {
      return leg;
    }
  }
  Leg leg;
  leg.site = request.site;
  leg.op = request.op;
  leg.width = request.lanes.width;
  legs.push_back(leg);
  return legs.back();
}

void KernelReport::add(const simt::Request& request) {
  Leg& leg = leg_of(request);
  ++leg.requests;
  if (request.op == Op::async_copy) {
    add_async(leg, request);
  } else if (simt::is_global(request.op)) {
    const int sectors = global_cost(request.lanes).sectors;
    add_global(leg, request.lanes, sectors);
    count_again(leg, request, sectors);
  } else {
    add_shared(leg, shared_cost(request.lanes, shared_op(request.op)));
  }
}

// A warp that comes back to a sector at once finds it in the cache, and its parts are put together
// there.
void KernelReport::count_again(Leg& leg, const simt::Request& request, int sectors) {
  last_.resize(legs.size());
  if (request.first) {
    for (LastRequest& last : last_) last.known = false;
  }
  LastRequest& last = last_[static_cast<std::size_t>(&leg - legs.data())];
  if (last.known) {
    const int both = sectors_of_both(last.lanes, request.lanes);
    const int before = global_cost(last.lanes).sectors;
    leg.sectors_again += static_cast<std::uint64_t>(before + sectors - both);
  }
  last = {true, request.lanes};
}

// The legs are compared by the time that their excess takes, of which a twentieth of what the
// memory needs for the bytes themselves is worth a word.
KernelReport::Limits KernelReport::limits() const {
  const AccessCosts& costs = access_costs;
  double bytes = 0;
  for (const Leg& leg : legs) {
    if (leg.is_global()) bytes += static_cast<double>(leg.bytes_used);
  }
  Limits worst;
  double most = bytes / costs.copy_bandwidth / 20;
  for (const Leg& leg : legs) {
    if (leg.is_global()) {
      const bool stores = leg.op == Op::global_store;
      const double excess = static_cast<double>(leg.sectors - leg.sectors_ideal) *
                            (stores ? costs.sector_store : costs.sector_load) *
                            costs.sector_seconds();
      if (excess > most) {
        most = excess;
        const bool cut = leg.only_cut();
        worst = {cut ? nullptr : &leg, cut ? &leg : nullptr, nullptr, worst.narrow};
      }
    }
    if (leg.is_shared() && leg.conflicts > 0) {
      const double excess = static_cast<double>(leg.conflicts) * costs.wavefront_seconds();
      if (excess > most) {
        most = excess;
        worst = {nullptr, nullptr, &leg, worst.narrow};
      }
    }
    if (leg.width < 16 && (!worst.narrow || (leg.is_global() && !worst.narrow->is_global()))) {
      worst.narrow = &leg;
    }
  }
  return worst;
}

namespace {

const char* remedy_of_conflicts(TileKind tile) {
  switch (tile) {
    case TileKind::unknown:
      return "let the lanes of a request want different banks: pad the rows of its tile, or "
             "swizzle them";
    case TileKind::plain:
      return "pad the rows of the tile, or swizzle them";
    case TileKind::arranged:
      return "the tile is padded or swizzled already, but not for accesses of this width in this "
             "order: `cornerturn solve` finds what serves them";
  }
  return "";
}

}  // namespace

std::string KernelReport::sentence() const {
  const auto [scattered, offset, conflicted, narrow] = limits();
  if (legs.empty()) return "The kernel touches no memory.";
  if (scattered != nullptr) {
    const bool staged = total(Op::shared_load).requests > 0;
    return fmt::format(
        "The {} at {} is what limits it: {:.1f} sectors a request where {:.1f} would do, so that "
        "{:.0f} % of the bytes moved are used; let neighbouring lanes touch neighbouring "
        "elements{}.",
        name(scattered->op), to_string(scattered->site),
        per(scattered->sectors, scattered->requests),
        per(scattered->sectors_ideal, scattered->requests),
        100 * per(scattered->bytes_used, scattered->bytes_moved()),
        staged ? " there as well" : ", by transposing a tile in shared memory or in registers");
  }
  if (offset != nullptr) {
    return fmt::format(
        "The {} at {} is what limits it: {:.1f} sectors a request where {:.1f} would do. Its lanes "
        "touch neighbouring elements, but begin within a sector: begin the rows of the matrix at "
        "multiples of 32 B, or let a request take more bytes.",
        name(offset->op), to_string(offset->site), per(offset->sectors, offset->requests),
        per(offset->sectors_ideal, offset->requests));
  }
  if (conflicted != nullptr) {
    return fmt::format(
        "The {} at {} is what limits it: {:.1f} wavefronts a request where {:.1f} would do ({}); "
        "{}.",
        name(conflicted->op), to_string(conflicted->site),
        per(conflicted->wavefronts, conflicted->requests),
        per(conflicted->wavefronts_ideal, conflicted->requests), who_collides(*conflicted),
        remedy_of_conflicts(tile));
  }
  if (narrow != nullptr) {
    return fmt::format(
        "Sectors are whole and banks are free of conflicts, but the {} at {} moves {} B a lane: "
        "16-byte accesses would need {} times fewer instructions there.",
        name(narrow->op), to_string(narrow->site), narrow->width, 16 / narrow->width);
  }
  return "Nothing stands between it and the memory: whole sectors, no bank conflicts, 16 bytes a "
         "lane on every leg.";
}

std::string KernelReport::limit() const {
  const auto [scattered, offset, conflicted, narrow] = limits();
  if (legs.empty()) return "it touches no memory";
  if (const Leg* leg = scattered != nullptr ? scattered : offset) {
    return fmt::format("{}: {:.1f} sectors a request, {:.1f} would do{}", name(leg->op),
                       per(leg->sectors, leg->requests), per(leg->sectors_ideal, leg->requests),
                       leg == offset ? " where rows begin with a sector" : "");
  }
  if (conflicted != nullptr) {
    return fmt::format("{}: {:.1f} wavefronts a request, {:.1f} would do ({})",
                       name(conflicted->op), per(conflicted->wavefronts, conflicted->requests),
                       per(conflicted->wavefronts_ideal, conflicted->requests),
                       who_collides(*conflicted));
  }
  if (narrow != nullptr) {
    return fmt::format("{}: {} B a lane, 16 would need {} times fewer instructions",
                       name(narrow->op), narrow->width, 16 / narrow->width);
  }
  return "the memory itself: whole sectors, no bank conflicts, 16 B a lane";
}

Leg KernelReport::total(Op op) const {
  Leg sum;
  sum.op = op;
  for (const Leg& leg : legs) {
    if (leg.op != op) continue;
    if (sum.requests == 0) {
      sum = leg;
      continue;
    }
    sum.width = std::max(sum.width, leg.width);
    sum.requests += leg.requests;
    sum.sectors += leg.sectors;
    sum.sectors_ideal += leg.sectors_ideal;
    sum.sectors_again += leg.sectors_again;
    sum.sectors_min = std::min(sum.sectors_min, leg.sectors_min);
    sum.sectors_max = std::max(sum.sectors_max, leg.sectors_max);
    sum.bytes_used += leg.bytes_used;
    sum.wavefronts += leg.wavefronts;
    sum.wavefronts_ideal += leg.wavefronts_ideal;
    sum.conflicts += leg.conflicts;
    if (leg.wavefronts_max > sum.wavefronts_max) {
      sum.wavefronts_max = leg.wavefronts_max;
      sum.collision = leg.collision;
    }
  }
  return sum;
}

std::string KernelReport::text() const {
  std::string out = kernel + "\n";
  out += fmt::format("  {:<13} {:<28} {:>5} {:>9} {:>24} {:>6} {:>18}\n", "leg", "place", "bytes",
                     "requests", "sectors min-max (ideal)", "used", "wavefronts (ideal)");
  for (const Leg& leg : legs) {
    std::string sectors = "-";
    std::string used = "-";
    std::string wavefronts = "-";
    if (leg.is_global()) {
      sectors = fmt::format("{:.1f} {}-{} ({:.1f})", per(leg.sectors, leg.requests),
                            leg.sectors_min, leg.sectors_max, per(leg.sectors_ideal, leg.requests));
      used = fmt::format("{:.0f} %", 100 * per(leg.bytes_used, leg.bytes_moved()));
    }
    if (leg.is_shared()) {
      wavefronts = fmt::format("{:.1f} ({:.1f})", per(leg.wavefronts, leg.requests),
                               per(leg.wavefronts_ideal, leg.requests));
    }
    out += fmt::format("  {:<13} {:<28} {:>5} {:>9} {:>24} {:>6} {:>18}\n", name(leg.op),
                       to_string(leg.site), leg.width, leg.requests, sectors, used, wavefronts);
  }
  return out + sentence() + "\n";
}

std::string KernelReport::json() const {
  nlohmann::ordered_json out;
  out["kernel"] = kernel;
  out["legs"] = nlohmann::ordered_json::array();
  for (const Leg& leg : legs) {
    nlohmann::ordered_json row;
    row["leg"] = name(leg.op);
    row["place"] = to_string(leg.site);
    row["bytes_a_lane"] = leg.width;
    row["requests"] = leg.requests;
    if (leg.is_global()) {
      row["sectors"] = {{"min", leg.sectors_min},
                        {"mean", per(leg.sectors, leg.requests)},
                        {"max", leg.sectors_max},
                        {"ideal", per(leg.sectors_ideal, leg.requests)},
                        {"again", leg.sectors_again}};
      row["bytes"] = {{"used", leg.bytes_used}, {"moved", leg.bytes_moved()}};
    }
    if (leg.is_shared()) {
      row["wavefronts"] = {{"actual", leg.wavefronts},
                           {"ideal", leg.wavefronts_ideal},
                           {"conflicts", leg.conflicts}};
    }
    out["legs"].push_back(row);
  }
  out["sentence"] = sentence();
  return out.dump(2, ' ', true, nlohmann::json::error_handler_t::replace);
}

}  // namespace cornerturn
