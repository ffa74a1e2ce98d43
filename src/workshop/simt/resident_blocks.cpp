// Blocks of a program that are there together: they meet at the grid's barrier, or one waits for
// what another one stores. One block runs at a time. While it waits, its threads' stacks, its
// shared memory and what is known of them are put aside, and the next block runs in their place.
#include <algorithm>
#include <bit>
#include <utility>

#include "workshop/simt/engine.hpp"

namespace cornerturn::simt {

void Engine::grid_barrier(const Site& site) {
  count_step(site, Action::wait);
  threads_[current_].waits_at = site;
  warps_[current_ / 32].at_grid |= 1U << (current_ % 32);
  wait();
}

/// Is there a block that could run while the running one waits?
bool Engine::others_wait() const {
  if (!program_) return false;
  if (next_block_ < launch_.grid.count() && residents_.size() + 1 < most_residents_) return true;
  return std::any_of(residents_.begin(), residents_.end(),
                     [](const Resident& one) { return one.released || one.paused > 0; });
}

void Engine::run_blocks() {
  next_block_ = 0;
  residents_.clear();
  ended_.reset();
  while (!stopped_ && next_block()) {
    go_on();
    if (abandoned_) continue;
    const bool waits = std::any_of(warps_.begin(), warps_.end(), [](const Warp& warp) {
      return (warp.at_grid | warp.paused) != 0;
    });
    if (waits) {
      residents_.push_back(leave_block());
    } else {
      ended_ = block_id_;
    }
  }
  residents_.clear();
  first_block_ += static_cast<std::uint32_t>(launch_.grid.count());
}

// A new block comes first: it may be the one that others wait for.
bool Engine::next_block() {
  if (next_block_ < launch_.grid.count() && residents_.size() < most_residents_) {
    choose_mode(next_block_);
    begin_block(next_block_++);
    return true;
  }
  if (residents_.empty()) return false;
  const auto may_run = [](const Resident& one) { return one.released || one.paused > 0; };
  auto next = std::find_if(residents_.begin(), residents_.end(), may_run);
  if (next == residents_.end()) {
    release_grid();
    next = residents_.begin();
  }
  Resident block = std::move(*next);
  residents_.erase(next);
  return_to(std::move(block));
  return true;
}

// What came before the barrier is ordered with all that comes after it, as by a new launch.
void Engine::release_grid() {
  std::sort(residents_.begin(), residents_.end(),
            [](const Resident& a, const Resident& b) { return a.linear < b.linear; });
  const Resident& first = residents_.front();
  if (ended_) {
    std::uint32_t waiter = 0;
    while ((first.warps[waiter / 32].at_grid >> (waiter % 32) & 1U) == 0) ++waiter;
    const Thread& waits = first.threads[waiter];
    note(FindingKind::divergent_barrier, "", 0,
         Party{block_of(first.linear), waits.id, waits.waits_at, Action::wait},
         Party{*ended_, {}, {}, Action::end}, "not all blocks of the grid reach the barrier");
  }
  for (Resident& block : residents_) block.released = true;
  first_block_ += static_cast<std::uint32_t>(launch_.grid.count());
}

// Threads of the running block wait for the other blocks: have all come, and to one barrier?
void Engine::check_grid_waiters() {
  std::uint32_t waiter = none;
  std::uint32_t ended = none;
  for (std::uint32_t i = 0; i < threads_.size(); ++i) {
    const std::uint32_t bit = 1U << (i % 32);
    const Warp& warp = warps_[i / 32];
    if ((warp.ended & bit) != 0 && ended == none) ended = i;
    if ((warp.at_grid & bit) == 0) continue;
    if (waiter == none) waiter = i;
    if (threads_[i].waits_at == threads_[waiter].waits_at) continue;
    note(FindingKind::divergent_barrier, "", 0,
         party(waiter, threads_[waiter].waits_at, Action::wait),
         party(i, threads_[i].waits_at, Action::wait),
         "threads of one block meet at different barriers");
    break;
  }
  if (waiter == none || ended == none) return;
  note(FindingKind::divergent_barrier, "", 0,
       party(waiter, threads_[waiter].waits_at, Action::wait), party(ended, {}, Action::end),
       "not all threads of the block reach the grid's barrier");
}

Engine::Resident Engine::leave_block() {
  if (paused_ == 0) check_grid_waiters();
  Resident block;
  block.linear = block_linear_;
  block.fenced = fenced_;
  block.paused = std::exchange(paused_, 0);
  block.epoch = block_epoch_;
  block.votes = votes_;
  block.result = result_;
  for (std::size_t i = 0; i < threads_.size(); ++i) {
    if ((warps_[i / 32].ended >> (i % 32) & 1U) != 0) continue;
    block.stacks.emplace_back(threads_[i].fiber, threads_[i].fiber->copy());
  }
  block.threads = std::move(threads_);
  block.warps = std::move(warps_);
  block.shared = keeper_.take(shared_used_);
  block.shadow = std::exchange(shadow_, {});
  make_threads();
  prepare_fibers(threads_.size());
  return block;
}

void Engine::return_to(Resident block) {
  choose_mode(block.linear);
  block_linear_ = static_cast<std::uint32_t>(block.linear);
  block_id_ = block_of(block.linear);
  fenced_ = block.fenced;
  paused_ = block.paused;
  block_epoch_ = block.epoch;
  votes_ = block.votes;
  result_ = block.result;
  threads_ = std::move(block.threads);
  warps_ = std::move(block.warps);
  shadow_ = std::move(block.shadow);
  shadow_.begin_block(shared_used_, shadow_.first_epoch());
  free_.clear();
  std::vector<char> in_use(fiber_count_);
  for (const auto& [fiber, image] : block.stacks) {
    fiber->put_back(image);
    in_use[static_cast<std::size_t>(fiber - fibers_.get())] = 1;
  }
  for (std::size_t i = fiber_count_; i-- > 0;) {
    if (in_use[i] == 0) free_.push_back(&fibers_[i]);
  }
  keeper_.put(block.shared);
  if (block.released) {
    block_epoch_ = ++clock_;
    for (Warp& warp : warps_) {
      warp.ready |= std::exchange(warp.at_grid, 0);
      warp.epoch = block_epoch_;
    }
  }
  resume_paused();
  resumed_ = false;
}

}  // namespace cornerturn::simt
