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
      cursor.in_step = false;
      at = find(bit, op, width, site);
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
  }

 private:
  struct Entry {
    std::uint32_t seen = 0;
    Request request;
  };
  struct Cursor {
    std::size_t next = 0;
    bool in_step = true;
  };

  static bool matches(const Entry& entry, Op op, int width, const Site& site) {
    return entry.request.op == op && entry.request.lanes.width == width &&
           entry.request.site == site;
  }

  // The first request of this place that the lane has no part in yet; a new one if there is none.
  std::size_t find(std::uint32_t bit, Op op, int width, const Site& site) {
    for (std::size_t i = 0; i < count_; ++i) {
      if ((entries_[i].seen & bit) == 0 && matches(entries_[i], op, width, site)) return i;
    }
    append(op, width, site);
    return count_ - 1;
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
  }

  std::vector<Entry> entries_;
  std::size_t count_ = 0;
  std::array<Cursor, warp_lanes> cursors_ = {};
};

}  // namespace cornerturn::simt
