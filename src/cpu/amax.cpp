#include "cpu/amax.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <vector>

#include "core/divide.hpp"
#include "core/memory_order.hpp"
#include "cpu/parallel.hpp"
#include "values/magnitude.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/amax.cpp"
#include <hwy/foreach_target.h>
//
#include <hwy/highway.h>

#ifndef CORNERTURN_CPU_AMAX_TYPES
#define CORNERTURN_CPU_AMAX_TYPES

namespace cornerturn::cpu {
namespace {

/// Rows of elements a step apart. Steps are in bytes.
struct Rows {
  const std::byte* data = nullptr;
  std::int64_t count = 0;
  std::int64_t step = 0;
  std::int64_t rows = 1;
  std::int64_t row_step = 0;
};

}  // namespace
}  // namespace cornerturn::cpu

#endif

HWY_BEFORE_NAMESPACE();
namespace cornerturn::cpu {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

template <class T, class D>
HWY_INLINE hn::Vec<D> magnitudes(D d, const std::byte* from) {
  using Bits = hn::TFromD<D>;
  const auto v = hn::LoadU(d, reinterpret_cast<const Bits*>(from));
  if constexpr (values::magnitude_rule<T> == values::Magnitude::signless) {
    return hn::And(v, hn::Set(d, static_cast<Bits>(hwy::LimitsMax<Bits>() >> 1)));
  } else if constexpr (values::magnitude_rule<T> == values::Magnitude::absolute) {
    return hn::BitCast(d, hn::Abs(hn::BitCast(hn::RebindToSigned<D>(), v)));
  } else {
    return v;
  }
}

template <class T>
std::uint64_t largest(const Rows& rows) {
  using Bits = hwy::UnsignedFromSize<sizeof(T)>;
  constexpr auto size = static_cast<std::int64_t>(sizeof(T));
  const hn::ScalableTag<Bits> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  // Four, so that no maximum waits for the one before.
  auto most0 = hn::Zero(d), most1 = most0, most2 = most0, most3 = most0;
  Bits most = 0;
  for (std::int64_t row = 0; row < rows.rows; ++row) {
    const std::byte* const from = rows.data + row * rows.row_step;
    std::int64_t i = 0;
    if (rows.step == size) {
      for (; i + 4 * lanes <= rows.count; i += 4 * lanes) {
        const std::byte* const at = from + i * size;
        most0 = hn::Max(most0, magnitudes<T>(d, at));
        most1 = hn::Max(most1, magnitudes<T>(d, at + lanes * size));
        most2 = hn::Max(most2, magnitudes<T>(d, at + 2 * lanes * size));
        most3 = hn::Max(most3, magnitudes<T>(d, at + 3 * lanes * size));
      }
      for (; i + lanes <= rows.count; i += lanes) {
        most0 = hn::Max(most0, magnitudes<T>(d, from + i * size));
      }
    }
    for (; i < rows.count; ++i) {
      T value;
      std::memcpy(&value, from + i * rows.step, sizeof value);
      most = std::max(most, values::magnitude_bits(value));
    }
  }
  Bits each[HWY_MAX_BYTES / sizeof(Bits)];
  hn::StoreU(hn::Max(hn::Max(most0, most1), hn::Max(most2, most3)), d, each);
  for (std::int64_t i = 0; i < lanes; ++i) most = std::max(most, each[i]);
  return most;
}

std::uint64_t largest_of_kind(Kind kind, const Rows& rows) {
  return values::with_kind(kind, [&](auto type) -> std::uint64_t {
    using T = typename decltype(type)::type;
    if constexpr (!values::is_complex<T>) return largest<T>(rows);
    return 0;
  });
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace cornerturn::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cornerturn::cpu {
namespace {

HWY_EXPORT(largest_of_kind);

constexpr std::int64_t piece_bytes = 256 << 10;

// An array cut into pieces of some rows, in the order of the memory.
class Pieces {
 public:
  Pieces(const MemoryOrder& order, std::int64_t size) : data_(order.first) {
    const std::int64_t most = piece_bytes / size;
    std::int64_t elements = 1;
    for (const MemoryAxis& axis : order.axes) {
      const bool in_rows = axes_.size() < 2;
      const std::int64_t at_once =
          in_rows ? std::clamp(most / elements, std::int64_t{1}, axis.extent) : 1;
      axes_.push_back(axis);
      at_once_.push_back(at_once);
      elements *= at_once;
      count_ *= ceil_div(axis.extent, at_once);
    }
    while (axes_.size() < 2) {
      axes_.push_back({1, size});
      at_once_.push_back(1);
    }
  }

  std::int64_t count() const { return count_; }

  Rows piece(std::int64_t index) const {
    Rows rows{data_, 0, axes_[0].stride, 0, axes_[1].stride};
    for (std::size_t i = 0; i < axes_.size(); ++i) {
      const std::int64_t steps = ceil_div(axes_[i].extent, at_once_[i]);
      const std::int64_t first = index % steps * at_once_[i];
      index /= steps;
      rows.data += first * axes_[i].stride;
      const std::int64_t extent = std::min(at_once_[i], axes_[i].extent - first);
      if (i == 0) rows.count = extent;
      if (i == 1) rows.rows = extent;
    }
    return rows;
  }

 private:
  const std::byte* data_;
  std::vector<MemoryAxis> axes_;
  Extents at_once_;
  std::int64_t count_ = 1;
};

}  // namespace

double amax(const std::byte* data, ElementType type, const Extents& shape, const Extents& strides,
            int threads) {
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return 0;
  const Pieces pieces(memory_order(data, shape, strides), type.size());
  std::atomic<std::uint64_t> most{0};
  const auto find = [&](std::int64_t first, std::int64_t last) {
    std::uint64_t found = 0;
    for (std::int64_t i = first; i < last; ++i) {
      found = std::max(found, HWY_DYNAMIC_DISPATCH(largest_of_kind)(type.kind(), pieces.piece(i)));
    }
    std::uint64_t known = most.load();
    while (known < found && !most.compare_exchange_weak(known, found)) {
    }
  };
  const std::int64_t grain = std::max<std::int64_t>(1, pieces.count() / (threads * 8L));
  if (threads == 1) {
    find(0, pieces.count());
  } else {
    parallel_ranges(threads, pieces.count(), grain, find);
  }
  return values::magnitude_number(type.kind(), most.load());
}

}  // namespace cornerturn::cpu
#endif
