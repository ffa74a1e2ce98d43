// Vectors of elements whose bytes stand in the other order. Included once for each vector target.
#if defined(CORNERTURN_CPU_BYTE_ORDER_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef CORNERTURN_CPU_BYTE_ORDER_INL
#undef CORNERTURN_CPU_BYTE_ORDER_INL
#else
#define CORNERTURN_CPU_BYTE_ORDER_INL
#endif

#include <hwy/highway.h>

#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace cornerturn::cpu::HWY_NAMESPACE {

#if HWY_TARGET != HWY_SCALAR
// Where each byte of 16 comes from, in elements of `size` bytes.
template <int size>
struct SwappedPlaces {
  alignas(16) std::uint8_t of[16] = {};

  constexpr SwappedPlaces() {
    for (int k = 0; k < 16; ++k) of[k] = static_cast<std::uint8_t>(k ^ (size - 1));
  }
};

// Each element of `size` bytes, a power of two, with its bytes in the other order.
template <int size, class D>
HWY_INLINE hwy::HWY_NAMESPACE::Vec<D> with_bytes_swapped(D d, hwy::HWY_NAMESPACE::Vec<D> v) {
  namespace hn = hwy::HWY_NAMESPACE;
  static constexpr SwappedPlaces<size> places;
  const hn::Repartition<std::uint8_t, D> d8;
  const auto order = hn::LoadDup128(d8, places.of);
  return hn::BitCast(d, hn::TableLookupBytes(hn::BitCast(d8, v), order));
}
#endif

}  // namespace cornerturn::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
