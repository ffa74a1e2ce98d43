#include "cpu/convert_swapped.hpp"

#include <algorithm>
#include <cstring>

#include "cpu/convert_vector.hpp"
#include "values/types.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/convert_swapped.cpp"
#include <hwy/foreach_target.h>
//
#include <hwy/highway.h>

#include "cpu/byte_order-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace cornerturn::cpu {
namespace HWY_NAMESPACE {
namespace {

// Swaps the bytes of packed parts of `size` bytes each, 2, 4 or 8. Both sides may be one.
template <int size>
void swap_parts(std::byte* to, const std::byte* from, std::int64_t bytes) {
  std::int64_t i = 0;
#if HWY_TARGET != HWY_SCALAR
  namespace hn = hwy::HWY_NAMESPACE;
  const hn::ScalableTag<std::uint8_t> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  for (; i + lanes <= bytes; i += lanes) {
    const auto v = hn::LoadU(d, reinterpret_cast<const std::uint8_t*>(from + i));
    hn::StoreU(with_bytes_swapped<size>(d, v), d, reinterpret_cast<std::uint8_t*>(to + i));
  }
#endif
  for (; i < bytes; i += size) {
    std::byte part[size];
    std::memcpy(part, from + i, size);
    std::reverse(part, part + size);
    std::memcpy(to + i, part, size);
  }
}

void swap_packed(std::byte* to, const std::byte* from, std::int64_t bytes, int part) {
  switch (part) {
    case 2:
      return swap_parts<2>(to, from, bytes);
    case 4:
      return swap_parts<4>(to, from, bytes);
    default:
      return swap_parts<8>(to, from, bytes);
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace cornerturn::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cornerturn::cpu {
namespace {

HWY_EXPORT(swap_packed);

constexpr std::int64_t chunk_elements = 256;

/// One side of a run: its elements, in their own order of bytes.
struct SwappedSide {
  std::int64_t size;
  std::int64_t part;
  std::int64_t step;
  bool swapped;

  SwappedSide(ElementType type, std::int64_t step_between)
      : size(type.size()), part(size), step(step_between), swapped(type.is_swapped()) {
    if (type.kind() == Kind::c64 || type.kind() == Kind::c128) part /= 2;
  }
  bool packed() const { return step == size; }

  void swap(std::byte* to, const std::byte* from, std::int64_t count) const {
    HWY_DYNAMIC_DISPATCH(swap_packed)(to, from, count * size, static_cast<int>(part));
  }
  // Elements of the run, one after the other in the machine's order.
  void take(std::byte* to, const std::byte* from, std::int64_t count) const {
    if (packed()) return swap(to, from, count);
    const auto bytes = static_cast<std::size_t>(size);
    for (std::int64_t i = 0; i < count; ++i) std::memcpy(to + i * size, from + i * step, bytes);
    swap(to, to, count);
  }
  // And back; what stood at `from` is lost.
  void give(std::byte* to, std::byte* from, std::int64_t count) const {
    if (packed()) return swap(to, from, count);
    swap(from, from, count);
    const auto bytes = static_cast<std::size_t>(size);
    for (std::int64_t i = 0; i < count; ++i) std::memcpy(to + i * step, from + i * size, bytes);
  }
};

// Does nothing change but the order of bytes?
bool only_swaps(const Problem& problem) {
  Values values = problem.values;
  values.place = 0;
  const bool one_kind = problem.src_type.kind() == problem.dst_type.kind();
  return one_kind && problem.src_type != problem.dst_type && values == Values{} &&
         !problem.scale.present && !problem.bias.present;
}

void swap_row(const SwappedSide& src, const SwappedSide& dst, const ConvertRun& row) {
  if (src.packed() && dst.packed()) return src.swap(row.dst, row.src, row.count);
  alignas(64) std::byte elements[chunk_elements * 16];
  for (std::int64_t i = 0; i < row.count; i += chunk_elements) {
    const std::int64_t count = std::min(chunk_elements, row.count - i);
    src.take(elements, row.src + i * src.step, count);
    for (std::int64_t k = 0; k < count; ++k) {
      std::memcpy(row.dst + (i + k) * dst.step, elements + k * dst.size,
                  static_cast<std::size_t>(dst.size));
    }
  }
}

void convert_swapped_row(const Problem& problem, const SwappedSide& src, const SwappedSide& dst,
                         const ConvertRun& row) {
  alignas(64) std::byte from[chunk_elements * 16];
  alignas(64) std::byte to[chunk_elements * 16];
  const Kind src_kind = problem.src_type.kind();
  const Kind dst_kind = problem.dst_type.kind();
  const bool contiguous = (src.swapped || src.packed()) && (dst.swapped || dst.packed());
  const ConvertFunction convert =
      contiguous ? contiguous_convert_function(ElementType(dst_kind), ElementType(src_kind))
                 : native_convert_function(dst_kind, src_kind);
  for (std::int64_t i = 0; i < row.count; i += chunk_elements) {
    ConvertRun part = row;
    part.count = std::min(chunk_elements, row.count - i);
    part.advance({row.src_step, row.dst_step, row.place_step, row.scale_step, row.bias_step}, i);
    std::byte* const out = part.dst;
    if (src.swapped) {
      src.take(from, part.src, part.count);
      part.src = from;
      part.src_step = src.size;
    }
    if (dst.swapped) {
      if (problem.values.beta != 0) dst.take(to, out, part.count);
      part.dst = to;
      part.dst_step = dst.size;
    }
    convert(problem, part);
    if (dst.swapped) dst.give(out, to, part.count);
  }
}

}  // namespace

void convert_swapped(const Problem& problem, const ConvertRun& run) {
  const SwappedSide src(problem.src_type, run.src_step);
  const SwappedSide dst(problem.dst_type, run.dst_step);
  const bool swaps_alone = only_swaps(problem);
  ConvertRun row = run;
  row.rows = 1;
  for (std::int64_t r = 0; r < run.rows; ++r, row.advance(run.row, 1)) {
    swaps_alone ? swap_row(src, dst, row) : convert_swapped_row(problem, src, dst, row);
  }
}

}  // namespace cornerturn::cpu
#endif
