// Puts the accesses of a warp's lanes together again as the warp's requests. The emulator runs
// lanes one after the other; the k-th time that a lane passes a place in the source belongs to the
// same request as the k-th time of every other lane.
#pragma once

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "maps/banks.hpp"
#include "workshop/simt/site.hpp"

namespace cornerturn::simt {

enum class Op : std::uint8_t {
  global_load,
  global_store,
  shared_load,
  shared_store,
  prefetch,    ///< of a sector into the L2: its width is a byte
  async_copy,  ///< cp.async: `lanes` is where the bytes go, `source` where they come from
  ldmatrix,
  stmatrix,
  global_atomic,
  shared_atomic,
};

constexpr bool is_global(Op op) {
  return op == Op::global_load || op == Op::global_store || op == Op::global_atomic;
}

/// One warp's request: the same access at the same place in the source, an address a lane.
/// Global addresses are those of a device (Buffer::device_address), shared ones count from 0.
struct Request {
  Site site;
  std::uint16_t site_index = 0;  ///< the same number for the same place within a launch
  Op op = Op::global_load;
  bool first = true;        ///< of its warp since the lanes last met
  bool through_l1 = false;  ///< of an async copy: .ca instead of .cg
  WarpRequest lanes;
  std::array<std::uint64_t, warp_lanes> source = {};
};

/// The requests of one warp between two points where its lanes meet.
class WarpLog {
 public:
  static constexpr std::uint16_t unnumbered = 0xffff;

  /// Enters one lane's access; an inactive one only keeps the lanes in step.
  Request& add(int lane, Op op, int width, bool active, std::uint64_t address, const Site& site) {
    const std::uint32_t bit = 1U << lane;
    Cursor& cursor = cursors_[static_cast<std::size_t>(lane)];
    std::size_t at = cursor.next;
    // In step: this lane has met the same places in the same order as the first lane did.
    if (cursor.in_step && at == count_) {
      append(op, width, site);
    } else if (!cursor.in_step || !matches(entries_[at], op, width, site)) {
      if (cursor.in_step) leave_step(lane, at);
      at = find(lane, op, width, site);
    }
    cursor.next = at + 1;
    Entry& entry = entries_[at];
    entry.seen |= bit;
    if (active) {
      entry.request.lanes.active |= bit;
      entry.request.lanes.address[static_cast<std::size_t>(lane)] = address;
    }
    return entry.request;
  }

  /// The request that `lane` has been entered in last.
  Request& last(int lane) {
    return entries_[cursors_[static_cast<std::size_t>(lane)].next - 1].request;
  }

  /// Calls `visit` with each request that has an active lane, and forgets them all.
  template <class Visit>
  void flush(Visit&& visit) {
    bool first = true;
    for (std::size_t i = 0; i < count_; ++i) {
      Request& request = entries_[i].request;
      if (request.lanes.active == 0) continue;
      request.first = std::exchange(first, false);
      visit(request);
    }
    count_ = 0;
    cursors_ = {};
    accesses_.clear();
  }

  /// How many requests it holds.
  std::size_t size() const { return count_; }

 private:
  static constexpr std::size_t none = ~std::size_t{0};

  struct Entry {
    std::uint32_t seen = 0;
    std::size_t next_alike = none;  // the next entry of this access; known once `accesses_` is
    Request request;
  };
  struct Cursor {
    std::size_t next = 0;
    bool in_step = true;
  };
  // All entries of one access in the source, and the last one that each lane has a part in.
  struct Access {
    std::size_t first = none;
    std::size_t last = none;
    std::array<std::size_t, warp_lanes> of_lane = {};
  };

  static bool matches(const Entry& entry, Op op, int width, const Site& site) {
    return entry.request.op == op && entry.request.lanes.width == width &&
           entry.request.site == site;
  }

  // The lane goes another way than the first one did, from entry `at` on. From here on its accesses
  // are looked up.
  void leave_step(int lane, std::size_t at) {
    cursors_[static_cast<std::size_t>(lane)].in_step = false;
    if (accesses_.empty()) {
      for (std::size_t i = 0; i < count_; ++i) link(i);
    }
    for (std::size_t i = 0; i < at; ++i) {
      access_of(entries_[i]).of_lane[static_cast<std::size_t>(lane)] = i;
    }
  }

  // The first request of this access that the lane has no part in yet; a new one if there is none.
  std::size_t find(int lane, Op op, int width, const Site& site) {
    for (Access& access : accesses_) {
      if (!matches(entries_[access.first], op, width, site)) continue;
      std::size_t& mine = access.of_lane[static_cast<std::size_t>(lane)];
      std::size_t at = mine == none ? access.first : entries_[mine].next_alike;
      if (at == none) {
        append(op, width, site);
        at = access.last;
      }
      return mine = at;
    }
    append(op, width, site);
    return accesses_.back().of_lane[static_cast<std::size_t>(lane)] = count_ - 1;
  }

  Access& access_of(const Entry& entry) {
    const Request& request = entry.request;
    for (Access& access : accesses_) {
      if (matches(entries_[access.first], request.op, request.lanes.width, request.site)) {
        return access;
      }
    }
    accesses_.emplace_back().of_lane.fill(none);
    return accesses_.back();
  }

  void link(std::size_t at) {
    Access& access = access_of(entries_[at]);
    entries_[at].next_alike = none;
    (access.first == none ? access.first : entries_[access.last].next_alike) = at;
    access.last = at;
  }

  void append(Op op, int width, const Site& site) {
    if (count_ == entries_.size()) entries_.emplace_back();
    Entry& entry = entries_[count_++];
    entry.seen = 0;
    entry.request.site = site;
    entry.request.op = op;
    entry.request.site_index = unnumbered;
    entry.request.lanes.width = width;
    entry.request.lanes.active = 0;
    entry.request.through_l1 = false;
    if (!accesses_.empty()) link(count_ - 1);
  }

  std::vector<Access> accesses_;  // empty while all lanes are in step
  std::vector<Entry> entries_;
  std::size_t count_ = 0;
  std::array<Cursor, warp_lanes> cursors_ = {};
};

}  // namespace cornerturn::simt
