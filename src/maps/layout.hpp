// CuTe's layouts: nested shapes with nested strides, (8,(2,4)):(1,(8,32)), from coordinates to
// offsets. The first mode runs fastest when one number stands for all coordinates.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <string>

#include "cornerturn/error.hpp"
#include "maps/host_device.hpp"

namespace cornerturn {

/// A value: equal when written equally. All of it is constexpr and it may be a template argument,
/// for which nvcc wants an aggregate.
struct Layout {
  static constexpr int max_leaves = 32;

  /// An innermost extent:stride, with the parentheses that open before and close behind it.
  struct Leaf {
    std::int64_t extent = 1;
    std::int64_t stride = 0;
    std::int16_t opens = 0;
    std::int16_t closes = 0;

    friend constexpr bool operator==(const Leaf&, const Leaf&) = default;
  };

  Leaf leaf[max_leaves] = {};
  int leaves = 1;

  constexpr bool is_tuple() const { return leaf[0].opens > 0; }

  /// How many modes the outermost tuple has; 1 for extent:stride.
  constexpr int rank() const {
    int count = 0;
    for (int first = 0; first < leaves; first = mode_end(first)) ++count;
    return count;
  }

  /// The i-th mode of the outermost tuple.
  constexpr Layout mode(int i) const {
    int first = 0;
    for (int skipped = 0; skipped < i && first < leaves; ++skipped) first = mode_end(first);
    if (i < 0 || first >= leaves) {
      throw Error(
          Status::invalid_argument,
          "mode " + std::to_string(i) + " is out of range for rank " + std::to_string(rank()));
    }
    const int last = mode_end(first);
    Layout result;
    result.leaves = last - first;
    for (int j = first; j < last; ++j) result.leaf[j - first] = leaf[j];
    if (is_tuple()) {
      if (first == 0) --result.leaf[0].opens;
      if (last == leaves) --result.leaf[result.leaves - 1].closes;
    }
    return result;
  }

  CT_HOST_DEVICE constexpr std::int64_t size() const {
    std::int64_t product = 1;
    for (int i = 0; i < leaves; ++i) product *= leaf[i].extent;
    return product;
  }
  /// How many elements lie from the lowest offset to the highest, both counted.
  CT_HOST_DEVICE constexpr std::int64_t cosize() const {
    std::int64_t last = 0;
    for (int i = 0; i < leaves; ++i) {
      const std::int64_t stride = leaf[i].stride;
      last += (leaf[i].extent - 1) * (stride < 0 ? -stride : stride);
    }
    return last + 1;
  }
  /// The lowest offset: 0 unless there are negative strides.
  CT_HOST_DEVICE constexpr std::int64_t lowest() const {
    std::int64_t first = 0;
    for (int i = 0; i < leaves; ++i) {
      if (leaf[i].stride < 0) first += (leaf[i].extent - 1) * leaf[i].stride;
    }
    return first;
  }

  /// The offset of the index-th coordinate.
  CT_HOST_DEVICE constexpr std::int64_t operator()(std::int64_t index) const {
    std::int64_t offset = 0;
    for (int i = 0; i < leaves; ++i) {
      const bool last = i == leaves - 1;
      offset += (last ? index : index % leaf[i].extent) * leaf[i].stride;
      if (!last) index /= leaf[i].extent;
    }
    return offset;
  }

  /// The offset of (i, j): one number for each mode of the outermost tuple, of which there are two.
  CT_HOST_DEVICE constexpr std::int64_t operator()(std::int64_t i, std::int64_t j) const {
    std::int64_t offset = 0;
    const int second = mode_end(0);
    for (int k = 0; k < leaves; ++k) {
      std::int64_t& index = k < second ? i : j;
      const bool last = k == second - 1 || k == leaves - 1;
      offset += (last ? index : index % leaf[k].extent) * leaf[k].stride;
      if (!last) index /= leaf[k].extent;
    }
    return offset;
  }

  friend constexpr bool operator==(const Layout& a, const Layout& b) {
    if (a.leaves != b.leaves) return false;
    for (int i = 0; i < a.leaves; ++i) {
      if (!(a.leaf[i] == b.leaf[i])) return false;
    }
    return true;
  }

  /// One past the last leaf of the mode that begins at leaf `first`.
  CT_HOST_DEVICE constexpr int mode_end(int first) const {
    int depth = first == 0 && leaf[0].opens > 0 ? -1 : 0;  // the outermost tuple's own parenthesis
    for (int i = first; i < leaves; ++i) {
      depth += leaf[i].opens - leaf[i].closes;
      if (depth <= 0) return i + 1;
    }
    return leaves;
  }
};

/// extent:stride, no tuple.
CT_HOST_DEVICE constexpr Layout make_leaf(std::int64_t extent, std::int64_t stride) {
  Layout result;
  result.leaf[0].extent = extent;
  result.leaf[0].stride = stride;
  return result;
}

namespace detail {

[[noreturn]] inline void throw_too_many_leaves() {
  throw Error(Status::unsupported, "the layout has more than " +
                                       std::to_string(Layout::max_leaves) + " innermost modes");
}

/// A list of extent:stride pairs that grows.
struct FlatModes {
  Layout::Leaf leaf[Layout::max_leaves] = {};
  int count = 0;

  constexpr void add(std::int64_t extent, std::int64_t stride) {
    if (count == Layout::max_leaves) throw_too_many_leaves();
    leaf[count].extent = extent;
    leaf[count].stride = stride;
    ++count;
  }

  /// Nothing is 1:0, one pair is itself, more are a tuple.
  constexpr Layout layout() const {
    if (count == 0) return make_leaf(1, 0);
    if (count == 1) return make_leaf(leaf[0].extent, leaf[0].stride);
    Layout result;
    result.leaves = count;
    for (int i = 0; i < count; ++i) result.leaf[i] = leaf[i];
    result.leaf[0].opens = 1;
    result.leaf[count - 1].closes = 1;
    return result;
  }
};

/// Modes that become a tuple.
struct TupleBuilder {
  Layout tuple;
  int count = 0;

  constexpr void add(const Layout& mode) {
    if (count + mode.leaves > Layout::max_leaves) throw_too_many_leaves();
    for (int i = 0; i < mode.leaves; ++i) tuple.leaf[count + i] = mode.leaf[i];
    count += mode.leaves;
  }
  constexpr Layout layout() {
    tuple.leaves = count;
    ++tuple.leaf[0].opens;
    ++tuple.leaf[count - 1].closes;
    return tuple;
  }
};

}  // namespace detail

/// The tuple of these modes, (a,b,...).
constexpr Layout make_layout(std::initializer_list<Layout> modes) {
  detail::TupleBuilder builder;
  for (const Layout& mode : modes) builder.add(mode);
  return builder.layout();
}

/// (extent, ...):(stride, ...) with extents and strides in a row.
constexpr Layout make_flat_layout(std::initializer_list<std::int64_t> extents,
                                  std::initializer_list<std::int64_t> strides) {
  detail::TupleBuilder builder;
  const std::int64_t* stride = strides.begin();
  for (const std::int64_t extent : extents) builder.add(make_leaf(extent, *stride++));
  return builder.layout();
}

/// rows x columns with the columns side by side: (rows,columns):(columns,1).
constexpr Layout row_major(std::int64_t rows, std::int64_t columns) {
  return make_layout({make_leaf(rows, columns), make_leaf(columns, 1)});
}
constexpr Layout column_major(std::int64_t rows, std::int64_t columns) {
  return make_layout({make_leaf(rows, 1), make_leaf(columns, rows)});
}

}  // namespace cornerturn
