// The checks of a program that moves its bytes itself and says before what it touches.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "workshop/simt/engine.hpp"

namespace cornerturn::simt {

namespace {

constexpr bool stores(Op op) {
  return op == Op::global_store || op == Op::shared_store || op == Op::async_copy ||
         op == Op::stmatrix || op == Op::global_atomic || op == Op::shared_atomic;
}

// Requests of a warp until its lanes meet: more are not remembered.
constexpr std::size_t most_logged = 1 << 14;

constexpr Action action_of(bool reads, How how) {
  if (how == How::atomic) return Action::update;
  return reads ? Action::load : Action::store;
}

constexpr const char* in_step =
    "lanes of a warp need not run in step: __syncwarp() would order them";

}  // namespace

/// Two accesses that nothing orders; this thread's is about to happen.
struct Engine::Race {
  std::string memory;
  std::uint64_t address = 0;
  Party me;
  Party other;
  bool in_warp = false;  // of volatile accesses both, by lanes of one warp
  std::string detail;
  const void* bytes = nullptr;  // of two stores: where they go
};

// A launch's first blocks are recorded; when that has been enough work, the rest run fast.
void Engine::choose_mode(std::uint64_t linear) {
  const bool enough = record_limit_ != 0 && recorded_ > record_limit_;
  mode_ = slowly_ && !enough ? Mode::recording : Mode::fast;
  const std::uint64_t all = launch_.grid.count();
  counting_ = mode_ == Mode::recording;
  if (!counting_ || counted_blocks_ == 0 || counted_blocks_ >= all) return;
  const auto share = [&](std::uint64_t block) {
    return static_cast<double>(block) * static_cast<double>(counted_blocks_) /
           static_cast<double>(all);
  };
  counting_ = linear == 0 || static_cast<std::uint64_t>(share(linear)) !=
                                 static_cast<std::uint64_t>(share(linear - 1));
}

std::uint16_t Engine::log_touch(Op op, int width, std::uint64_t address, const Site& site) {
  count_step(site, Action::load);
  ++recorded_;
  if (!counting_) return number(site);
  if (warps_[current_ / 32].log.size() >= most_logged) {
    ++uncounted_;
    return number(site);
  }
  Request& request = warps_[current_ / 32].log.add(static_cast<int>(current_ % 32), op, width, true,
                                                   address, site);
  if (request.site_index == WarpLog::unnumbered) request.site_index = number(site);
  return request.site_index;
}

void Engine::touch(Watched& memory, std::uint64_t offset, int width, Op op, How how,
                   const Site& site) {
  const auto bytes = static_cast<std::uint64_t>(width);
  if (mode_ == Mode::fast) {
    if (step_limit_ != 0) count_step(site, Action::load);
    if (stores(op)) memory.written.mark_access(offset, bytes);
    return;
  }
  const std::uint16_t number = log_touch(op, width, memory.device_address + offset, site);
  // NOLINTNEXTLINE(performance-no-int-to-ptr): it was one, a program's own memory
  const auto* at = reinterpret_cast<const std::byte*>(memory.device_address + offset);
  Toucher who = toucher(number);
  who.how = static_cast<std::uint16_t>(how) & 0xf;
  if (op != Op::global_store && !memory.written.all(offset, bytes)) {
    note(FindingKind::unwritten_read, memory.name, memory.written.first_unwritten(offset, bytes),
         me(site, op, width), {}, "");
    memory.written.mark(offset, bytes);
  }
  const bool store = op == Op::global_store || op == Op::global_atomic;
  if (store) memory.written.mark_access(offset, bytes);
  const auto conflict = store ? memory.history.write(offset, bytes, who, first_block_, order_)
                              : memory.history.read(offset, bytes, who, first_block_, order_);
  if (!conflict) return;
  const Toucher& other = conflict->other;
  const bool plain = how == How::plain || other.how == static_cast<std::uint16_t>(How::plain);
  note_race({memory.name, conflict->offset, me(site, op, width),
             party(other, action_of(conflict->reads, static_cast<How>(other.how)), width),
             !plain && other.same_warp(who),
             other.block == who.block ? "no barrier between them"
                                      : "nothing orders two blocks of a launch",
             op == Op::global_store && !conflict->reads ? at : nullptr});
}

void Engine::touch_shared(std::uint32_t address, int width, Op op, How how, const Site& site,
                          const void* bytes) {
  if (mode_ == Mode::fast) {
    if (step_limit_ != 0) count_step(site, Action::load);
    return;
  }
  Moment moment = now(log_touch(op, width, address, site));
  moment.how = how;
  const auto size = static_cast<std::uint32_t>(width);
  // An atomic update reads too.
  const auto missing = op == Op::shared_atomic ? shadow_.unwritten(address, size) : std::nullopt;
  auto conflict = stores(op) ? shadow_.write(address, size, moment, op == Op::async_copy)
                             : shadow_.read(address, size, moment);
  if (missing) conflict = missing;
  if (!conflict) return;
  using Kind = SharedConflict::Kind;
  const Party self = me(site, op, width);
  if (conflict->kind == Kind::unwritten) {
    note(FindingKind::unwritten_read, "shared memory", conflict->address, self, {}, "");
    return;
  }
  Toucher other;
  other.block = first_block_ + block_linear_ + 1;
  other.thread = conflict->thread & 0xfff;
  other.block_epoch = conflict->block_epoch;
  other.warp_epoch = conflict->warp_epoch;
  if (conflict->kind != Kind::in_flight && order_.before(other, toucher(moment.site))) return;
  const bool in_warp =
      how != How::plain && conflict->how != How::plain && other.same_warp(toucher(0));
  const Action action = conflict->kind == Kind::in_flight
                            ? Action::async_copy
                            : action_of(conflict->kind == Kind::read, conflict->how);
  note_race({"shared memory", conflict->address, self,
             party(conflict->thread, sites_[conflict->site], action, width), in_warp,
             conflict->kind == Kind::in_flight
                 ? "the copy is still in flight: nobody has waited for it"
                 : "no barrier between them",
             op == Op::shared_store && conflict->kind == Kind::wrote ? bytes : nullptr});
}

void Engine::note_race(const Race& race) {
  if (race.in_warp) {
    note(FindingKind::race, race.memory, race.address, race.me, race.other, in_step, true);
    return;
  }
  if (race.bytes == nullptr) {
    note(FindingKind::race, race.memory, race.address, race.me, race.other, race.detail);
    return;
  }
  doubt_.open = true;
  doubt_.memory = race.memory;
  doubt_.address = race.address;
  doubt_.first = race.me;
  doubt_.second = race.other;
  doubt_.detail = race.detail;
  doubt_.bytes = static_cast<const std::byte*>(race.bytes);
  doubt_.width = static_cast<std::size_t>(race.me.bytes);
  std::memcpy(doubt_.before.data(), race.bytes, doubt_.width);
}

// The store that was in doubt has happened since.
void Engine::settle() {
  doubt_.open = false;
  const bool same = std::memcmp(doubt_.before.data(), doubt_.bytes, doubt_.width) == 0;
  note(FindingKind::race, doubt_.memory, doubt_.address, doubt_.first, doubt_.second,
       same ? "both store the same value" : doubt_.detail, same);
}

// Asynchronous copies and matrices ----------------------------------------------------------------

void Engine::touch_copy(std::uint32_t to, std::byte* into, Watched* memory, std::uint64_t offset,
                        const void* from, int width, int from_bytes, bool through_l1,
                        const Site& site) {
  if (mode_ == Mode::recording) {
    const std::uint16_t number = log_touch(Op::async_copy, width, to, site);
    const std::uint64_t source = memory == nullptr ? 0 : memory->device_address + offset;
    if (counting_ && warps_[current_ / 32].log.size() < most_logged) {
      Request& request = warps_[current_ / 32].log.last(static_cast<int>(current_ % 32));
      request.through_l1 = through_l1;
      request.source[current_ % 32] = source;
    }
    const auto conflict = shadow_.write(to, static_cast<std::uint32_t>(width), now(number), true);
    if (conflict) {
      const Action action = conflict->kind == SharedConflict::Kind::read        ? Action::load
                            : conflict->kind == SharedConflict::Kind::in_flight ? Action::async_copy
                                                                                : Action::store;
      note(FindingKind::race, "shared memory", conflict->address, me(site, Op::async_copy, width),
           party(conflict->thread, sites_[conflict->site], action, width),
           "no barrier between them");
    }
    const auto bytes = static_cast<std::uint64_t>(from_bytes);
    if (bytes > 0 && memory != nullptr) {
      if (!memory->written.all(offset, bytes)) {
        note(FindingKind::unwritten_read, memory->name,
             memory->written.first_unwritten(offset, bytes), me(site, Op::async_copy, width), {},
             "");
      }
      const Toucher who = toucher(number);
      const auto race = memory->history.read(offset, bytes, who, first_block_, order_);
      if (race) {
        note(FindingKind::race, memory->name, race->offset, me(site, Op::async_copy, width),
             party(race->other, Action::store, width),
             race->other.block == who.block ? "no barrier between them"
                                            : "nothing orders two blocks of a launch");
      }
    }
  }
  threads_[current_].copies.push_back({to, static_cast<const std::byte*>(from), width,
                                       threads_[current_].group, into, width - from_bytes});
}

void Engine::touch_matrix_row(Op op, std::uint32_t address, const Site& site, const void* bytes) {
  touch_shared(address, 16, op, How::plain, site, bytes);
}

// Flags -------------------------------------------------------------------------------------------

void Engine::read_flag(const void* flag, const Site& site) {
  if (mode_ == Mode::fast) return;
  order_.wait(flag, toucher(number(site)));
}

void Engine::write_flag(const void* flag, const Site& site) {
  if (mode_ == Mode::fast || !fenced_) return;
  order_.announce(flag, toucher(number(site)), true);
}

}  // namespace cornerturn::simt
