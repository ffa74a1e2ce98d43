// Transposes a block of elements in registers, on every vector target. Included once for each.
//
// A unit is V rows of 16 bytes, where a register holds V elements: K = 16 / width columns. It is as
// long as a vector of the target, or shorter, of 16 bytes at least, where columns are. Register
// k takes its l-th 16-byte block from row l * K + k, so that only K x K elements within each block
// are left to transpose:
//
//   rows (K = 4)      registers                interleaved log2(K) times
//   a0 a1 a2 a3       a0 a1 a2 a3 | e0 e1 ..   a0 b0 c0 d0 | e0 f0 g0 h0   column 0 of all rows
//   b0 b1 b2 b3       b0 b1 b2 b3 | f0 f1 ..   a1 b1 c1 d1 | e1 f1 g1 h1   column 1
//   ..                ..
#if defined(CORNERTURN_CPU_TRANSPOSE_BLOCK_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef CORNERTURN_CPU_TRANSPOSE_BLOCK_HPP
#undef CORNERTURN_CPU_TRANSPOSE_BLOCK_HPP
#else
#define CORNERTURN_CPU_TRANSPOSE_BLOCK_HPP
#endif

#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#if defined(__clang__)
#define CT_UNROLL _Pragma("clang loop unroll(full)")
#else
#define CT_UNROLL _Pragma("GCC unroll 16")
#endif

HWY_BEFORE_NAMESPACE();
namespace cornerturn::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_SCALAR
constexpr int vector_bytes = 16;
#else
constexpr int vector_bytes = static_cast<int>(HWY_LANES(std::uint8_t));
#endif

/// Rows in a unit of elements of `width` bytes: as many as a register of `bytes` holds.
template <int width, int bytes = vector_bytes>
constexpr int unit_rows() {
  return bytes / width;
}
/// Columns in a unit: 16 bytes of them.
template <int width>
constexpr int unit_columns() {
  return 16 / width;
}

/// Transposes `across` units side by side, with columns of `bytes`, in registers of bytes x across:
/// row(i) is the address of 16 bytes of row i for each, column(k) the address that the V elements
/// of column k go to. Columns are written in ascending order. No address need be aligned.
#if HWY_TARGET == HWY_SCALAR

template <int width, bool stream = false, int bytes = vector_bytes, int across = 1, class Row,
          class Column>
void transpose_unit(Row row, Column column) {
  for (int k = 0; k < unit_columns<width>() * across; ++k) {
    for (int i = 0; i < unit_rows<width, bytes>(); ++i) {
      std::memcpy(column(k) + i * width, row(i) + k * width, width);
    }
  }
}

inline void copy_vector(std::uint8_t* to, const std::uint8_t* from) {
  std::memcpy(to, from, vector_bytes);
}
inline void stream_vector(std::uint8_t* to, const std::uint8_t* from) {
  std::memcpy(to, from, vector_bytes);
}

#else

// Block l of the result is 16 bytes at block(l).
template <class D, class Block>
HWY_INLINE hn::Vec<D> load_blocks(D d, Block block) {
  using T = hn::TFromD<D>;
  constexpr int blocks = static_cast<int>(hn::MaxLanes(D()) * sizeof(T) / 16);
  if constexpr (blocks == 1) {
    return hn::LoadU(d, reinterpret_cast<const T*>(block(0)));
  } else {
    const hn::Half<D> half;
    return hn::Combine(d, load_blocks(half, [=](int l) { return block(blocks / 2 + l); }),
                       load_blocks(half, block));
  }
}

// Part `part` of `parts` equal ones, to `to`.
template <int part, int parts, bool stream, class D>
HWY_INLINE void store_part(D d, hn::Vec<D> v, std::uint8_t* to) {
  if constexpr (parts > 1) {
    const hn::Half<D> half;
    if constexpr (part < parts / 2) {
      store_part<part, parts / 2, stream>(half, hn::LowerHalf(half, v), to);
    } else {
      store_part<part - parts / 2, parts / 2, stream>(half, hn::UpperHalf(half, v), to);
    }
  } else if constexpr (stream) {
    hn::Stream(v, d, reinterpret_cast<hn::TFromD<D>*>(to));
  } else {
    hn::StoreU(v, d, reinterpret_cast<hn::TFromD<D>*>(to));
  }
}

template <int width, bool stream = false, int bytes = vector_bytes, int across = 1, class Row,
          class Column>
HWY_INLINE void transpose_unit(Row row, Column column) {
  using T = hwy::UnsignedFromSize < width<8 ? width : 8>;
  constexpr int K = unit_columns<width>();
  constexpr int down = bytes / 16;  // blocks of a column
  const hn::FixedTag<T, across * bytes / sizeof(T)> d;
  hn::Vec<decltype(d)> in[K];
  hn::Vec<decltype(d)> out[K];
  CT_UNROLL
  for (int k = 0; k < K; ++k) {
    if constexpr (down == 1) {
      in[k] = hn::LoadU(d, reinterpret_cast<const T*>(row(k)));
    } else {
      in[k] = load_blocks(d, [=](int l) { return row(l % down * K + k) + l / down * 16; });
    }
  }
  // Each step rotates the bits of (register, lane) by one; after log2(K) they have changed places.
  CT_UNROLL
  for (int step = 1; step < K; step *= 2) {
    CT_UNROLL
    for (int k = 0; k < K / 2; ++k) {
      out[2 * k] = hn::InterleaveLower(d, in[k], in[k + K / 2]);
      out[2 * k + 1] = hn::InterleaveUpper(d, in[k], in[k + K / 2]);
    }
    CT_UNROLL
    for (int k = 0; k < K; ++k) in[k] = out[k];
  }
  const auto store = [&]<int part>(std::integral_constant<int, part>) HWY_ATTR {
    CT_UNROLL
    for (int k = 0; k < K; ++k) store_part<part, across, stream>(d, in[k], column(part * K + k));
  };
  store(std::integral_constant<int, 0>());
  if constexpr (across >= 2) store(std::integral_constant<int, 1>());
  if constexpr (across == 4) {
    store(std::integral_constant<int, 2>());
    store(std::integral_constant<int, 3>());
  }
}

/// Copies `vector_bytes` bytes.
HWY_INLINE void copy_vector(std::uint8_t* to, const std::uint8_t* from) {
  const hn::ScalableTag<std::uint8_t> d;
  hn::StoreU(hn::LoadU(d, from), d, to);
}
/// Copies `vector_bytes` bytes past the caches; `to` is aligned.
HWY_INLINE void stream_vector(std::uint8_t* to, const std::uint8_t* from) {
  const hn::ScalableTag<std::uint8_t> d;
  hn::Stream(hn::LoadU(d, from), d, to);
}

#endif

}  // namespace HWY_NAMESPACE
}  // namespace cornerturn::cpu
HWY_AFTER_NAMESPACE();

#endif  // per target
