// In which order a lane of pack reads the elements of a unit. Where lanes would all meet a few
// banks, some begin with another element of their units, and put the elements in their order in
// registers.
#pragma once

#include <cstdint>

#include "kernels/casts.hpp"
#include "kernels/pack_args.hpp"

namespace cornerturn::kernels {

/// For units of W elements.
template <class Change, int W>
struct PackOrder {
  using Src = typename Change::Src;
  using Dst = typename Change::Dst;
  using Unit = PackedWords<Dst, W>;
  static constexpr int size = static_cast<int>(sizeof(Dst));

  /// The places of the elements of a unit, from another one on.
  CT_DEVICE static void rotate(int (&from)[W], unsigned rotation) {
    CT_UNROLL
    for (int bit = W / 2; bit > 0; bit /= 2) {
      const bool other = (rotation & static_cast<unsigned>(bit)) != 0;
      int was[W];
      CT_UNROLL
      for (int k = 0; k < W; ++k) was[k] = from[k];
      CT_UNROLL
      for (int k = 0; k < W; ++k) from[k] = other ? was[(k + bit) % W] : was[k];
    }
  }
  /// A unit of the elements of such a lane, in their order.
  CT_DEVICE static Unit unit_of(const PackArgs& a, const Src (&elements)[W], unsigned rotation) {
    if constexpr (W == 4 && size <= 2 && !changes_values<Change>) {
      constexpr std::uint32_t pair = size == 1 ? 0x40 : 0x5410;
      const std::uint32_t low = byte_permute(elements[0], elements[1], pair);
      const std::uint32_t high = byte_permute(elements[2], elements[3], pair);
      const std::uint32_t order = order_of(rotation);
      if constexpr (size == 1) {
        return {byte_permute(low, high, order)};
      } else {
        return {byte_permute(low, high, order), byte_permute(low, high, order >> 16)};
      }
    } else {
      const Unit unit = change<Change>(a, elements);
      return a.rotation_shift == PackArgs::no_rotation ? unit : rotated_back(unit, rotation);
    }
  }
  /// Which of the bytes of two halves of a unit come one after the other.
  CT_DEVICE static std::uint32_t order_of(unsigned rotation) {
    if constexpr (size == 1) return 0x54105410U >> (16 - 4 * rotation);
    return static_cast<std::uint32_t>(0x7654321076543210U >> (32 - 8 * rotation));
  }
  CT_DEVICE static Unit rotated_back(const Unit& unit, unsigned rotation) {
    if constexpr (W < 4) {
      return unit;
    } else if constexpr (size == 1) {
      return {byte_permute(unit[0], unit[0], 0x32103210U >> (16 - 4 * rotation))};
    } else if constexpr (size == 2) {
      const std::uint32_t order = order_of(rotation);
      return {byte_permute(unit[0], unit[1], order), byte_permute(unit[0], unit[1], order >> 16)};
    } else {
      return rotated_words(unit, rotation);
    }
  }
};

}  // namespace cornerturn::kernels
