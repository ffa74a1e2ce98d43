// amax: one maximum over the bits of |x|, a piece after the other.
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>

#include "core/divide.hpp"
#include "cpu/kernel.hpp"
#include "plan/cpu/amax.hpp"
#include "values/magnitude.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/amax.cpp"
#include <hwy/foreach_target.h>
//
#include <hwy/highway.h>

#include "cpu/byte_order-inl.hpp"

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

template <class T, bool swapped, class D>
HWY_INLINE hn::Vec<D> magnitudes(D d, const std::byte* from) {
  using Bits = hn::TFromD<D>;
  auto v = hn::LoadU(d, reinterpret_cast<const Bits*>(from));
#if HWY_TARGET != HWY_SCALAR
  if constexpr (swapped) v = with_bytes_swapped<sizeof(Bits)>(d, v);
#endif
  if constexpr (values::magnitude_rule<T> == values::Magnitude::signless) {
    return hn::And(v, hn::Set(d, static_cast<Bits>(hwy::LimitsMax<Bits>() >> 1)));
  } else if constexpr (values::magnitude_rule<T> == values::Magnitude::absolute) {
    return hn::BitCast(d, hn::Abs(hn::BitCast(hn::RebindToSigned<D>(), v)));
  } else {
    return v;
  }
}

template <class T, bool swapped>
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
    if (rows.step == size && (HWY_TARGET != HWY_SCALAR || !swapped)) {
      for (; i + 4 * lanes <= rows.count; i += 4 * lanes) {
        const std::byte* const at = from + i * size;
        most0 = hn::Max(most0, magnitudes<T, swapped>(d, at));
        most1 = hn::Max(most1, magnitudes<T, swapped>(d, at + lanes * size));
        most2 = hn::Max(most2, magnitudes<T, swapped>(d, at + 2 * lanes * size));
        most3 = hn::Max(most3, magnitudes<T, swapped>(d, at + 3 * lanes * size));
      }
      for (; i + lanes <= rows.count; i += lanes) {
        most0 = hn::Max(most0, magnitudes<T, swapped>(d, from + i * size));
      }
    }
    for (; i < rows.count; ++i) {
      Bits bits;
      std::memcpy(&bits, from + i * rows.step, sizeof bits);
      if constexpr (swapped) bits = static_cast<Bits>(values::bytes_swapped(bits, sizeof bits));
      most = std::max(most, values::magnitude_bits(values::bits_as<T>(bits)));
    }
  }
  Bits each[HWY_MAX_BYTES / sizeof(Bits)];
  hn::StoreU(hn::Max(hn::Max(most0, most1), hn::Max(most2, most3)), d, each);
  for (std::int64_t i = 0; i < lanes; ++i) most = std::max(most, each[i]);
  return most;
}

std::uint64_t largest_of_kind(ValueType type, const Rows& rows) {
  return values::with_kind(type.kind, [&](auto of_kind) -> std::uint64_t {
    using T = typename decltype(of_kind)::type;
    if constexpr (values::is_complex<T>) {
      return 0;
    } else if constexpr (sizeof(T) == 1) {
      return largest<T, false>(rows);
    } else {
      return type.swapped ? largest<T, true>(rows) : largest<T, false>(rows);
    }
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

// The pieces of an array: the modes of their rows first, from the last one on.
class Pieces {
 public:
  Pieces(const plan::AmaxConfig& config, const Problem& normal)
      : config_(config), modes_(normal.modes) {
    for (int i = 0; i < modes_.size(); ++i) count_ *= steps(i);
  }

  std::int64_t count() const { return count_; }

  Rows piece(std::int64_t index, const std::byte* data) const {
    Rows rows{data, 1, 0, 1, 0};
    for (int i = modes_.size(); i-- > 0;) {
      const Mode& mode = modes_[i];
      const std::int64_t first = index % steps(i) * at_once(i);
      index /= steps(i);
      rows.data += first * mode.src_stride;
      const std::int64_t extent = std::min(at_once(i), mode.extent - first);
      if (i == modes_.size() - 1) {
        rows.count = extent;
        rows.step = mode.src_stride;
      } else if (i == modes_.size() - 2) {
        rows.rows = extent;
        rows.row_step = mode.src_stride;
      }
    }
    return rows;
  }

 private:
  std::int64_t at_once(int i) const {
    const int from_last = modes_.size() - 1 - i;
    return from_last == 0 ? config_.row : from_last == 1 ? config_.rows : 1;
  }
  std::int64_t steps(int i) const { return ceil_div(modes_[i].extent, at_once(i)); }

  const plan::AmaxConfig& config_;
  const ModeList& modes_;
  std::int64_t count_ = 1;
};

std::int64_t pieces(const plan::AmaxConfig& config, const Problem& normal) {
  return Pieces(config, normal).count();
}

void run(const plan::AmaxConfig& config, const Problem& normal, const Buffers& buffers,
         std::int64_t first, std::int64_t last) {
  const Pieces pieces(config, normal);
  const auto* const data = static_cast<const std::byte*>(buffers.src);
  std::uint64_t found = 0;
  for (std::int64_t i = first; i < last; ++i) {
    found = std::max(found, HWY_DYNAMIC_DISPATCH(largest_of_kind)(value_type(normal.src_type),
                                                                  pieces.piece(i, data)));
  }
  const std::atomic_ref<std::uint64_t> most(*static_cast<std::uint64_t*>(buffers.dst));
  std::uint64_t known = most.load(std::memory_order_relaxed);
  while (known < found && !most.compare_exchange_weak(known, found, std::memory_order_relaxed)) {
  }
}

}  // namespace

extern const Kernel amax_kernel = kernel_in_pieces<plan::AmaxConfig, pieces, run>;

}  // namespace cornerturn::cpu
#endif
