// cuda::copy for elements of ELEMENT_BYTES. An mdspan has a static rank, so there is a copy for each.
#include "cccl_copy.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cuda/mdspan>
#include <cuda/stream>
#include <utility>

namespace cornerturn::bench {
namespace {

constexpr std::size_t highest_rank = 12;

struct alignas(ELEMENT_BYTES) Element {
  unsigned char bytes[ELEMENT_BYTES];
};

template <std::size_t Rank>
using Extents = cuda::std::dextents<std::int32_t, Rank>;

template <std::size_t Rank>
cuda::std::array<std::int32_t, Rank> array_of(const std::int32_t* values) {
  cuda::std::array<std::int32_t, Rank> out{};
  std::copy_n(values, Rank, out.begin());
  return out;
}

// Strides of 32 bits, which must be positive.
template <class T, std::size_t Rank>
auto strided(T* first, const std::int32_t* extents, const std::int32_t* strides) {
  using Layout = cuda::std::layout_stride;
  const Layout::mapping<Extents<Rank>> mapping(Extents<Rank>(array_of<Rank>(extents)),
                                               array_of<Rank>(strides));
  return cuda::device_mdspan<T, Extents<Rank>, Layout>(first, mapping);
}

// Any strides. The mdspan begins at the element of the lowest address.
template <class T, std::size_t Rank>
auto relaxed(T* first, const std::int32_t* extents, const std::int32_t* strides) {
  using Layout = cuda::layout_stride_relaxed;
  using Mapping = Layout::mapping<Extents<Rank>>;
  std::ptrdiff_t before = 0;
  for (std::size_t mode = 0; mode < Rank; ++mode) {
    before += (extents[mode] - 1) * std::max<std::ptrdiff_t>(0, -strides[mode]);
  }
  const Mapping mapping(Extents<Rank>(array_of<Rank>(extents)),
                        typename Mapping::strides_type(array_of<Rank>(strides)), before);
  return cuda::device_mdspan<T, Extents<Rank>, Layout>(first - before, mapping);
}

template <std::size_t Rank>
void copy_of_rank(const CcclCopy& copy) {
  const auto* src = static_cast<const Element*>(copy.src);
  auto* dst = static_cast<Element*>(copy.dst);
  const cuda::stream_ref stream(static_cast<cudaStream_t>(copy.stream));
  const auto positive = [](std::int32_t stride) { return stride > 0; };
  if (std::all_of(copy.src_strides, copy.src_strides + Rank, positive) &&
      std::all_of(copy.dst_strides, copy.dst_strides + Rank, positive)) {
    cuda::copy(strided<const Element, Rank>(src, copy.extents, copy.src_strides),
               strided<Element, Rank>(dst, copy.extents, copy.dst_strides), stream);
  } else {
    cuda::copy(relaxed<const Element, Rank>(src, copy.extents, copy.src_strides),
               relaxed<Element, Rank>(dst, copy.extents, copy.dst_strides), stream);
  }
}

template <std::size_t... Less>
constexpr auto copies_of(std::index_sequence<Less...>) {
  return std::array<void (*)(const CcclCopy&), sizeof...(Less)>{copy_of_rank<Less + 1>...};
}

}  // namespace

template <>
bool cccl_copy<ELEMENT_BYTES>(const CcclCopy& copy) {
  static constexpr auto of_rank = copies_of(std::make_index_sequence<highest_rank>());
  if (copy.rank < 1 || copy.rank > static_cast<int>(highest_rank)) return false;
  of_rank[copy.rank - 1](copy);
  return true;
}

}  // namespace cornerturn::bench
