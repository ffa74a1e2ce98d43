// Who touched memory and when, and what orders two blocks, or two threads, besides barriers.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

namespace cornerturn::simt {

/// What an access is besides a load or a store. Two atomic accesses never race.
enum class How : std::uint8_t { plain, as_volatile, atomic };

/// Who touched a cell of memory, and when. Nothing orders the blocks of a launch; threads of one
/// block are ordered by barriers, which the epochs count (shared_shadow.hpp).
struct Toucher {
  std::uint32_t block = 0;        ///< linear index + 1, counted on from launch to launch; 0: nobody
  std::uint16_t thread : 12 = 0;  ///< linear index in the block
  std::uint16_t how : 4 = 0;      ///< How
  std::uint16_t site = 0;
  std::uint32_t block_epoch = 0;
  std::uint32_t warp_epoch = 0;

  bool same_thread(const Toucher& other) const {
    return block == other.block && thread == other.thread;
  }
  bool same_warp(const Toucher& other) const {
    return block == other.block && thread / 32 == other.thread / 32;
  }
  /// Both are somebody, and either may come first.
  bool unordered_with(const Toucher& other) const {
    if (block == 0 || other.block == 0 || same_thread(other)) return false;
    if (block != other.block) return true;
    return same_warp(other) ? warp_epoch == other.warp_epoch : block_epoch == other.block_epoch;
  }
};

/// What threads have announced to others by a flag, and which of that the running block has waited
/// for.
class BlockOrder {
 public:
  void begin_launch() {
    flags_.clear();
    waited_.clear();
  }
  void begin_block() { waited_.clear(); }

  /// `who` sets the flag: what its block did up to its last barrier comes before. With `own`, what
  /// the thread itself did after it does so too (it has put a fence there), and its warp up to the
  /// warp's last barrier.
  void announce(const void* flag, const Toucher& who, bool own = false) {
    Flag& its = flags_[flag];
    its.by_block[who.block].push_back({who, its.count++, own});
  }

  /// `who` reads the flag, and so comes after all that was announced by it. False: nothing was.
  bool wait(const void* flag, const Toucher& who) {
    const auto found = flags_.find(flag);
    if (found == flags_.end()) return false;
    const Flag& its = found->second;
    if (!waited_.empty() && waited_.back().flag == &its && waited_.back().by.same_thread(who)) {
      waited_.back().count = its.count;
    } else {
      waited_.push_back({&its, its.count, who});
    }
    return true;
  }

  /// Was `other` over when something was announced that the running thread, or one before its last
  /// barrier, has waited for?
  bool before(const Toucher& other, const Toucher& who) const {
    for (const Waited& waited : waited_) {
      if (!after(waited.by, who)) continue;
      const auto found = waited.flag->by_block.find(other.block);
      if (found == waited.flag->by_block.end()) continue;
      for (const Announced& one : found->second) {
        if (one.number < waited.count && covers(one, other)) return true;
      }
    }
    return false;
  }

 private:
  struct Announced {
    Toucher who;
    std::size_t number = 0;
    bool own = false;
  };
  struct Flag {
    std::unordered_map<std::uint32_t, std::vector<Announced>> by_block;
    std::size_t count = 0;
  };
  struct Waited {
    const Flag* flag = nullptr;
    std::size_t count = 0;
    Toucher by;
  };

  static bool covers(const Announced& one, const Toucher& other) {
    if (other.block_epoch < one.who.block_epoch) return true;
    return one.own && (other.same_thread(one.who) ||
                       (other.same_warp(one.who) && other.warp_epoch < one.who.warp_epoch));
  }
  static bool after(const Toucher& waiter, const Toucher& who) {
    return who.same_thread(waiter) || who.block_epoch > waiter.block_epoch ||
           (who.same_warp(waiter) && who.warp_epoch > waiter.warp_epoch);
  }

  std::unordered_map<const void*, Flag> flags_;
  std::vector<Waited> waited_;  // by the running block
};

}  // namespace cornerturn::simt
