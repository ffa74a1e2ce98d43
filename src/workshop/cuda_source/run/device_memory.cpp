#include "workshop/cuda_source/run/device_memory.hpp"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <iterator>
#include <map>
#include <memory>

namespace cornerturn::cuda_source {

Range reserved_range;

namespace {

constexpr std::size_t range_bytes = std::size_t{64} << 30;
constexpr std::size_t device_bytes = std::size_t{16} << 30;
constexpr std::size_t commit_bytes = std::size_t{1} << 20;
constexpr std::size_t most_poisoned = std::size_t{64} << 20;
constexpr std::size_t alignment = 256;
constexpr std::size_t page = 4096;

struct State {
  std::map<std::uintptr_t, std::unique_ptr<Allocation>> by_base;
  std::deque<std::uintptr_t> freed;  // the oldest first
  std::byte* next = nullptr;
  std::byte* committed = nullptr;
  std::size_t in_use = 0;
  std::size_t count = 0;

  State() {
    void* p =
        mmap(nullptr, range_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) return;
    reserved_range = {reinterpret_cast<std::uintptr_t>(p), range_bytes};
    next = committed = static_cast<std::byte*>(p);
    commit(next + page);
    next += page;
  }

  bool commit(std::byte* end) {
    if (end <= committed) return true;
    const auto size = static_cast<std::size_t>(end - committed);
    const std::size_t step = (size + commit_bytes - 1) / commit_bytes * commit_bytes;
    if (mprotect(committed, step, PROT_READ | PROT_WRITE) != 0) return false;
    committed += step;
    return true;
  }
};

// Never destroyed: kernels may run while the program ends.
State& state() {
  static State& it = *new State;
  return it;
}

std::uintptr_t number(const void* p) {
  return reinterpret_cast<std::uintptr_t>(p);
}

// The room of a freed allocation, the oldest that is large enough; nullptr if there is none.
std::byte* reuse(std::size_t bytes) {
  State& s = state();
  for (auto it = s.freed.begin(); it != s.freed.end(); ++it) {
    const auto found = s.by_base.find(*it);
    if (found->second->bytes < bytes) continue;
    std::byte* base = found->second->base;
    s.by_base.erase(found);
    s.freed.erase(it);
    return base;
  }
  return nullptr;
}

std::string name_of(std::size_t bytes, Where where) {
  std::string name = fmt::format("memory of {} B", bytes);
  if (where.file == nullptr) return name;
  const std::string file = where.file;
  return fmt::format("{} (allocated at {}:{})", name, file.substr(file.rfind('/') + 1), where.line);
}

void enter(std::string name, std::byte* base, std::size_t bytes, MemoryKind kind, Where where) {
  auto memory = std::make_unique<Allocation>(std::move(name), base, bytes, kind, where);
  if (kind != MemoryKind::device) memory->watched.written.mark(0, bytes);
  state().by_base[number(base)] = std::move(memory);
}

}  // namespace

void* allocate_memory(std::size_t bytes, MemoryKind kind, Where where) {
  State& s = state();
  if (s.next == nullptr || bytes > device_bytes || s.in_use + bytes > device_bytes) return nullptr;
  const std::size_t size = std::max<std::size_t>(bytes, 1);
  const std::size_t room = (size + alignment - 1) / alignment * alignment + alignment;
  std::byte* base = s.next;
  if (number(base) + room + commit_bytes <= reserved_range.first + reserved_range.bytes) {
    if (!s.commit(base + room)) return nullptr;
    s.next += room;
  } else {
    base = reuse(size);
    if (base == nullptr) return nullptr;
  }
  std::memset(base, 0xff, std::min(size, most_poisoned));
  enter(name_of(bytes, where), base, size, kind, where);
  s.in_use += size;
  ++s.count;
  return base;
}

Freed free_memory(void* p, Where where) {
  State& s = state();
  const auto found = s.by_base.find(number(p));
  if (found == s.by_base.end()) {
    const Allocation* around = find_memory(p);
    return around == nullptr ? Freed::unknown : around->alive ? Freed::inside : Freed::twice;
  }
  Allocation& memory = *found->second;
  if (memory.kind == MemoryKind::variable || memory.kind == MemoryKind::constant ||
      !reserved_range.has(p)) {
    return Freed::unknown;
  }
  if (!memory.alive) return Freed::twice;
  memory.alive = false;
  memory.freed = where;
  memory.watched.history.forget();
  s.in_use -= memory.bytes;
  s.freed.push_back(found->first);
  std::byte* from = memory.base + (page - number(memory.base) % page) % page;
  std::byte* to = memory.base + memory.bytes;
  to -= number(to) % page;
  if (from < to) madvise(from, static_cast<std::size_t>(to - from), MADV_DONTNEED);
  return Freed::done;
}

void register_host_memory(void* p, std::size_t bytes, Where where) {
  enter(name_of(bytes, where), static_cast<std::byte*>(p), bytes, MemoryKind::pinned, where);
}

bool unregister_host_memory(void* p) {
  return !reserved_range.has(p) && state().by_base.erase(number(p)) == 1;
}

void add_variable(std::string name, void* p, std::size_t bytes, MemoryKind kind) {
  enter(std::move(name), static_cast<std::byte*>(p), bytes, kind, {});
}

Allocation* find_memory(const void* p) {
  auto& all = state().by_base;
  auto after = all.upper_bound(number(p));
  if (after == all.begin()) return nullptr;
  Allocation* memory = std::prev(after)->second.get();
  return memory->bytes_from(p) > 0 ? memory : nullptr;
}

Allocation* nearest_memory(const void* p) {
  constexpr std::uintptr_t near = 64 << 10;
  auto& all = state().by_base;
  auto after = all.upper_bound(number(p));
  Allocation* best = nullptr;
  std::uintptr_t least = near;
  if (after != all.end() && after->first - number(p) < least) {
    best = after->second.get();
    least = after->first - number(p);
  }
  if (after == all.begin()) return best;
  Allocation* before = std::prev(after)->second.get();
  const std::uintptr_t end = number(before->base) + before->bytes;
  const std::uintptr_t distance = number(p) < end ? 0 : number(p) - end;
  return distance < least || best == nullptr ? (distance < near ? before : best) : best;
}

bool is_device_address(const void* p) {
  if (reserved_range.has(p)) return true;
  const Allocation* memory = find_memory(p);
  return memory != nullptr;
}

std::string why_unusable(const void* p, std::size_t bytes) {
  if (bytes == 0) return "";
  if (p == nullptr) return "it is a null pointer";
  const Allocation* memory = find_memory(p);
  if (memory == nullptr) {
    return reserved_range.has(p) ? "there is no allocation at this address" : "it is host memory";
  }
  if (!memory->alive) return "it was freed";
  const std::size_t rest = memory->bytes_from(p);
  if (rest < bytes) {
    return fmt::format("{} has {} B from there", memory->watched.name, rest);
  }
  return "";
}

void mark_written(const void* p, std::size_t bytes) {
  Allocation* memory = find_memory(p);
  if (memory == nullptr || bytes == 0) return;
  memory->watched.written.mark(memory->offset_of(p), std::min(bytes, memory->bytes_from(p)));
}

void copy_written(void* to, const void* from, std::size_t bytes) {
  Allocation* target = find_memory(to);
  if (target == nullptr || bytes == 0) return;
  const Allocation* source = find_memory(from);
  bytes = std::min(bytes, target->bytes_from(to));
  if (source != nullptr) bytes = std::min(bytes, source->bytes_from(from));
  const std::uint64_t at = target->offset_of(to);
  if (source == nullptr || source->watched.written.all(source->offset_of(from), bytes)) {
    target->watched.written.mark(at, bytes);
    return;
  }
  for (std::size_t i = 0; i < bytes; ++i) {
    if (source->watched.written.all(source->offset_of(from) + i, 1)) {
      target->watched.written.mark(at + i, 1);
    }
  }
}

std::vector<const Allocation*> memory_in_use() {
  std::vector<const Allocation*> all;
  for (const auto& [base, memory] : state().by_base) {
    if (memory->alive && reserved_range.has(memory->base)) all.push_back(memory.get());
  }
  return all;
}

std::size_t device_bytes_total() {
  return device_bytes;
}

std::size_t device_bytes_free() {
  return device_bytes - state().in_use;
}

std::size_t allocation_count() {
  return state().count;
}

std::string describe(const Allocation& memory) {
  return memory.watched.name;
}

void lend_page(const void* p) {
  auto* at = reinterpret_cast<std::byte*>(number(p) / page * page);
  if (at < state().committed) return;
  mprotect(at, 2 * page, PROT_READ | PROT_WRITE);
}

void forget_touchers() {
  for (const auto& [base, memory] : state().by_base) memory->watched.history.forget();
}

}  // namespace cornerturn::cuda_source
