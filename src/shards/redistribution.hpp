// From one layout to another: which device sends what to which, as strided copies on both sides.
// Everything follows from the arguments, so that every device knows it without asking the others.
#pragma once

#include <cstdint>
#include <vector>

#include "core/problem.hpp"
#include "shards/layout.hpp"

namespace cornerturn::shards {

/// `count` equal stretches of an axis, of `length` indices each, at even distances on both sides:
/// at src, src + src_step, ... in the sender's shard, and dst, dst + dst_step, ... in the
/// receiver's.
struct Stretches {
  std::int64_t count = 1;
  std::int64_t length = 0;
  std::int64_t src = 0;
  std::int64_t dst = 0;
  std::int64_t src_step = 0;
  std::int64_t dst_step = 0;

  friend bool operator==(const Stretches&, const Stretches&) = default;
};

/// The indices that both sides hold, in the order in which the receiver holds them.
std::vector<Stretches> in_common(const Indices& src, const Indices& dst);

/// A part of a message: one list of stretches for each axis of the result.
struct Box {
  std::vector<Stretches> axes;
  std::int64_t place = 0;  ///< of its first element in the message, counted in elements

  std::int64_t elements() const;
  friend bool operator==(const Box&, const Box&) = default;
};

/// What one device sends to another. The message holds its boxes one after the other, each of them
/// packed, with the axes in the order of the result.
struct Message {
  std::vector<Box> boxes;
  std::int64_t elements = 0;
};

/// Where a box lies: in the sender's shard, in the message, or in the receiver's shard.
enum class Side : std::uint8_t { source, message, destination };

/// The elements of the array and of the result. Where they differ, values are converted: those that
/// become smaller before they travel, others when they arrive.
struct Items {
  ElementType src{Kind::u8};
  ElementType dst{Kind::u8};

  ElementType at(Side side) const {
    if (side == Side::message) return dst.size() <= src.size() ? dst : src;
    return side == Side::source ? src : dst;
  }
  bool differ() const { return !(src == dst); }
  friend bool operator==(const Items&, const Items&) = default;
};

/// result[i] = array[i permuted], where axis k of the result is axis perm[k] of the array.
class Redistribution {
 public:
  /// `src` is the layout of the array and `dst` that of the result. Throws when `perm` is no
  /// permutation of the axes, `dst` has another shape, or the two are for different numbers of
  /// devices.
  Redistribution(Layout src, Layout dst, std::vector<int> perm, const Items& items);
  /// Elements of so many bytes are moved unread.
  Redistribution(Layout src, Layout dst, std::vector<int> perm, std::int64_t item_bytes);

  const Layout& src() const { return src_; }
  const Layout& dst() const { return dst_; }
  const std::vector<int>& perm() const { return perm_; }
  const Items& items() const { return items_; }
  std::int64_t item_bytes(Side side) const { return items_.at(side).size(); }
  int devices() const { return src_.devices(); }

  /// Where several devices hold an element, a receiver takes it from itself; the other receivers
  /// are dealt to them in equal parts.
  Message message(int from, int to) const;
  std::int64_t message_elements(int from, int to) const;

  /// The copy of a box from one side to another, between arrays that begin at 0. `src_strides` and
  /// `dst_strides` are those of the two shards, in bytes.
  Problem copy(const Box& box, Side from, Side to, const Numbers& src_strides,
               const Numbers& dst_strides) const;

 private:
  bool sends(int from, int to) const;
  std::vector<std::vector<Stretches>> overlap(int from, int to) const;

  Layout src_;
  Layout dst_;
  std::vector<int> perm_;
  Items items_;
  std::vector<std::vector<int>> holders_;  ///< the devices that hold the same shard
  std::vector<int> holders_of_;            ///< for every device, which of these lists it is in
};

/// Strides in bytes of a packed array.
Numbers packed(const Numbers& shape, std::int64_t item_bytes);

}  // namespace cornerturn::shards
