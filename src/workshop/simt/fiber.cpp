#include "workshop/simt/fiber.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <boost/context/detail/fcontext.hpp>
#include <utility>

#include "cornerturn/error.hpp"

#if defined(CORNERTURN_ASAN)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#if defined(CORNERTURN_TSAN)
#include <sanitizer/tsan_interface.h>
#endif

namespace cornerturn::simt {

namespace {

constexpr std::size_t stack_pitch = 128 * 1024;
constexpr std::size_t guard_bytes = 4096;

}  // namespace

struct FiberStart {
  // We are on `to` now; `t` says where `from` was left.
  static void arrived(Fiber& from, [[maybe_unused]] Fiber& to, void* left) {
    from.context_ = left;
#if defined(CORNERTURN_ASAN)
    __sanitizer_finish_switch_fiber(to.fake_stack_, &from.sanitizer_stack_, &from.sanitizer_bytes_);
#endif
  }

  struct Pair {
    Fiber* from;
    Fiber* to;
  };

  static void enter(boost::context::detail::transfer_t t) {
    const Pair pair = *static_cast<Pair*>(t.data);
    arrived(*pair.from, *pair.to, t.fctx);
    pair.to->entry_(*pair.to, pair.to->user_);
  }

  static void jump(Fiber& from, Fiber& to) {
    Pair pair{&from, &to};
#if defined(CORNERTURN_ASAN)
    __sanitizer_start_switch_fiber(&from.fake_stack_, to.sanitizer_stack_, to.sanitizer_bytes_);
#endif
#if defined(CORNERTURN_TSAN)
    if (from.tsan_fiber_ == nullptr) from.tsan_fiber_ = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(to.tsan_fiber_, 0);
#endif
    const auto back = boost::context::detail::jump_fcontext(to.context_, &pair);
    const Pair came = *static_cast<Pair*>(back.data);
    arrived(*came.from, *came.to, back.fctx);
  }
};

Fiber::~Fiber() {
#if defined(CORNERTURN_TSAN)
  if (stack_ != nullptr && tsan_fiber_ != nullptr) __tsan_destroy_fiber(tsan_fiber_);
#endif
}

void Fiber::prepare(std::byte* stack, std::size_t bytes, Entry entry, void* user) {
  stack_ = stack;
  bytes_ = bytes;
  entry_ = entry;
  user_ = user;
#if defined(CORNERTURN_ASAN)
  __asan_unpoison_memory_region(stack, bytes);
  fake_stack_ = nullptr;
  sanitizer_stack_ = stack;
  sanitizer_bytes_ = bytes;
#endif
#if defined(CORNERTURN_TSAN)
  if (tsan_fiber_ != nullptr) __tsan_destroy_fiber(tsan_fiber_);
  tsan_fiber_ = __tsan_create_fiber(0);
#endif
  context_ = boost::context::detail::make_fcontext(stack + bytes, bytes, &FiberStart::enter);
}

void Fiber::switch_to(Fiber& from, Fiber& to) {
  FiberStart::jump(from, to);
}

// The context is where the stack has grown down to.
Fiber::Image Fiber::copy() const {
  const auto* low = static_cast<const std::byte*>(context_);
  return {context_, {low, static_cast<const std::byte*>(stack_) + bytes_}};
}

void Fiber::put_back(const Image& image) {
  context_ = image.context;
  std::copy(image.bytes.begin(), image.bytes.end(), static_cast<std::byte*>(context_));
}

StackPool::Mapping::~Mapping() {
  if (base == nullptr) return;
#if defined(CORNERTURN_ASAN)
  __asan_unpoison_memory_region(base, count * stack_pitch);
#endif
  munmap(base, count * stack_pitch);
}

void StackPool::Mapping::swap(Mapping& other) {
  std::swap(base, other.base);
  std::swap(count, other.count);
}

StackPool::Mapping& StackPool::spare() {
  thread_local Mapping mapping;
  return mapping;
}

StackPool::~StackPool() {
  if (mapping_.count > spare().count) mapping_.swap(spare());
}

void StackPool::reserve(std::size_t count) {
  if (spare().count >= count) {
    mapping_.swap(spare());
    return;
  }
  void* p = mmap(nullptr, count * stack_pitch, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED) {
    throw Error(Status::out_of_memory, "no memory for the stacks of the emulated threads");
  }
  Mapping mapping;
  mapping.base = static_cast<std::byte*>(p);
  mapping.count = count;
  for (std::size_t i = 0; i < count; ++i) {
    mprotect(mapping.base + i * stack_pitch, guard_bytes, PROT_NONE);
  }
  mapping_.swap(mapping);
}

std::byte* StackPool::stack(std::size_t i) const {
  return mapping_.base + i * stack_pitch + guard_bytes;
}

std::pair<const std::byte*, std::size_t> StackPool::all() const {
  return {mapping_.base, mapping_.count * stack_pitch};
}

// Stacks that end at the same offset of their page would meet in the same few cache sets.
std::size_t StackPool::bytes(std::size_t i) const {
  return stack_pitch - guard_bytes - (i % 60) * 64;
}

}  // namespace cornerturn::simt
