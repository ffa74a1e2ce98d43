// How the lanes of a program's warps wait for each other: for those of a mask, at a barrier or in
// an exchange, wherever in the source each of them stands.
#include <fmt/format.h>

#include <bit>
#include <utility>

#include "workshop/simt/engine.hpp"

namespace cornerturn::simt {

namespace {

std::uint32_t lane_at(std::uint32_t first, std::uint32_t mask) {
  return first + static_cast<std::uint32_t>(std::countr_zero(mask));
}

}  // namespace

// What lanes ask for ----------------------------------------------------------------------------

void Engine::warp_barrier(std::uint32_t mask, const Site& site) {
  count_step(site, Action::wait);
  Thread& thread = threads_[current_];
  if ((mask >> (current_ % 32) & 1U) == 0) {
    note(FindingKind::divergent_barrier, "", 0, party(current_, site, Action::wait), {},
         fmt::format("the mask {:#010x} does not name the lane itself", mask));
  }
  thread.mask = mask | 1U << (current_ % 32);
  thread.waits_at = site;
  warps_[current_ / 32].at_warp |= 1U << (current_ % 32);
  wait();
}

const Engine::Slot* Engine::exchange(std::uint32_t mask, Slot value, const Site& site) {
  const std::uint32_t me = current_;
  threads_[me].slot = value;
  threads_[me].exchanges_now = true;
  warp_barrier(mask, site);
  threads_[me].exchanges_now = false;
  const auto leader = static_cast<std::size_t>(std::countr_zero(threads_[me].met));
  return warps_[me / 32].gathered[leader].data();
}

std::uint32_t Engine::converge(const Site& site) {
  count_step(site, Action::wait);
  const std::uint32_t me = current_;
  threads_[me].mask = 0;
  threads_[me].waits_at = site;
  warps_[me / 32].at_warp |= 1U << (me % 32);
  wait();
  return threads_[me].met;
}

Engine::Votes Engine::vote(bool yes, const Site& site) {
  count_step(site, Action::wait);
  votes_.yes += yes ? 1 : 0;
  ++votes_.all;
  threads_[current_].waits_at = site;
  warps_[current_ / 32].at_barrier |= 1U << (current_ % 32);
  wait();
  return result_;
}

void Engine::pause(const Site& site) {
  count_step(site, Action::wait);
  warps_[current_ / 32].paused |= 1U << (current_ % 32);
  ++paused_;
  wait();
}

void Engine::stop() {
  if (doubt_.open) settle();
  abandoned_ = true;
  stopped_ = true;
  Fiber& self = *threads_[current_].fiber;
  Fiber::switch_to(self, main_);
  std::terminate();  // nobody comes back to a fiber that was dropped
}

void Engine::count_step(const Site& site, Action action) {
  if (doubt_.open) settle();
  if (step_limit_ == 0 || ++threads_[current_].steps <= step_limit_) return;
  note(FindingKind::never_ends, "", 0, party(current_, site, action), {},
       fmt::format("it has made {} accesses and waits and not ended", step_limit_));
  stop();
}

// How they go on --------------------------------------------------------------------------------

bool Engine::resume_paused() {
  if (paused_ == 0) return false;
  paused_ = 0;
  resumed_ = true;
  for (Warp& warp : warps_) warp.ready |= std::exchange(warp.paused, 0);
  return true;
}

// No lane of the warp can run. Each group whose lanes have all come goes on.
bool Engine::release_groups(Warp& warp) {
  const auto first = static_cast<std::uint32_t>(&warp - warps_.data()) * 32;
  std::uint32_t unseen = warp.at_warp;
  while (unseen != 0) {
    const std::uint32_t lane = lane_at(first, unseen);
    const std::uint32_t mask = threads_[lane].mask & warp.all & ~warp.ended;
    std::uint32_t group = 0;
    for (std::uint32_t rest = unseen & mask; rest != 0; rest &= rest - 1) {
      const Thread& other = threads_[lane_at(first, rest)];
      if (other.mask == threads_[lane].mask) group |= rest & (~rest + 1);
    }
    unseen &= unseen - 1;
    if (mask == 0 || group != mask) continue;
    unseen &= ~group;
    release_group(warp, group);
  }
  if (warp.ready != 0) return true;
  if (warp.paused != 0) return false;
  // Those that take whoever has come.
  for (std::uint32_t rest = warp.at_warp; rest != 0; rest &= rest - 1) {
    const Thread& leader = threads_[lane_at(first, rest)];
    if (leader.mask != 0) continue;
    std::uint32_t group = 0;
    for (std::uint32_t others = rest; others != 0; others &= others - 1) {
      const Thread& other = threads_[lane_at(first, others)];
      if (other.mask == 0 && other.waits_at == leader.waits_at) group |= others & (~others + 1);
    }
    return release_group(warp, group);
  }
  explain_stuck(warp);
  if (abandoned_) return false;
  return release_group(warp, warp.at_warp);
}

bool Engine::release_group(Warp& warp, std::uint32_t lanes) {
  const auto first = static_cast<std::uint32_t>(&warp - warps_.data()) * 32;
  const std::uint32_t lowest = lane_at(first, lanes);
  const Thread& leader = threads_[lowest];
  if (leader.exchanges_now) {
    if (warp.gathered.empty()) warp.gathered.resize(32);
    warp.gathered[lowest % 32] = {};
  }
  bool told = false;
  for (std::uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
    const std::uint32_t other = lane_at(first, rest);
    threads_[other].met = lanes;
    if (leader.exchanges_now) warp.gathered[lowest % 32][other % 32] = threads_[other].slot;
    const bool same = threads_[other].exchanges_now == leader.exchanges_now &&
                      (!leader.exchanges_now || threads_[other].waits_at == leader.waits_at);
    if (same || told) continue;
    told = true;
    note(FindingKind::divergent_barrier, "", 0, party(lowest, leader.waits_at, Action::wait),
         party(other, threads_[other].waits_at, Action::wait),
         "lanes of one warp exchange values at different places");
  }
  warp.epoch = ++clock_;
  warp.at_warp &= ~lanes;
  warp.ready |= lanes;
  return true;
}

// Lanes wait for others that will not come: they have another mask, or wait at the block's barrier.
void Engine::explain_stuck(Warp& warp) {
  const auto first = static_cast<std::uint32_t>(&warp - warps_.data()) * 32;
  const std::uint32_t waiter = lane_at(first, warp.at_warp);
  const std::uint32_t missing =
      threads_[waiter].mask & warp.all & ~warp.ended & ~(1U << (waiter % 32));
  std::uint32_t other = waiter;
  for (std::uint32_t rest = missing; rest != 0 && other == waiter; rest &= rest - 1) {
    const std::uint32_t lane = lane_at(first, rest);
    const std::uint32_t bit = 1U << (lane % 32);
    if ((warp.at_warp & bit) == 0 || threads_[lane].mask != threads_[waiter].mask) other = lane;
  }
  const auto waits_in = [&](std::uint32_t lanes) { return (lanes >> (other % 32) & 1U) != 0; };
  const bool at_barrier = waits_in(warp.at_barrier);
  note(FindingKind::divergent_barrier, "", 0,
       party(waiter, threads_[waiter].waits_at, Action::wait),
       party(other, threads_[other].waits_at, Action::wait),
       at_barrier || waits_in(warp.at_grid)
           ? fmt::format("the mask {:#010x} names a lane that waits at the {}'s barrier",
                         threads_[waiter].mask, at_barrier ? "block" : "grid")
           : fmt::format("lanes wait for each other with the masks {:#010x} and {:#010x}",
                         threads_[waiter].mask, threads_[other].mask));
  if ((warp.at_barrier | warp.at_grid) != 0) abandoned_ = stopped_ = true;
}

}  // namespace cornerturn::simt
