// Views of which the places of one axis come from a table instead of a stride: pages of a cache,
// rows of experts, columns of a table, arrays that lie apart.
#pragma once

#include <cstdint>
#include <type_traits>
#include <utility>

#include "cornerturn/epilogue.hpp"
#include "cornerturn/export.hpp"
#include "cornerturn/plan.hpp"
#include "cornerturn/view.hpp"

namespace cornerturn {

/// What a table holds. `strides` means that there is no table: an axis goes in steps.
enum class Places : std::uint8_t { strides, i32, i64, pointers };

/// What becomes of a place of the destination whose source has the index -1 or a null pointer.
enum class Missing : std::uint8_t {
  zeros,  ///< it is filled with what a source of zeros would give
  left,   ///< it is left as it is
};

/// A table with one entry for each index of `axis`. It lies where the arrays do: in host memory for
/// the CPU, in memory that the GPU reaches for a GPU, which reads it when the kernel runs. A graph
/// that has captured the call reads what the table holds when the graph is launched.
struct List {
  Places places = Places::strides;
  const void* table = nullptr;
  int axis = 0;
  /// Of indices: each is less than `count`, and not negative but for -1. An index of -1 means
  /// "nothing there" in a source, and "skip this one" in a destination.
  std::int64_t count = 0;
  Missing missing = Missing::zeros;  ///< of a source
  /// Of pointers on a GPU: each is a multiple of so many bytes, at most 16. 0: of the element's
  /// size.
  int alignment = 0;
};

/// A view with a list. It is no view, so that no function takes it that would not look at its list.
/// Along the list's axis, `shape` counts the entries of the table.
///   indices   Entry k lies at data + table[k] * strides[axis].
///   pointers  Entry k lies at table[k]; `data` and strides[axis] are not used.
template <class Void>
struct BasicListedView {
  BasicView<Void> view;
  List list = {};

  BasicListedView(BasicView<Void> array, List places = {})  // NOLINT: a view may have no list
      : view(std::move(array)), list(places) {}
  template <std::same_as<std::remove_const_t<Void>> Other>
  BasicListedView(const BasicView<Other>& array)  // NOLINT: converts on purpose
      : view(array) {}
  template <std::same_as<std::remove_const_t<Void>> Other>
  BasicListedView(const BasicListedView<Other>& other)  // NOLINT: converts on purpose
      : view(other.view), list(other.list) {}
};

using ListedView = BasicListedView<void>;
using ConstListedView = BasicListedView<const void>;

/// The arrays at `pointers`, each with this shape and these strides, as one view whose axis 0
/// counts them.
template <class Void>
BasicListedView<Void> listed(Void* const* pointers, std::int64_t count,
                             const BasicView<Void>& one) {
  BasicView<Void> all = one;
  all.data = nullptr;
  all.shape.insert(all.shape.begin(), count);
  all.strides.insert(all.strides.begin(), 0);
  return {std::move(all), {.places = Places::pointers, .table = pointers}};
}

/// The entries of `pool` along `axis` that `indices` name, in that order: NumPy's take().
template <class Void, class Index>
BasicListedView<Void> indexed(BasicView<Void> pool, int axis, const Index* indices,
                              std::int64_t count) {
  static_assert(std::is_integral_v<Index> && (sizeof(Index) == 4 || sizeof(Index) == 8));
  std::int64_t& extent = pool.shape.at(static_cast<std::size_t>(axis));
  const List list{.places = sizeof(Index) == 4 ? Places::i32 : Places::i64,
                  .table = indices,
                  .axis = axis,
                  .count = std::exchange(extent, count)};
  return {std::move(pool), list};
}

/// Sets dst[i] = src[i] for every index i, with `epilogue`. Either side may have a list, or both:
/// of one axis, or of two. The scale and the bias of an epilogue belong to no axis with a list, and
/// rounding is not stochastic. Throws where an entry of a table is out of range, where two entries
/// of a destination are equal, or where a pointer is null in a destination, if Options::lists asks
/// for the check.
CT_API void copy(const ListedView& dst, const ConstListedView& src, const Epilogue& epilogue = {},
                 const Options& options = {});

/// The plan that such a copy finds and runs. It does not depend on what is in the tables, whose
/// pointers may be null.
CT_API Plan make_plan(const ListedView& dst, const ConstListedView& src,
                      const Epilogue& epilogue = {}, const Options& options = {});

}  // namespace cornerturn
