// CuTe's layout algebra: coalesce, composition, complement, division and product, inverses. Results
// are written as pycute writes them. Where no layout is the answer, an Error says which rule broke;
// pycute answers some of these wrongly. Strides that are divided must not be negative. An index
// that is beyond a layout goes on in its last mode of more than one index.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>

#include "maps/layout.hpp"

namespace cornerturn {

/// The same map from indices with as few modes as possible.
constexpr Layout coalesce(const Layout& layout) {
  detail::FlatModes modes;
  for (int i = 0; i < layout.leaves; ++i) {
    const Layout::Leaf& next = layout.leaf[i];
    if (next.extent == 1) continue;
    Layout::Leaf* last = modes.count > 0 ? &modes.leaf[modes.count - 1] : nullptr;
    if (last != nullptr && last->extent * last->stride == next.stride) {
      last->extent *= next.extent;
    } else {
      modes.add(next.extent, next.stride);
    }
  }
  return modes.layout();
}

namespace detail {

/// How far all modes of b together go in each mode of a, in a o b.
struct Reach {
  std::int64_t last[Layout::max_leaves] = {};
};

/// a o (extent:stride), a coalesced.
constexpr Layout compose_leaf(const Layout& a, std::int64_t extent, std::int64_t stride,
                              Reach& reach) {
  if (stride == 0) return make_leaf(extent, 0);
  if (stride < 0) {
    throw Error(Status::invalid_argument, "composition: stride " + std::to_string(stride) +
                                              " of the second layout is negative");
  }
  FlatModes modes;
  std::int64_t rest_extent = extent;
  std::int64_t rest_stride = stride;
  for (int i = 0; i < a.leaves - 1; ++i) {
    const Layout::Leaf& mode = a.leaf[i];
    if (mode.extent % rest_stride != 0 && rest_stride % mode.extent != 0) {
      throw Error(Status::invalid_argument, "composition: neither of stride " +
                                                std::to_string(rest_stride) + " and extent " +
                                                std::to_string(mode.extent) + " divides the other");
    }
    const std::int64_t left = mode.extent / rest_stride;
    std::int64_t taken = left > 1 ? left : 1;
    if (taken > rest_extent) taken = rest_extent;
    if (rest_extent % taken != 0) {
      throw Error(Status::invalid_argument, "composition: extent " + std::to_string(rest_extent) +
                                                " is no multiple of the " + std::to_string(taken) +
                                                " steps left in a mode of the first layout");
    }
    if (taken != 1) modes.add(taken, rest_stride * mode.stride);
    reach.last[i] += (taken - 1) * rest_stride;
    rest_extent /= taken;
    rest_stride = (rest_stride + mode.extent - 1) / mode.extent;
  }
  if (rest_extent != 1 || modes.count == 0) {
    modes.add(rest_extent, rest_stride * a.leaf[a.leaves - 1].stride);
  }
  return modes.layout();
}

constexpr Layout compose_coalesced(const Layout& a, const Layout& b, Reach& reach) {
  if (!b.is_tuple()) return compose_leaf(a, b.leaf[0].extent, b.leaf[0].stride, reach);
  TupleBuilder builder;
  for (int i = 0; i < b.rank(); ++i) builder.add(compose_coalesced(a, b.mode(i), reach));
  return builder.layout();
}

}  // namespace detail

/// a o b: i -> a(b(i)), with b's coordinates.
constexpr Layout composition(const Layout& a, const Layout& b) {
  const Layout first = coalesce(a);
  detail::Reach reach;
  const Layout result = detail::compose_coalesced(first, b, reach);
  for (int i = 0; i < first.leaves - 1; ++i) {
    if (reach.last[i] < first.leaf[i].extent) continue;
    throw Error(Status::invalid_argument,
                "composition: the modes of the second layout together reach index " +
                    std::to_string(reach.last[i]) + " in a mode of the first with extent " +
                    std::to_string(first.leaf[i].extent) + ": no layout carries");
  }
  return result;
}

/// What has to stand beside `layout` to reach every offset below `target`, each from one offset of
/// `layout` alone.
constexpr Layout complement(const Layout& layout, std::int64_t target = 1) {
  detail::FlatModes sorted;  // by stride, then by extent
  for (int i = 0; i < layout.leaves; ++i) {
    const Layout::Leaf& leaf = layout.leaf[i];
    if (leaf.stride == 0 || leaf.extent == 1) continue;
    sorted.add(leaf.extent, leaf.stride);
    for (int j = sorted.count - 1; j > 0; --j) {
      Layout::Leaf& low = sorted.leaf[j - 1];
      Layout::Leaf& high = sorted.leaf[j];
      if (low.stride < high.stride || (low.stride == high.stride && low.extent <= high.extent))
        break;
      const Layout::Leaf kept = low;
      low = high;
      high = kept;
    }
  }
  detail::FlatModes modes;
  std::int64_t reached = 1;
  for (int i = 0; i < sorted.count; ++i) {
    const Layout::Leaf& leaf = sorted.leaf[i];
    if (leaf.stride < reached) {
      throw Error(Status::invalid_argument, "complement: stride " + std::to_string(leaf.stride) +
                                                " is less than " + std::to_string(reached) +
                                                ", the reach of the modes with smaller strides");
    }
    if (leaf.stride % reached != 0) {
      throw Error(Status::invalid_argument, "complement: stride " + std::to_string(leaf.stride) +
                                                " is no multiple of " + std::to_string(reached) +
                                                ", the reach of the modes with smaller strides");
    }
    modes.add(leaf.stride / reached, reached);
    reached = leaf.extent * leaf.stride;
  }
  modes.add((target + reached - 1) / reached, reached);
  return coalesce(modes.layout());
}

/// r with layout(r(i)) = i for every i below its size: as far as modes follow each other.
constexpr Layout right_inverse(const Layout& layout) {
  detail::FlatModes modes;
  std::int64_t reached = 1;
  while (true) {
    std::int64_t before = 1;  // how far apart a mode's neighbours are in the layout's indices
    std::int64_t extent = 0;
    std::int64_t stride = 0;
    for (int i = 0; i < layout.leaves; ++i) {
      const Layout::Leaf& leaf = layout.leaf[i];
      if (leaf.extent != 1 && leaf.stride == reached && (extent == 0 || leaf.extent < extent)) {
        extent = leaf.extent;
        stride = before;
      }
      before *= leaf.extent;
    }
    if (extent == 0) return coalesce(modes.layout());
    modes.add(extent, stride);
    reached *= extent;
  }
}

/// l with l(layout(i)) = i, for a layout that gives no offset twice.
constexpr Layout left_inverse(const Layout& layout) {
  return right_inverse(make_layout({layout, complement(layout)}));
}

/// (tile, tiles): the tile's elements first, then what repeats it: i -> layout((tile,
/// complement)(i)).
constexpr Layout logical_divide(const Layout& layout, const Layout& tile) {
  return composition(layout, make_layout({tile, complement(tile, layout.size())}));
}

/// (block, blocks): the block, repeated as `repeat` says.
constexpr Layout logical_product(const Layout& block, const Layout& repeat) {
  return make_layout(
      {block, composition(complement(block, block.size() * repeat.cosize()), repeat)});
}

/// One tile for each of the leading modes, as in CuTe's tuples of layouts.
using Tiles = std::initializer_list<Layout>;

namespace detail {

constexpr void check_tiles(const Layout& layout, const Tiles& tiles) {
  if (static_cast<int>(tiles.size()) > layout.rank() || tiles.size() == 0) {
    throw Error(Status::invalid_argument, std::to_string(tiles.size()) +
                                              " tiles do not fit a layout of rank " +
                                              std::to_string(layout.rank()));
  }
}

template <class Split>
constexpr Layout each_mode(const Layout& layout, const Tiles& tiles, Split split) {
  check_tiles(layout, tiles);
  TupleBuilder builder;
  int i = 0;
  for (const Layout& tile : tiles) builder.add(split(layout.mode(i++), tile));
  for (; i < layout.rank(); ++i) builder.add(layout.mode(i));
  return builder.layout();
}

/// ((tile, tile, ...), (rest, rest, ..., untiled modes))
template <class Split>
constexpr Layout zipped(const Layout& layout, const Tiles& tiles, Split split) {
  check_tiles(layout, tiles);
  TupleBuilder inner;
  TupleBuilder outer;
  int i = 0;
  for (const Layout& tile : tiles) {
    const Layout both = split(layout.mode(i++), tile);
    inner.add(both.mode(0));
    outer.add(both.mode(1));
  }
  for (; i < layout.rank(); ++i) outer.add(layout.mode(i));
  return make_layout({inner.layout(), outer.layout()});
}

/// ((tile), rest, rest, ...)
constexpr Layout tiled(const Layout& zipped) {
  TupleBuilder builder;
  builder.add(zipped.mode(0));
  const Layout rest = zipped.mode(1);
  for (int i = 0; i < rest.rank(); ++i) builder.add(rest.mode(i));
  return builder.layout();
}

}  // namespace detail

constexpr Layout logical_divide(const Layout& layout, const Tiles& tiles) {
  return detail::each_mode(layout, tiles,
                           [](const Layout& l, const Layout& t) { return logical_divide(l, t); });
}
constexpr Layout zipped_divide(const Layout& layout, const Layout& tile) {
  return logical_divide(layout, tile);
}
constexpr Layout zipped_divide(const Layout& layout, const Tiles& tiles) {
  return detail::zipped(layout, tiles,
                        [](const Layout& l, const Layout& t) { return logical_divide(l, t); });
}
constexpr Layout tiled_divide(const Layout& layout, const Layout& tile) {
  return detail::tiled(zipped_divide(layout, tile));
}
constexpr Layout tiled_divide(const Layout& layout, const Tiles& tiles) {
  return detail::tiled(zipped_divide(layout, tiles));
}

constexpr Layout logical_product(const Layout& block, const Tiles& repeats) {
  return detail::each_mode(block, repeats,
                           [](const Layout& l, const Layout& t) { return logical_product(l, t); });
}
constexpr Layout zipped_product(const Layout& block, const Layout& repeat) {
  return logical_product(block, repeat);
}
constexpr Layout zipped_product(const Layout& block, const Tiles& repeats) {
  return detail::zipped(block, repeats,
                        [](const Layout& l, const Layout& t) { return logical_product(l, t); });
}
constexpr Layout tiled_product(const Layout& block, const Layout& repeat) {
  return detail::tiled(zipped_product(block, repeat));
}
constexpr Layout tiled_product(const Layout& block, const Tiles& repeats) {
  return detail::tiled(zipped_product(block, repeats));
}

}  // namespace cornerturn
