// The steps by which vectors are put together from bytes of others: see VectorKind. Included once
// for each vector target.
#if defined(CORNERTURN_CPU_LINE_STEPS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef CORNERTURN_CPU_LINE_STEPS_INL
#undef CORNERTURN_CPU_LINE_STEPS_INL
#else
#define CORNERTURN_CPU_LINE_STEPS_INL
#endif

#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "cpu/line_recipe.hpp"
#include "cpu/stream-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace cornerturn::cpu::HWY_NAMESPACE {

#if HWY_TARGET == HWY_SCALAR

constexpr VectorKind vector_kind = {16, false};

struct Vector {
  std::uint8_t byte[16];
};

inline Vector load(const std::byte* from) {
  Vector vector;
  std::memcpy(&vector, from, 16);
  return vector;
}
inline Vector next_step(Vector joined, Vector loaded, Vector index) {
  for (int i = 0; i < 16; ++i) {
    if (index.byte[i] < 16) joined.byte[i] = loaded.byte[index.byte[i]];
  }
  return joined;
}
inline Vector first_step(Vector loaded, Vector index) {
  return next_step({}, loaded, index);
}
template <bool>
inline void store(Vector joined, std::byte* to) {
  std::memcpy(to, &joined, 16);
}

#else

#if HWY_TARGET == HWY_AVX3_DL
constexpr VectorKind vector_kind = {64, true};
#else
constexpr VectorKind vector_kind = {16, false};
#endif

constexpr hn::FixedTag<std::uint8_t, vector_kind.bytes> tag;
using Vector = hn::Vec<decltype(tag)>;

HWY_INLINE Vector load(const std::byte* from) {
  return hn::LoadU(tag, reinterpret_cast<const std::uint8_t*>(from));
}
template <bool non_temporal>
HWY_INLINE void store(Vector joined, std::byte* to) {
  store_vector<non_temporal>(tag, joined, reinterpret_cast<std::uint8_t*>(to));
}

#if HWY_TARGET == HWY_AVX3_DL
HWY_INLINE Vector first_step(Vector loaded, Vector) {
  return loaded;
}
HWY_INLINE Vector next_step(Vector joined, Vector loaded, Vector index) {
  return Vector{_mm512_permutex2var_epi8(joined.raw, index.raw, loaded.raw)};
}
#else
HWY_INLINE Vector first_step(Vector loaded, Vector index) {
  return hn::TableLookupBytesOr0(loaded, index);
}
HWY_INLINE Vector next_step(Vector joined, Vector loaded, Vector index) {
  return hn::Or(joined, first_step(loaded, index));
}
#endif
#endif

HWY_INLINE Vector load_index(const std::uint8_t* index) {
  return load(reinterpret_cast<const std::byte*>(index));
}
constexpr int vector_bytes = vector_kind.bytes;

}  // namespace cornerturn::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
