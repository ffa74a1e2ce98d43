// A stack that can be left in the middle and continued later: Boost.Context's switch, with what the
// sanitizers must be told.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

namespace cornerturn::simt {

class Fiber {
 public:
  using Entry = void (*)(Fiber& self, void* user);

  Fiber() = default;  // the thread's own stack
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;
  ~Fiber();

  /// Makes a fiber that starts in `entry` when it is switched to for the first time. What it ran
  /// before is dropped where it stands. `entry` must never return.
  void prepare(std::byte* stack, std::size_t bytes, Entry entry, void* user);

  /// Leaves `from`, continues `to`; returns when someone switches back to `from`.
  static void switch_to(Fiber& from, Fiber& to);

  /// What a fiber that was left has on its stack. Put back on the same stack, it goes on there,
  /// whatever ran on it in between.
  struct Image {
    void* context = nullptr;
    std::vector<std::byte> bytes;
  };
  Image copy() const;
  void put_back(const Image& image);

 private:
  friend struct FiberStart;
  void* context_ = nullptr;
  std::byte* stack_ = nullptr;
  std::size_t bytes_ = 0;
  Entry entry_ = nullptr;
  void* user_ = nullptr;
  // What AddressSanitizer and ThreadSanitizer keep of each stack.
  [[maybe_unused]] void* fake_stack_ = nullptr;
  [[maybe_unused]] const void* sanitizer_stack_ = nullptr;
  [[maybe_unused]] std::size_t sanitizer_bytes_ = 0;
  [[maybe_unused]] void* tsan_fiber_ = nullptr;
};

/// Stacks in one mapping, each with a page below it that faults. The largest mapping that a pool of
/// this thread no longer needs is kept for the next one: to make one takes longer than most
/// launches.
class StackPool {
 public:
  StackPool() = default;
  StackPool(const StackPool&) = delete;
  StackPool& operator=(const StackPool&) = delete;
  ~StackPool();

  /// Makes room for `count` stacks; those that were there are gone.
  void reserve(std::size_t count);
  std::byte* stack(std::size_t i) const;
  std::size_t bytes(std::size_t i) const;
  /// The memory in which all stacks lie.
  std::pair<const std::byte*, std::size_t> all() const;

 private:
  struct Mapping {
    std::byte* base = nullptr;
    std::size_t count = 0;

    Mapping() = default;
    Mapping(const Mapping&) = delete;
    Mapping& operator=(const Mapping&) = delete;
    ~Mapping();
    void swap(Mapping& other);
  };
  static Mapping& spare();

  Mapping mapping_;
};

}  // namespace cornerturn::simt
