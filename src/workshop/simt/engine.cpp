#include "workshop/simt/engine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "cornerturn/error.hpp"

namespace cornerturn::simt {

namespace {

constexpr std::uint64_t most_threads = 1024;

int lowest(std::uint32_t mask) {
  return std::countr_zero(mask);
}

}  // namespace

Engine::Engine() = default;
Engine::~Engine() = default;

void Engine::run(std::string kernel, const Launch& launch, Mode mode, GlobalMemory& memory,
                 const Visitor& visitor, void (*thread)(void* user), void* user) {
  const std::uint64_t count = launch.block.count();
  if (count == 0 || count > most_threads) {
    throw Error(Status::invalid_argument,
                fmt::format("block has {} threads; 1 to {} are possible", count, most_threads));
  }
  kernel_ = std::move(kernel);
  launch_ = launch;
  mode_ = mode;
  memory_ = &memory;
  visitor_ = &visitor;
  body_ = thread;
  user_ = user;
  findings_.clear();
  finding_count_ = 0;
  sites_.clear();
  known_sites_.fill({});
  arrays_.clear();
  last_loaded_ = last_stored_ = last_shared_ = {};
  if (!program_) shared_.assign(largest_shared, std::byte{0xa5});
  slowly_ = mode == Mode::recording;
  stopped_ = false;
  recorded_ = uncounted_ = 0;
  shared_used_ = 0;
  if (launch.dynamic_shared > 0) static_shared(&launch_, launch.dynamic_shared);
  memory.begin_launch();
  order_.begin_launch();

  if (threads_.size() != count ||
      !(threads_.back().id == Dim3{launch.block.x - 1, launch.block.y - 1, launch.block.z - 1})) {
    make_threads();
  }
  if (fiber_count_ < count) prepare_fibers(count);
  if (program_) {
    run_blocks();
    return;
  }
  bool complete = true;
  try {
    for (std::uint64_t i = 0; i < launch.grid.count(); ++i) {
      begin_block(i);
      go_on();
      complete = complete && !abandoned_;
    }
  } catch (const Stopped&) {
    complete = false;
  }
  if (mode_ == Mode::recording && complete) report_unwritten_outputs();
}

void Engine::make_threads() {
  const Dim3& block = launch_.block;
  const std::uint64_t count = block.count();
  threads_ = std::vector<Thread>(count);
  warps_ = std::vector<Warp>((count + 31) / 32);
  std::size_t i = 0;
  for (unsigned z = 0; z < block.z; ++z) {
    for (unsigned y = 0; y < block.y; ++y) {
      for (unsigned x = 0; x < block.x; ++x, ++i) {
        threads_[i].id = {x, y, z};
        warps_[i / 32].all |= 1U << (i % 32);
      }
    }
  }
}

std::int64_t Engine::shared_bytes() const {
  std::uint64_t bytes = 0;
  for (const SharedArray& array : arrays_) bytes += array.bytes;
  return static_cast<std::int64_t>(bytes);
}

void Engine::prepare_fibers(std::size_t count) {
  if (fiber_count_ < count) {
    fibers_.reset();
    stacks_.reserve(count);
    fibers_ = std::make_unique<Fiber[]>(count);
    fiber_count_ = count;
  }
  free_.clear();
  for (std::size_t i = fiber_count_; i-- > 0;) {
    fibers_[i].prepare(stacks_.stack(i), stacks_.bytes(i), &Engine::fiber_main, this);
    free_.push_back(&fibers_[i]);
  }
}

void Engine::make_stacks(std::uint64_t threads) {
  const auto count = static_cast<std::size_t>(threads);
  if (fiber_count_ < count) prepare_fibers(count);
}

Dim3 Engine::block_of(std::uint64_t linear) const {
  const Dim3& grid = launch_.grid;
  return {static_cast<unsigned>(linear % grid.x), static_cast<unsigned>(linear / grid.x % grid.y),
          static_cast<unsigned>(linear / grid.x / grid.y)};
}

void Engine::begin_block(std::uint64_t linear) {
  block_linear_ = static_cast<std::uint32_t>(linear);
  block_id_ = block_of(linear);
  fenced_ = false;
  paused_ = 0;
  resumed_ = false;
  votes_ = {};
  block_epoch_ = ++clock_;
  shadow_.begin_block(shared_used_, block_epoch_);
  for (Thread& thread : threads_) {
    thread.started = false;
    thread.exchanges = 0;
    thread.group = 0;
    thread.steps = 0;
    thread.copies.clear();
  }
  for (Warp& warp : warps_) {
    warp.ready = warp.all;
    warp.at_warp = warp.at_barrier = warp.at_grid = warp.ended = warp.paused = 0;
    warp.epoch = block_epoch_;
  }
}

// Runs the block's threads until all have ended, or wait for another block.
void Engine::go_on() {
  current_warp_ = 0;
  abandoned_ = false;
  current_ = pick();
  Fiber* first = threads_[current_].fiber;
  if (!threads_[current_].started) {
    first = free_.back();
    free_.pop_back();
  }
  Fiber::switch_to(main_, *first);
  if (abandoned_) {
    for (Warp& warp : warps_) warp.log.flush([](const Request&) {});
    prepare_fibers(threads_.size());
  }
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

// Turns --------------------------------------------------------------------------------------

void Engine::fiber_main(Fiber& self, void* engine) {
  static_cast<Engine*>(engine)->work(self);
}

void Engine::work(Fiber& self) {
  for (;;) {
    threads_[current_].fiber = &self;
    threads_[current_].started = true;
    try {
      body_(user_);
    } catch (...) {
      failure_ = std::current_exception();
      abandoned_ = true;
    }
    if (doubt_.open) settle();
    warps_[current_ / 32].ended |= 1U << (current_ % 32);
    const std::uint32_t next = abandoned_ ? none : pick();
    if (next != none && !threads_[next].started) {
      current_ = next;
      continue;
    }
    free_.push_back(&self);
    current_ = next;
    Fiber::switch_to(self, next == none ? main_ : *threads_[next].fiber);
  }
}

// The running thread waits; the next one runs. Returns when it is this thread's turn again.
void Engine::wait() {
  Fiber& self = *threads_[current_].fiber;
  const std::uint32_t next = pick();
  if (next == current_) return;
  Fiber* to = &main_;
  if (next != none && threads_[next].started) {
    to = threads_[next].fiber;
  } else if (next != none) {
    to = free_.back();
    free_.pop_back();
  }
  current_ = next;
  Fiber::switch_to(self, *to);
}

std::uint32_t Engine::pick() {
  for (;;) {
    for (; current_warp_ < warps_.size(); ++current_warp_) {
      Warp& warp = warps_[current_warp_];
      if (warp.ready == 0 && !release_warp(warp)) {
        if (abandoned_) return none;
        continue;
      }
      const int lane = lowest(warp.ready);
      warp.ready &= warp.ready - 1;
      return static_cast<std::uint32_t>(current_warp_ * 32) + static_cast<std::uint32_t>(lane);
    }
    if (resumed_ && paused_ > 0 && others_wait()) return none;
    if (!resume_paused() && !release_block()) return none;
    current_warp_ = 0;
  }
}

// No lane of the warp can run: those at a warp barrier or a shuffle go on together.
bool Engine::release_warp(Warp& warp) {
  if (mode_ == Mode::recording) warp.log.flush(*visitor_);
  if (warp.at_warp == 0) return false;
  if (program_) return release_groups(warp);
  const auto first = static_cast<std::uint32_t>(&warp - warps_.data()) * 32;
  const std::uint32_t waiter = first + static_cast<std::uint32_t>(lowest(warp.at_warp));
  const Party waits = party(waiter, threads_[waiter].waits_at, Action::wait);
  if (warp.at_barrier != 0) {
    const std::uint32_t other = first + static_cast<std::uint32_t>(lowest(warp.at_barrier));
    note(FindingKind::divergent_barrier, "", 0, waits,
         party(other, threads_[other].waits_at, Action::wait),
         "lanes of one warp wait for each other at different barriers, so that neither can go on");
    abandoned_ = true;
    return false;
  }
  if (warp.ended != 0) {
    const std::uint32_t other = first + static_cast<std::uint32_t>(lowest(warp.ended));
    note(FindingKind::divergent_barrier, "", 0, waits, party(other, {}, Action::end),
         "all lanes of the warp must meet here");
  }
  for (std::uint32_t rest = warp.at_warp; rest != 0; rest &= rest - 1) {
    const std::uint32_t other = first + static_cast<std::uint32_t>(lowest(rest));
    if (threads_[other].waits_at == threads_[waiter].waits_at) continue;
    note(FindingKind::divergent_barrier, "", 0, waits,
         party(other, threads_[other].waits_at, Action::wait),
         "lanes of one warp meet at different places");
    break;
  }
  warp.epoch = ++clock_;
  warp.ready = std::exchange(warp.at_warp, 0);
  return true;
}

bool Engine::release_block() {
  std::uint32_t waiter = none;
  std::uint32_t ended = none;
  std::uint32_t elsewhere = none;
  for (std::uint32_t i = 0; i < warps_.size(); ++i) {
    const Warp& warp = warps_[i];
    if (warp.ended != 0 && ended == none) {
      ended = i * 32 + static_cast<std::uint32_t>(lowest(warp.ended));
    }
    for (std::uint32_t rest = warp.at_barrier; rest != 0; rest &= rest - 1) {
      const std::uint32_t thread = i * 32 + static_cast<std::uint32_t>(lowest(rest));
      if (waiter == none) waiter = thread;
      if (!(threads_[thread].waits_at == threads_[waiter].waits_at)) elsewhere = thread;
    }
  }
  if (waiter == none) return false;
  const Party waits = party(waiter, threads_[waiter].waits_at, Action::wait);
  if (ended != none) {
    note(FindingKind::divergent_barrier, "", 0, waits, party(ended, {}, Action::end),
         program_ ? "not all threads of the block reach the barrier"
                  : "all threads of the block must reach the barrier",
         program_);
  }
  for (std::uint32_t i = 0; i < warps_.size() && elsewhere == none; ++i) {
    if (warps_[i].at_grid != 0)
      elsewhere = i * 32 + static_cast<std::uint32_t>(lowest(warps_[i].at_grid));
  }
  if (elsewhere != none) {
    note(FindingKind::divergent_barrier, "", 0, waits,
         party(elsewhere, threads_[elsewhere].waits_at, Action::wait),
         "threads of one block meet at different barriers");
  }
  resumed_ = false;
  block_epoch_ = ++clock_;
  result_ = std::exchange(votes_, {});
  for (Warp& warp : warps_) {
    warp.epoch = block_epoch_;
    warp.ready = std::exchange(warp.at_barrier, 0);
  }
  return true;
}

void Engine::barrier(const Site& site) {
  step(site, Action::wait);
  threads_[current_].waits_at = site;
  warps_[current_ / 32].at_barrier |= 1U << (current_ % 32);
  wait();
}

void Engine::warp_barrier(const Site& site) {
  step(site, Action::wait);
  threads_[current_].waits_at = site;
  warps_[current_ / 32].at_warp |= 1U << (current_ % 32);
  wait();
}

const Engine::Slot* Engine::exchange(Slot value, const Site& site) {
  // Two sets of slots: a lane may be one exchange ahead of another, never two.
  auto& slots = warps_[current_ / 32].slots[threads_[current_].exchanges++ % 2];
  slots[current_ % 32] = value;
  warp_barrier(site);
  return slots.data();
}

}  // namespace cornerturn::simt
