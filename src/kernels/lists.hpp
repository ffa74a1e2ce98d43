// Tables of places, as kernels of a GPU read them.
#pragma once

#include <cstdint>
#include <limits>

#include "kernels/context.hpp"

namespace cornerturn::kernels {

/// Where the steps of a list lie on one side.
struct ListSide {
  enum class Kind : std::uint8_t { steps, narrow, wide };  ///< none, 32 bits, 64 bits an entry

  const void* table = nullptr;
  std::int64_t stride = 0;  ///< bytes a step or an index; of pointers 1
  std::int64_t base = 0;    ///< of pointers: the address from which their offsets are counted
  Kind kind = Kind::steps;
  bool null_is_missing = false;  ///< entries are pointers; else negative ones are missing

  /// The offset of a step where there is nothing.
  static constexpr std::int64_t nothing = std::numeric_limits<std::int64_t>::min();

  /// Bytes from the side's first element to those of steps `k`. Nothing is read where `inside` is
  /// not set. All entries are on their way before the first one is looked at.
  template <int N, class Ctx>
  CT_DEVICE void offsets(Ctx& ctx, const std::uint32_t (&k)[N], const bool (&inside)[N],
                         std::int64_t (&offset)[N]) const {
    if (kind == Kind::narrow) {
      const auto* const entries = static_cast<const std::uint32_t*>(table);
      std::uint32_t entry[N];
      CT_UNROLL
      for (int i = 0; i < N; ++i) entry[i] = ctx.load_if(inside[i], entries + k[i]);
      CT_UNROLL
      for (int i = 0; i < N; ++i) offset[i] = static_cast<std::int32_t>(entry[i]);
    } else if (kind == Kind::wide) {
      const auto* const entries = static_cast<const std::uint64_t*>(table);
      std::uint64_t entry[N];
      CT_UNROLL
      for (int i = 0; i < N; ++i) entry[i] = ctx.load_if(inside[i], entries + k[i]);
      CT_UNROLL
      for (int i = 0; i < N; ++i) offset[i] = static_cast<std::int64_t>(entry[i]);
    } else {
      CT_UNROLL
      for (int i = 0; i < N; ++i) offset[i] = k[i];
    }
    CT_UNROLL
    for (int i = 0; i < N; ++i) {
      const bool missing = null_is_missing ? offset[i] == 0 : offset[i] < 0;
      offset[i] = missing ? nothing : offset[i] * stride - base;
    }
  }

  /// What lies so many bytes behind `first`. A step with nothing has no place: none is looked at.
  template <class V>
  CT_DEVICE static V* behind(V* first, std::int64_t bytes) {
    // NOLINTNEXTLINE(performance-no-int-to-ptr): there may be no place
    return reinterpret_cast<V*>(reinterpret_cast<std::uintptr_t>(first) +
                                static_cast<std::uintptr_t>(bytes));
  }

  /// That of one step.
  template <class Ctx>
  CT_DEVICE std::int64_t offset(Ctx& ctx, std::uint32_t k) const {
    const std::uint32_t one[] = {k};
    const bool inside[] = {true};
    std::int64_t offset[1];
    offsets(ctx, one, inside, offset);
    return offset[0];
  }
};

}  // namespace cornerturn::kernels
