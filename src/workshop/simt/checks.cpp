// The checks that each access goes through, and what they note.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "cornerturn/error.hpp"
#include "workshop/simt/engine.hpp"
#include "workshop/simt/finding_words.hpp"

namespace cornerturn::simt {

namespace {

constexpr std::size_t kept_findings = 32;

const char* unordered_because(bool same_block) {
  return same_block ? "no barrier between them" : "nothing orders two blocks of a launch";
}

}  // namespace

// Memory -------------------------------------------------------------------------------------

std::uint32_t Engine::find_static_shared(const void* key, std::uint64_t bytes) {
  for (const SharedArray& array : arrays_) {
    if (array.key == key) return array.address;
  }
  // Arrays keep a distance, so that a step over the end of one is no step into the next.
  const std::uint32_t address = (shared_used_ + 127) / 128 * 128 + (arrays_.empty() ? 0 : 128);
  if (address + bytes > largest_shared) {
    throw Error(Status::invalid_argument,
                fmt::format("{} wants {} bytes of shared memory; a block has {}", kernel_,
                            address + bytes, largest_shared));
  }
  arrays_.push_back({key, address, bytes});
  shared_used_ = address + static_cast<std::uint32_t>(bytes);
  shadow_.begin_block(shared_used_, shadow_.first_epoch());
  return address;
}

Request& Engine::log(Op op, int width, bool active, std::uint64_t address, const Site& site) {
  if (step_limit_ != 0) step(site, me(site, op, width).action);
  Request& request = warps_[current_ / 32].log.add(static_cast<int>(current_ % 32), op, width,
                                                   active, address, site);
  if (request.site_index == WarpLog::unnumbered) request.site_index = number(site);
  return request;
}

std::uint16_t Engine::number(const Site& site) {
  KnownSite& known = known_sites_[site.line * 0x9e3779b1U >> 23];
  if (known.site.line == site.line && known.site.file == site.file && known.number != 0xffff) {
    return known.number;
  }
  const auto at = std::find(sites_.begin(), sites_.end(), site);
  const auto number = static_cast<std::uint16_t>(at - sites_.begin());
  if (at == sites_.end()) sites_.push_back(site);
  known = {site, number};
  return number;
}

Moment Engine::now(std::uint16_t site) const {
  return {static_cast<std::uint16_t>(current_), site, block_epoch_, warps_[current_ / 32].epoch,
          How::plain};
}

Buffer* Engine::checked_global(const void* p, int width, const Site& site, Op op) {
  const auto bytes = static_cast<std::size_t>(width);
  Buffer* buffer = memory_->find(p, bytes);
  const bool stores = op == Op::global_store;
  if (buffer == nullptr) {
    const Buffer* near = memory_->nearest(p);
    if (near == nullptr) {
      note(FindingKind::out_of_bounds, "", 0, me(site, op, width), {}, "there is no buffer at all");
      return nullptr;
    }
    const std::int64_t offset = static_cast<const std::byte*>(p) - near->base;
    note(FindingKind::out_of_bounds, near->name,
         offset < 0 ? 0 : static_cast<std::uint64_t>(offset), me(site, op, width), {},
         fmt::format("{}; {}{} has {} B", lane_text(),
                     offset < 0 ? fmt::format("{} B before its beginning: ", -offset) : "",
                     near->name, near->bytes));
    return nullptr;
  }
  const std::uint64_t offset = *buffer->offset_of(p, bytes);
  if (reinterpret_cast<std::uintptr_t>(p) % bytes != 0) {
    note(FindingKind::misaligned, buffer->name, offset, me(site, op, width), {},
         fmt::format("the address must be a multiple of {}", width));
    return nullptr;
  }
  if (stores && buffer->use == Use::input) {
    note(FindingKind::out_of_bounds, buffer->name, offset, me(site, op, width), {}, into_input);
    return nullptr;
  }
  return buffer;
}

void Engine::check_read(Buffer& buffer, std::uint64_t offset, int width, const Site& site, Op op) {
  if (buffer.use == Use::input) return;
  const auto conflict =
      buffer.read(offset, static_cast<std::uint64_t>(width), toucher(number(site)), order_);
  if (!conflict) return;
  if (conflict->writer.block == 0) {
    note(FindingKind::unwritten_read, buffer.name, offset, me(site, op, width), {}, "");
    return;
  }
  note(FindingKind::race, buffer.name, conflict->offset, me(site, op, width),
       party(conflict->writer, Action::store, width),
       unordered_because(conflict->writer.block == first_block_ + block_linear_ + 1));
}

const std::byte* Engine::checked_global_load(const void* p, int width, bool active,
                                             const Site& site) {
  Buffer* buffer = active ? checked_global(p, width, site, Op::global_load) : nullptr;
  if (mode_ == Mode::fast) {
    if (buffer == nullptr) return nullptr;
    last_loaded_ = {reinterpret_cast<std::uintptr_t>(buffer->base), buffer->bytes};
    return static_cast<const std::byte*>(p);
  }
  if (buffer == nullptr) {
    log(Op::global_load, width, false, 0, site);
    return nullptr;
  }
  const std::uint64_t offset = *buffer->offset_of(p, static_cast<std::size_t>(width));
  log(Op::global_load, width, true, buffer->device_address + offset, site);
  check_read(*buffer, offset, width, site, Op::global_load);
  return static_cast<const std::byte*>(p);
}

void Engine::prefetch(const void* p, const Site& site) {
  Buffer* buffer = checked_global(p, 1, site, Op::prefetch);
  if (buffer == nullptr || mode_ == Mode::fast) return;
  log(Op::prefetch, 1, true, buffer->device_address + *buffer->offset_of(p, 1), site);
}

std::byte* Engine::checked_global_store(const void* p, int width, bool active, const Site& site) {
  Buffer* buffer = active ? checked_global(p, width, site, Op::global_store) : nullptr;
  if (mode_ == Mode::recording) {
    if (buffer == nullptr) {
      log(Op::global_store, width, false, 0, site);
      return nullptr;
    }
    const std::uint64_t offset = *buffer->offset_of(p, static_cast<std::size_t>(width));
    const Request& request =
        log(Op::global_store, width, true, buffer->device_address + offset, site);
    const auto conflict = buffer->write(offset, static_cast<std::uint64_t>(width),
                                        toucher(request.site_index), order_);
    if (conflict) {
      const Toucher& other = conflict->other;
      const Action action = conflict->reads ? Action::load : Action::store;
      note(conflict->reads ? FindingKind::race : FindingKind::written_twice, buffer->name,
           conflict->reads ? conflict->offset : offset, me(site, Op::global_store, width),
           party(other, action, width),
           conflict->reads ? unordered_because(other.block == first_block_ + block_linear_ + 1)
                           : "");
    }
  }
  if (buffer == nullptr) return nullptr;
  last_stored_ = {reinterpret_cast<std::uintptr_t>(buffer->base), buffer->bytes};
  return buffer->base + *buffer->offset_of(p, static_cast<std::size_t>(width));
}

// Blocks that order themselves: the emulator runs them one after the other, so a number that a
// block waits for is there, or never will be.

std::uint32_t Engine::take_ticket(std::uint32_t* counter, const Site& site) {
  if (checked_global(counter, sizeof *counter, site, Op::global_store) == nullptr) return 0;
  return (*counter)++;
}

void Engine::announce(std::uint32_t* flag, const Site& site) {
  if (checked_global(flag, sizeof *flag, site, Op::global_store) == nullptr) return;
  *flag = 1;
  order_.announce(flag, toucher(number(site)));
}

void Engine::wait_for(const std::uint32_t* flag, const Site& site) {
  Buffer* buffer = checked_global(flag, sizeof *flag, site, Op::global_load);
  if (buffer == nullptr || order_.wait(flag, toucher(number(site)))) return;
  note(FindingKind::never_ends, buffer->name, *buffer->offset_of(flag, sizeof *flag),
       me(site, Op::global_load, sizeof *flag), {},
       "no block before it announces what it waits for");
}

bool Engine::checked_shared(std::uint32_t address, int width, const Site& site, Op op) {
  const auto bytes = static_cast<std::uint32_t>(width);
  const SharedArray* near = nullptr;
  bool inside = false;
  for (const SharedArray& array : arrays_) {
    if (near == nullptr || address >= array.address) near = &array;
    const std::uint32_t offset = address - array.address;
    if (offset < array.bytes && array.bytes - offset >= bytes) {
      inside = true;
      last_shared_ = {array.address, array.bytes};
      break;
    }
  }
  if (!inside) {
    note(FindingKind::out_of_bounds, "shared memory", address, me(site, op, width), {},
         near == nullptr ? std::string("the kernel has none")
                         : fmt::format("the array has the bytes {} to {}", near->address,
                                       near->address + near->bytes - 1));
    return false;
  }
  if (address % bytes != 0) {
    note(FindingKind::misaligned, "shared memory", address, me(site, op, width), {},
         fmt::format("the address must be a multiple of {}", width));
    return false;
  }
  return true;
}

void Engine::shadow_shared(std::uint32_t address, int width, const Site& site, std::uint16_t number,
                           Op op) {
  const auto bytes = static_cast<std::uint32_t>(width);
  const bool stores = op == Op::shared_store || op == Op::async_copy || op == Op::stmatrix;
  const auto conflict = stores ? shadow_.write(address, bytes, now(number), op == Op::async_copy)
                               : shadow_.read(address, bytes, now(number));
  if (!conflict) return;
  using Kind = SharedConflict::Kind;
  const Party self = me(site, op, width);
  if (conflict->kind == Kind::unwritten) {
    note(FindingKind::unwritten_read, "shared memory", conflict->address, self, {}, "");
    return;
  }
  const Action action = conflict->kind == Kind::read        ? Action::load
                        : conflict->kind == Kind::in_flight ? Action::async_copy
                                                            : Action::store;
  note(FindingKind::race, "shared memory", conflict->address, self,
       party(conflict->thread, sites_[conflict->site], action, width),
       conflict->kind == Kind::in_flight ? "the copy is still in flight: nobody has waited for it"
                                         : "no barrier between them");
}

std::byte* Engine::checked_shared_access(std::uint32_t address, int width, bool active,
                                         const Site& site, Op op) {
  const bool good = active && checked_shared(address, width, site, op);
  if (mode_ == Mode::recording) {
    const Request& request = log(op, width, good, address, site);
    if (good) shadow_shared(address, width, site, request.site_index, op);
  }
  return good ? shared_.data() + address : nullptr;
}

void Engine::copy_async(std::uint32_t to, const void* from, int width, bool through_l1, bool active,
                        const Site& site) {
  Buffer* buffer = active ? checked_global(from, width, site, Op::async_copy) : nullptr;
  const bool good = buffer != nullptr && checked_shared(to, width, site, Op::async_copy);
  if (mode_ == Mode::recording) {
    Request& request = log(Op::async_copy, width, good, to, site);
    request.through_l1 = through_l1;
    if (good) {
      const std::uint64_t offset = *buffer->offset_of(from, static_cast<std::size_t>(width));
      request.source[current_ % 32] = buffer->device_address + offset;
      check_read(*buffer, offset, width, site, Op::async_copy);
      shadow_shared(to, width, site, request.site_index, Op::async_copy);
    }
  }
  if (good) {
    threads_[current_].copies.push_back(
        {to, static_cast<const std::byte*>(from), width, threads_[current_].group, nullptr, 0});
  }
}

void Engine::commit_async() {
  ++threads_[current_].group;
}

// The bytes arrive no earlier than here: a kernel that reads them before sees what was there.
void Engine::wait_async(int pending, const Site& site) {
  Thread& thread = threads_[current_];
  auto landed = thread.copies.begin();
  for (; landed != thread.copies.end() && landed->group < thread.group - pending; ++landed) {
    std::byte* into = landed->into != nullptr ? landed->into : shared_.data() + landed->to;
    const auto zeros = static_cast<std::size_t>(landed->zeros);
    const std::size_t bytes = static_cast<std::size_t>(landed->width) - zeros;
    if (bytes > 0) std::memcpy(into, landed->from, bytes);
    std::memset(into + bytes, 0, zeros);
    if (mode_ == Mode::recording) {
      shadow_.land(landed->to, static_cast<std::uint32_t>(landed->width), now(number(site)));
    }
  }
  thread.copies.erase(thread.copies.begin(), landed);
}

void Engine::log_matrix_row(Op op, std::uint32_t address, bool active, const Site& site) {
  const bool good = active && checked_shared(address, 16, site, op);
  if (mode_ == Mode::recording) log(op, 16, good, address, site);
}

std::byte* Engine::matrix_bytes(Op op, std::uint32_t address, int width, const Site& site) {
  if (!checked_shared(address, width, site, op)) return nullptr;
  if (mode_ == Mode::recording) shadow_shared(address, width, site, number(site), op);
  return shared_.data() + address;
}

// Findings -----------------------------------------------------------------------------------

Party Engine::party(std::uint32_t thread, const Site& site, Action action, int bytes) const {
  return {block_id_, threads_[thread].id, site, action, bytes};
}

Party Engine::me(const Site& site, Op op, int bytes) const {
  Action action = Action::load;
  if (op == Op::global_store || op == Op::shared_store || op == Op::stmatrix) {
    action = Action::store;
  } else if (op == Op::global_atomic || op == Op::shared_atomic) {
    action = Action::update;
  } else if (op == Op::async_copy) {
    action = Action::async_copy;
  }
  return party(current_, site, action, bytes);
}

Party Engine::party(const Toucher& who, Action action, int bytes) const {
  Party other = party(who.thread, sites_[who.site], action, bytes);
  other.block = block_of(who.block - 1 - first_block_);
  return other;
}

Toucher Engine::toucher(std::uint16_t site) const {
  Toucher me;
  me.block = first_block_ + block_linear_ + 1;
  me.thread = current_ & 0xfff;
  me.site = site;
  me.block_epoch = block_epoch_;
  me.warp_epoch = warps_[current_ / 32].epoch;
  return me;
}

std::string Engine::lane_text() const {
  return fmt::format("lane {} of warp {}", current_ % 32, current_ / 32);
}

void Engine::step(const Site& site, Action action) {
  if (step_limit_ == 0 || mode_ == Mode::fast) return;
  if (++threads_[current_].steps <= step_limit_) return;
  note(FindingKind::never_ends, "", 0, party(current_, site, action), {},
       fmt::format("it has made {} accesses and waits and not ended", step_limit_));
  throw Stopped();
}

// Each pair of places is told once: a broken loop breaks a million times.
void Engine::note(FindingKind kind, std::string memory, std::uint64_t address,
                  std::optional<Party> first, std::optional<Party> second, std::string detail,
                  bool warning) {
  ++finding_count_;
  const auto place = [](const std::optional<Party>& party) { return party ? party->site : Site{}; };
  for (Finding& known : findings_) {
    if (known.kind == kind && known.memory == memory && known.warning == warning &&
        place(known.first) == place(first) && place(known.second) == place(second)) {
      ++known.count;
      return;
    }
  }
  if (findings_.size() >= kept_findings) return;
  findings_.push_back(
      {kind, kernel_, std::move(memory), address, first, second, std::move(detail), warning, 1});
}

void Engine::report_unwritten_outputs() {
  for (const Buffer& buffer : memory_->buffers()) {
    if (buffer.use != Use::output) continue;
    const Buffer::Gap gap = buffer.unwritten();
    if (gap.bytes == 0) continue;
    note(FindingKind::never_written, buffer.name, gap.first, {}, {},
         fmt::format("{} of its {} B", gap.bytes, buffer.bytes));
  }
}

}  // namespace cornerturn::simt
