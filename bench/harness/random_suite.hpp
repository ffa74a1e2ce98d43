// Problems drawn at random: what no suite was made of.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "harness/case.hpp"

namespace cornerturn::bench {

enum class Drawn : std::uint8_t {
  any,     ///< layouts of all kinds
  fields,  ///< some fields of structures, which lie next to each other: between the structures and
           ///< an array a field, or into an array of smaller structures
};

/// How many problems of which sizes. The same spec always draws the same problems.
struct RandomSpec {
  Drawn drawn = Drawn::any;
  std::int64_t count = 100;
  std::uint64_t seed = 1;
  /// Sizes of elements; none: 1, 2, 4 and 8 bytes most of the time, else 16 or any from 3 to 24.
  std::vector<int> element_bytes;
  std::int64_t min_bytes = 1 << 20;  ///< of the payload
  std::int64_t max_bytes = 1 << 28;  ///< of the payload; of fields, also of the structures
};

/// "random:100:1:1-2-4-8:1048576:268435456": the name of a suite that load_suite() draws. That of
/// fields begins with "fields:".
std::string name_of(const RandomSpec& spec);
/// Throws an Error that names the field and its rule.
RandomSpec parse_random(const std::string& name);
bool is_random(std::string_view name);

/// Case n depends on the seed, the sizes and n alone. Ranks are 2 to 12; extents are log-uniform,
/// many of them primes, powers of two or their neighbours; there are tiny modes beside long ones,
/// rows that stay together, padded rows, windows, flipped and broadcast axes, and offsets. Of
/// fields there are 1 to 16, of structures of up to 512 bytes, in arrays of 1 to 3 axes;
/// their classes say where they go: "fields-to-arrays" and "arrays-to-fields", one a field,
/// "fields-to-packed" and "packed-to-fields", structures that have these fields alone.
Suite random_suite(const RandomSpec& spec);

/// The class of a case, by what its normalised problem looks like: "copy", "rows" and "short-rows"
/// keep their runs (short ones have less than 256 bytes), "tiny-modes" has less than 16 elements in
/// a run of either side, "matrix-..." has two modes, "rank3-..." more. "aligned": all strides are
/// multiples of 16 bytes, else "odd".
std::string class_of(const Case& c);

/// One entry of a suite's list of cases, as JSON in one line.
std::string json_of(const Case& c);

}  // namespace cornerturn::bench
