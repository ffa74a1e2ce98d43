// What is measured across the link between host memory and a GPU: problems, ways and places.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/problem.hpp"
#include "harness/case.hpp"

namespace cornerturn::bench::link {

/// Where the host's side lies.
enum class Memory : std::uint8_t {
  pinned,
  pageable,
  mapped,  ///< a file in the page cache
};
inline constexpr Memory memories[] = {Memory::pinned, Memory::pageable, Memory::mapped};

const char* name_of(Memory memory);

/// One side lies in host memory, the other one on the GPU.
struct LinkCase {
  Case layout;  ///< strides and offsets in elements; its element size is that of the source
  ElementType from{Kind::u8};
  ElementType to{Kind::u8};
  bool into_gpu = true;
  Memory memory = Memory::pinned;
  int scaled_axis = -1;  ///< with a scale and a bias for each index of this axis

  bool moves() const { return from == to && scaled_axis < 0; }
  ElementType host_type() const { return into_gpu ? from : to; }
  /// Bytes of all elements on the host's side: those of the dense copy that is 100 %.
  std::int64_t host_bytes() const { return layout.elements() * host_type().size(); }
  /// Bytes from the start of the buffer to the last element.
  std::int64_t src_span() const { return layout.src_span_bytes(); }
  std::int64_t dst_span() const { return layout.dst_span_bytes() / from.size() * to.size(); }
  std::int64_t host_span() const { return into_gpu ? src_span() : dst_span(); }
  std::int64_t gpu_span() const { return into_gpu ? dst_span() : src_span(); }
  Problem problem() const;  ///< without scale and bias
};

/// "weights/fp8 transposed into pinned".
std::string to_string(const LinkCase& c);

/// All cases; with `large` also those of 8 GiB.
std::vector<LinkCase> all_cases(bool large);

/// Problems drawn at random, of 64 KiB to 64 MiB, by turns into and out of the GPU, in pinned
/// memory.
std::vector<LinkCase> random_cases(std::int64_t count, std::uint64_t seed);

/// The case as an object of the list that other programs measure from.
nlohmann::ordered_json to_json(const LinkCase& c);

}  // namespace cornerturn::bench::link
