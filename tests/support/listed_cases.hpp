// Random problems with lists, and what they should do: every kind of table on either side, entries
// where there is nothing, and arrays that begin anywhere.
#pragma once

#include <algorithm>
#include <cstring>
#include <numeric>
#include <random>
#include <vector>

#include "core/buffers.hpp"
#include "core/lists.hpp"
#include "core/validate.hpp"
#include "cornerturn/lists.hpp"

namespace cornerturn::test::listed {

inline constexpr std::byte poison{0xA5};

// One side of a problem: its memory, and its view.
struct Side {
  std::vector<std::vector<std::byte>> memory;  ///< one, or one for each pointer
  std::vector<std::int32_t> small;
  std::vector<std::int64_t> wide;
  std::vector<void*> pointers;
  Extents shape, strides;
  List list;
  void* data = nullptr;
  std::size_t phase = 0;

  // Where an element lies; null: there is none.
  std::byte* at(const Extents& index) const {
    std::int64_t offset = 0;
    auto* base = static_cast<std::byte*>(data);
    for (std::size_t i = 0; i < index.size(); ++i) {
      std::int64_t k = index[i];
      if (list.places != Places::strides && static_cast<int>(i) == list.axis) {
        k = entry_of(list.places, list.table, k);
        if (list.places == Places::pointers) {
          if (k == 0) return nullptr;
          base = reinterpret_cast<std::byte*>(k);
          continue;
        }
        if (k < 0) return nullptr;
      }
      offset += k * strides[i];
    }
    return base + offset;
  }
};

class Cases {
 public:
  explicit Cases(std::uint64_t seed) : random_(seed) {}

  /// Arrays of rows that begin and end at multiples of 16 elements, from here on, or any.
  bool in_rows = false;
  bool turned = false;  ///< and the last two axes the other way round in memory

  std::int64_t uniform(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random_);
  }
  bool chance(double p) { return std::bernoulli_distribution(p)(random_); }

  Extents shape() {
    Extents shape(static_cast<std::size_t>(uniform(1, 4)));
    std::int64_t left = 6'000;
    for (std::int64_t& extent : shape) {
      extent = uniform(1, std::max<std::int64_t>(1, std::min<std::int64_t>(left, 90)));
      left /= extent;
    }
    std::shuffle(shape.begin(), shape.end(), random_);
    if (in_rows) shape.push_back(16 * uniform(1, 5));
    return shape;
  }

