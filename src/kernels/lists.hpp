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
  std::int64_t stride = 0;  ///< bytes a step or an index; of pointers 1, from address 0
  Kind kind = Kind::steps;
  bool null_is_missing = false;  ///< entries are pointers; else negative ones are missing

  /// The offset of a step where there is nothing.
  static constexpr std::int64_t nothing = std::numeric_limits<std::int64_t>::min();

  /// Bytes from the side's first element to that of step `k`. Nothing is read where `inside` is
  /// not set.
  template <class Ctx>
  CT_DEVICE std::int64_t offset(Ctx& ctx, std::uint32_t k, bool inside) const {
    std::int64_t entry = k;
    if (kind == Kind::narrow) {
      entry = static_cast<std::int32_t>(
          ctx.load_if(inside, static_cast<const std::uint32_t*>(table) + k));
    } else if (kind == Kind::wide) {
      entry = static_cast<std::int64_t>(
          ctx.load_if(inside, static_cast<const std::uint64_t*>(table) + k));
    }
    const bool missing = null_is_missing ? entry == 0 : entry < 0;
    return missing ? nothing : entry * stride;
  }
};

}  // namespace cornerturn::kernels
