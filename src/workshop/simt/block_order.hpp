// Who touched memory and when, and what orders two blocks, or two threads, besides barriers.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <utility>
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

/// What threads have announced to others by a flag, and which of that each block has waited for.
class BlockOrder {
 public:
  void begin_launch() {
    flags_.clear();
    waited_.clear();
  }

  /// `who` sets the flag: what its block did up to its last barrier comes before. With `own`, what
  /// the thread itself did after it does so too (it has put a fence there), and its warp up to the
  /// warp's last barrier.
  void announce(const void* flag, const Toucher& who, bool own = false) {
    Flag& its = flags_[flag];
    std::vector<Announced>& all = its.by_block[who.block];
    const auto found = waited_.find(who.block);
    const std::size_t waits = found == waited_.end() ? 0 : found->second.size();
    const std::size_t number = its.count++;
    // A thread that announces again and again while it waits says nothing new.
    if (!all.empty() && all.back().same(who, own, waits)) return;
    all.push_back({who, number, waits, own});
  }

  /// `who` reads the flag, and so comes after all that was announced by it. False: nothing was.
  bool wait(const void* flag, const Toucher& who) {
    const auto found = flags_.find(flag);
    if (found == flags_.end()) return false;
    const Flag& its = found->second;
    std::vector<Waited>& waited = waited_[who.block];
    if (!waited.empty() && waited.back().flag == &its && waited.back().by.same_thread(who)) {
      waited.back().count = its.count;
    } else {
      waited.push_back({&its, its.count, who});
    }
    return true;
  }

  /// Was `other` over when something was announced that `who`, or a thread before its last barrier,
  /// has waited for? Whoever announced it may itself have waited for another one.
  bool before(const Toucher& other, const Toucher& who) const {
    const auto found = waited_.find(who.block);
    if (found == waited_.end()) return false;
    Seen seen;
    return comes_before(other, who, found->second.size(), seen);
  }

 private:
  struct Announced {
    Toucher who;
    std::size_t number = 0;
    std::size_t waits = 0;  // what its block had waited for by then
    bool own = false;

    bool same(const Toucher& other, bool its_own, std::size_t its_waits) const {
      return who.same_thread(other) && who.block_epoch == other.block_epoch &&
             who.warp_epoch == other.warp_epoch && own == its_own && waits == its_waits;
    }
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
  using Seen = std::unordered_map<const Flag*, std::size_t>;  // up to which number

  static bool covers(const Announced& one, const Toucher& other) {
    if (other.block_epoch < one.who.block_epoch) return true;
    return one.own && (other.same_thread(one.who) ||
                       (other.same_warp(one.who) && other.warp_epoch < one.who.warp_epoch));
  }
  static bool after(const Toucher& waiter, const Toucher& who) {
    return who.same_thread(waiter) || who.block_epoch > waiter.block_epoch ||
           (who.same_warp(waiter) && who.warp_epoch > waiter.warp_epoch);
  }

  // Of what the block of `who` has waited for, the first `waits` count.
  bool comes_before(const Toucher& other, const Toucher& who, std::size_t waits, Seen& seen) const {
    const auto its = waited_.find(who.block);
    if (its == waited_.end()) return false;
    const auto end = its->second.begin() + static_cast<std::ptrdiff_t>(waits);
    for (auto waited = its->second.begin(); waited != end; ++waited) {
      if (!after(waited->by, who)) continue;
      const auto found = waited->flag->by_block.find(other.block);
      if (found == waited->flag->by_block.end()) continue;
      for (const Announced& one : found->second) {
        if (one.number < waited->count && covers(one, other)) return true;
      }
    }
    for (auto waited = its->second.begin(); waited != end; ++waited) {
      if (!after(waited->by, who)) continue;
      std::size_t& known = seen[waited->flag];
      if (known >= waited->count) continue;
      const std::size_t from = std::exchange(known, waited->count);
      for (const auto& [block, all] : waited->flag->by_block) {
        for (const Announced& one : all) {
          if (one.number < from || one.number >= waited->count || one.waits == 0) continue;
          if (comes_before(other, one.who, one.waits, seen)) return true;
        }
      }
    }
    return false;
  }

  std::unordered_map<const void*, Flag> flags_;
  std::unordered_map<std::uint32_t, std::vector<Waited>> waited_;  // by blocks
};

}  // namespace cornerturn::simt