  // Packed strides in a random order of the axes, now and then with a gap.
  Extents strides(const Extents& shape, std::int64_t size) {
    std::vector<std::size_t> order(shape.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::shuffle(order.begin(), order.end() - (in_rows ? 1 : 0), random_);
    if (in_rows) std::reverse(order.begin(), order.end());
    if (turned) std::swap(order[0], order[1]);
    Extents strides(shape.size());
    std::int64_t next = size;
    for (const std::size_t i : order) {
      strides[i] = next;
      next *= shape[i];
      if (chance(0.2)) next += size * uniform(1, 9) * (in_rows ? 16 : 1);
    }
    return strides;
  }

  Side side(const Extents& shape, std::int64_t size, Places places, int axis, bool is_dst) {
    Side side;
    side.shape = shape;
    side.list.places = places;
    side.list.axis = axis;
    const auto listed = static_cast<std::size_t>(axis);
    const std::int64_t entries = shape[listed];
    Extents pool = shape;
    if (places == Places::pointers) pool[listed] = 1;
    if (places == Places::i32 || places == Places::i64) {
      pool[listed] = side.list.count = entries + uniform(0, 5);
    }
    side.strides = strides(pool, size);
    std::int64_t bytes = size;
    for (std::size_t i = 0; i < pool.size(); ++i) bytes += (pool[i] - 1) * side.strides[i];
    const std::int64_t arrays = places == Places::pointers ? entries : 1;
    for (std::int64_t k = 0; k < arrays; ++k) {
      std::vector<std::byte> memory(static_cast<std::size_t>(bytes + 52 * size + uniform(0, 70)));
      for (std::byte& b : memory) b = is_dst ? poison : static_cast<std::byte>(random_());
      side.memory.push_back(std::move(memory));
    }
    // Where they begin is a multiple of the element, and of nothing else.
    side.phase = static_cast<std::size_t>(size * uniform(0, 3) * (in_rows ? 16 : 1));
    if (in_rows) side.list.alignment = 16;
    side.data = side.memory.front().data() + side.phase;
    fill_table(side, entries, is_dst);
    return side;
  }

 private:
  void fill_table(Side& side, std::int64_t entries, bool is_dst) {
    const bool some_missing = chance(0.3);
    const auto is_missing = [&] { return some_missing && chance(0.2); };
    if (side.list.places == Places::pointers) {
      for (auto& memory : side.memory) side.pointers.push_back(memory.data() + side.phase);
      for (void*& pointer : side.pointers) {
        if (!is_dst && is_missing()) pointer = nullptr;
      }
      side.list.table = side.pointers.data();
      side.strides[static_cast<std::size_t>(side.list.axis)] = 0;
      side.data = nullptr;
      return;
    }
    if (side.list.places == Places::strides) return;
    std::vector<std::int64_t> indices(static_cast<std::size_t>(side.list.count));
    std::iota(indices.begin(), indices.end(), 0);
    std::shuffle(indices.begin(), indices.end(), random_);
    indices.resize(static_cast<std::size_t>(entries));
    for (std::int64_t& index : indices) {
      if (is_missing()) index = -1;
    }
    side.wide = indices;
    side.small.assign(indices.begin(), indices.end());
    side.list.table = side.list.places == Places::i32 ? static_cast<void*>(side.small.data())
                                                      : static_cast<void*>(side.wide.data());
  }

  std::mt19937_64 random_;
};

template <class Use>
void for_each_index(const Extents& shape, const Use& use) {
  Extents index(shape.size());
  std::int64_t all = 1;
  for (const std::int64_t extent : shape) all *= extent;
  for (std::int64_t n = 0; n < all; ++n) {
    std::int64_t rest = n;
    for (std::size_t i = shape.size(); i-- > 0;) {
      index[i] = rest % shape[i];
      rest /= shape[i];
    }
    use(index);
  }
}

// Writes to the destination what a copy should leave there.
inline void copy_plainly(const Side& dst, const Side& src, std::size_t size) {
  for_each_index(dst.shape, [&](const Extents& index) {
    std::byte* const to = dst.at(index);
    const std::byte* const from = src.at(index);
    if (to == nullptr) return;
    if (from != nullptr) {
      std::memcpy(to, from, size);
    } else if (src.list.missing == Missing::zeros) {
      std::memset(to, 0, size);
    }
  });
}

inline void fill(Side& side, std::byte value) {
  for (auto& memory : side.memory) std::fill(memory.begin(), memory.end(), value);
}

/// The alignment of the address from which a side's places are counted; of pointers 16.
inline std::int64_t aligned(const Side& side) {
  if (side.data == nullptr) return 16;
  const auto address = reinterpret_cast<std::uintptr_t>(side.data) | 16;
  return static_cast<std::int64_t>(address & -address);
}

inline Places random_places(Cases& cases) {
  return static_cast<Places>(cases.uniform(0, 3));
}

inline bool has_missing(const Side& side) {
  for (std::int64_t k = 0; k < side.shape[static_cast<std::size_t>(side.list.axis)]; ++k) {
    if (side.list.places == Places::strides) return false;
    const std::int64_t entry = entry_of(side.list.places, side.list.table, k);
    if (side.list.places == Places::pointers ? entry == 0 : entry < 0) return true;
  }
  return false;
}

/// A problem with its memory. Two sides without a list are no such problem.
struct Case {
  Side src, dst;
  std::int64_t size = 1;
  ElementType src_type = ElementType::bytes(1), dst_type = src_type;
  Problem problem;

  bool has_list() const {
    return src.list.places != Places::strides || dst.list.places != Places::strides;
  }
  bool skips() const { return has_missing(src) || has_missing(dst); }
  ListedView to() const { return {View(dst.data, dst_type, dst.shape, dst.strides), dst.list}; }
  ConstListedView from() const {
    return {ConstView(src.data, src_type, src.shape, src.strides), src.list};
  }
  Buffers buffers() const {
    Buffers buffers;
    buffers.dst = dst.data;
    buffers.src = src.data;
    buffers.lists = {src.list.table, dst.list.table, src.list.count, dst.list.count};
    return buffers;
  }
};

/// Two lists belong to one axis unless `apart`.
inline Case random_case(Cases& cases, bool apart) {
  Case one;
  const Extents shape = cases.shape();
  one.size = std::int64_t{1} << cases.uniform(0, 4);
  const int rank = static_cast<int>(shape.size());
  const int src_axis = static_cast<int>(cases.uniform(0, rank - 1));
  const int dst_axis = apart ? static_cast<int>(cases.uniform(0, rank - 1)) : src_axis;
  one.src = cases.side(shape, one.size, random_places(cases), src_axis, false);
  one.dst = cases.side(shape, one.size, random_places(cases), dst_axis, true);
  one.src_type = one.dst_type = ElementType::bytes(static_cast<int>(one.size));
  one.src.list.missing = cases.chance(0.5) ? Missing::zeros : Missing::left;
  if (one.has_list()) one.problem = make_problem(one.to(), one.from(), Epilogue{});
  return one;
}

}  // namespace cornerturn::test::listed
