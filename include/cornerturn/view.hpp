// A view describes a strided array in memory: where it starts, the type of its elements, its shape
// and its strides.
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <type_traits>
#include <vector>

#include "cornerturn/element_type.hpp"
#include "cornerturn/export.hpp"

namespace cornerturn {

using Extents = std::vector<std::int64_t>;

/// Returns the strides, in bytes, of a packed array of `shape` whose last index is the fastest
/// (row-major). Throws when the size does not fit in 64 bits.
CT_API Extents packed_strides(const Extents& shape, int element_size);

/// Returns `values` in the order `permutation`: result[i] = values[permutation[i]]. Throws unless
/// `permutation` names every axis once.
CT_API Extents permuted(const Extents& values, std::span<const int> permutation);

/// A view does not own its memory. `strides` are in bytes, one for each extent of `shape`. They may
/// be negative, and zero in a source, where the element is then repeated. Element (i0, i1, ...)
/// lies at the address data + i0 * strides[0] + i1 * strides[1] + ...
template <class Void>
struct BasicView {
  Void* data = nullptr;
  ElementType type{Kind::u8};
  Extents shape;
  Extents strides;

  /// A view of a packed row-major array.
  BasicView(Void* start, ElementType element, Extents extents)
      : data(start),
        type(element),
        shape(std::move(extents)),
        strides(packed_strides(shape, type.size())) {}

  /// A view with any strides, in bytes.
  BasicView(Void* start, ElementType element, Extents extents, Extents byte_strides)
      : data(start), type(element), shape(std::move(extents)), strides(std::move(byte_strides)) {}

  /// A view of what may be written can be read.
  template <std::same_as<std::remove_const_t<Void>> Other>
  BasicView(const BasicView<Other>& other)  // NOLINT: converts on purpose
      : data(other.data), type(other.type), shape(other.shape), strides(other.strides) {}

  /// This memory with its axes in another order: result.shape[i] = shape[permutation[i]].
  BasicView permuted(std::span<const int> permutation) const {
    return BasicView(data, type, cornerturn::permuted(shape, permutation),
                     cornerturn::permuted(strides, permutation));
  }
  BasicView permuted(std::initializer_list<int> permutation) const {
    return permuted(std::span<const int>(permutation.begin(), permutation.size()));
  }
};

using View = BasicView<void>;
using ConstView = BasicView<const void>;

/// A packed row-major view of `data`; the element type follows from T.
template <class T>
auto view(T* data, Extents shape) {
  using Void = std::conditional_t<std::is_const_v<T>, const void, void>;
  return BasicView<Void>(data, ElementType::of<std::remove_const_t<T>>(), std::move(shape));
}

/// A view with strides counted in elements of T.
template <class T>
auto view(T* data, Extents shape, Extents element_strides) {
  using Void = std::conditional_t<std::is_const_v<T>, const void, void>;
  for (std::int64_t& stride : element_strides) stride *= static_cast<std::int64_t>(sizeof(T));
  return BasicView<Void>(data, ElementType::of<std::remove_const_t<T>>(), std::move(shape),
                         std::move(element_strides));
}

}  // namespace cornerturn
