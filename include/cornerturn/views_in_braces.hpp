// Views whose extents are written in braces, of any integral type: view(data, {n, h, w, c}) where
// these are of std::size_t, say.
#pragma once

#include <concepts>
#include <initializer_list>

#include "cornerturn/view.hpp"

namespace cornerturn {

/// As view() in view.hpp. What no std::int64_t holds becomes a negative extent, which is refused.
template <class T, std::integral Integer>
auto view(T* data, std::initializer_list<Integer> shape) {
  return view(data, Extents(shape.begin(), shape.end()));
}

template <class T, std::integral Integer, std::integral Stride>
auto view(T* data, std::initializer_list<Integer> shape,
          std::initializer_list<Stride> element_strides) {
  return view(data, Extents(shape.begin(), shape.end()),
              Extents(element_strides.begin(), element_strides.end()));
}

}  // namespace cornerturn
