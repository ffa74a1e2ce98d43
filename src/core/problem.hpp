// The one thing that every transposition, permutation, sub-tensor copy or layout change is.
#pragma once

#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>

#include "core/blocks.hpp"
#include "core/lists.hpp"
#include "core/values.hpp"
#include "cornerturn/element_type.hpp"

namespace cornerturn {

inline constexpr int max_rank = 64;

/// One mode of a problem: `extent` steps, each moving the source address by `src_stride` bytes and
/// the destination address by `dst_stride` bytes. All strides inside the library are in bytes.
struct Mode {
  std::int64_t extent;
  std::int64_t src_stride;
  std::int64_t dst_stride;

  friend bool operator==(const Mode&, const Mode&) = default;
};

/// A list of modes of fixed capacity: a Problem is a value that never allocates.
class ModeList {
 public:
  static constexpr int capacity = max_rank + 2;  // one for the bytes of an element, one to split

  ModeList() noexcept {}  // NOLINT: modes past size() stay unset on purpose
  ModeList(std::initializer_list<Mode> modes) noexcept {
    for (const Mode& mode : modes) push_back(mode);
  }
  ModeList(const ModeList& other) noexcept { *this = other; }
  ModeList& operator=(const ModeList& other) noexcept {
    size_ = other.size_;
    for (int i = 0; i < size_; ++i) (*this)[i] = other[i];
    return *this;
  }

  int size() const noexcept { return size_; }
  bool empty() const noexcept { return size_ == 0; }
  Mode& operator[](int i) noexcept { return modes_[static_cast<std::size_t>(i)]; }
  const Mode& operator[](int i) const noexcept { return modes_[static_cast<std::size_t>(i)]; }
  Mode* begin() noexcept { return modes_.data(); }
  Mode* end() noexcept { return modes_.data() + size_; }
  const Mode* begin() const noexcept { return modes_.data(); }
  const Mode* end() const noexcept { return modes_.data() + size_; }
  Mode& back() noexcept { return (*this)[size_ - 1]; }
  const Mode& back() const noexcept { return (*this)[size_ - 1]; }

  void push_back(const Mode& mode) noexcept {
    assert(size_ < capacity);
    (*this)[size_++] = mode;
  }
  void pop_back() noexcept { --size_; }
  void clear() noexcept { size_ = 0; }
  void erase(int i) noexcept {
    for (int k = i; k + 1 < size_; ++k) (*this)[k] = (*this)[k + 1];
    --size_;
  }

  friend bool operator==(const ModeList& a, const ModeList& b) noexcept {
    if (a.size_ != b.size_) return false;
    for (int i = 0; i < a.size_; ++i) {
      if (a[i] != b[i]) return false;
    }
    return true;
  }

 private:
  std::array<Mode, capacity> modes_;
  int size_ = 0;
};

/// What a problem does with its elements.
enum class Operation : std::uint8_t {
  move,        ///< bytes are moved unread
  convert,     ///< values change on their way
  quantise,    ///< values become blocks that share a scale
  dequantise,  ///< and blocks become values
  reduce,      ///< the largest magnitude of all values is found
  in_place,    ///< bytes are moved unread within the memory of their array
};

/// "move", "convert", ...
const char* name_of(Operation operation);

/// Some of them: those that a kernel can do.
class Operations {
 public:
  constexpr Operations() = default;
  constexpr Operations(std::initializer_list<Operation> all) {
    for (const Operation operation : all) bits_ |= bit(operation);
  }
  constexpr bool has(Operation operation) const { return (bits_ & bit(operation)) != 0; }

 private:
  static constexpr unsigned bit(Operation operation) {
    return 1U << static_cast<unsigned>(operation);
  }
  unsigned bits_ = 0;
};

/// dst[dst_offset + sum(i_k * dst_stride_k)] = src[src_offset + sum(i_k * src_stride_k)] for every
/// index i with 0 <= i_k < extent_k. Offsets and strides are in bytes. No modes: one element.
///   convert               The value is changed on its way as values/epilogue.hpp says.
///   quantise, dequantise  One side is an array of plain values, the other one holds blocks.
///   Extents
///                         count plain values. core/blocks.hpp says what the strides of blocks are.
///   reduce                The destination strides are 0. The destination holds numbers of 64 bits
///                         (values/magnitude.hpp) whose largest is the result; the plan says how
///                         many.
///   in_place              Source and destination are one array: each byte that is read is also
///                         written, and all are read before they are written. Offsets are 0,
///                         strides positive.
struct Problem {
  ElementType src_type{Kind::u8};
  ElementType dst_type{Kind::u8};
  ModeList modes;
  std::int64_t src_offset = 0;
  std::int64_t dst_offset = 0;

  Values values;
  ModeVector scale;
  ModeVector bias;

  /// Where values become blocks or are made of them; null for all other problems.
  std::shared_ptr<const Blocks> blocks;
  /// Modes whose places come from tables, beside `modes`; null for all other problems. With blocks
  /// there is one at most, of indices of the plain values.
  std::shared_ptr<const Lists> lists;
  bool reduces = false;
  bool in_place = false;

  Operation operation() const noexcept;
  /// Is the operation a conversion?
  bool converts() const noexcept {
    if (blocks != nullptr || reduces) return false;
    const bool complex = src_type.kind() == Kind::c64 || src_type.kind() == Kind::c128;
    return !(src_type == dst_type) || values.alpha != 1 || values.beta != 0 || scale.present ||
           bias.present || (values.conjugate && complex);
  }
  /// Do the bytes of values stand in the other order than the machine's on a side?
  bool swaps() const noexcept { return src_type.is_swapped() || dst_type.is_swapped(); }
  /// Is it a move or a conversion in which nothing but what lies at an element's own place decides
  /// about it? Any part of it may then be done apart, and by any kernel: the result is the same.
  bool is_local() const noexcept;
  int rank() const noexcept { return modes.size(); }
  /// Elements moved: the product of the extents, also of lists.
  std::int64_t elements() const noexcept;
  /// Bytes of all elements that are written; of a reduction, of those that are read.
  std::int64_t bytes() const noexcept;

  friend bool operator==(const Problem& a, const Problem& b) noexcept;
};

/// "f32 (3,5):(4,12)->(20,4)": extents, source strides, destination strides, in bytes. An operation
/// that is no move follows: "f32->b34 (6,64):(256,4)->(68,34) quantise q8_0 along 1".
std::string to_string(const Problem& problem);

}  // namespace cornerturn
