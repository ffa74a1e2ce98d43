#include "workshop/analyse/kernel_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <nlohmann/json.hpp>

#include "workshop/analyse/access.hpp"

namespace cornerturn {

using simt::Op;

namespace {

double per(std::uint64_t total, std::uint64_t count) {
  return count == 0 ? 0 : static_cast<double>(total) / static_cast<double>(count);
}

SharedOp shared_op(Op op) {
  switch (op) {
    case Op::shared_store:
    case Op::shared_atomic:
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
    case Op::global_atomic:
      return "global atomic";
    case Op::shared_atomic:
      return "shared atomic";
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

std::size_t KernelReport::add(const simt::Request& request) {
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
  return static_cast<std::size_t>(&leg - legs.data());
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
  return out;
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
      if (leg.conflicts > 0 && !(leg.collision == Collision{})) {
        const Collision& c = leg.collision;
        row["collision"] = {
            {"lanes", {c.lane_a, c.lane_b}}, {"words", {c.word_a, c.word_b}}, {"bank", c.bank}};
      }
    }
    out["legs"].push_back(row);
  }
  return out.dump(2, ' ', true, nlohmann::json::error_handler_t::replace);
}

}  // namespace cornerturn
