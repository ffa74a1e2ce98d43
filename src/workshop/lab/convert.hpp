// One swizzle in the words of CuTe (in elements), of bytes, of Triton and of TMA, and under
// recasting to elements of another size.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "maps/swizzle.hpp"

namespace cornerturn::lab {

/// Triton's: chunks of `vec` elements of row r are xor-ed with r / per_phase % max_phase.
struct TritonSwizzle {
  std::int64_t vec = 1;
  std::int64_t per_phase = 1;
  std::int64_t max_phase = 1;

  friend bool operator==(const TritonSwizzle&, const TritonSwizzle&) = default;
};

/// A swizzle of elements as one of bytes.
AnySwizzle to_bytes(const AnySwizzle& swizzle, int element_bytes);
/// A swizzle of bytes as one of elements. Throws Error when it would tear elements apart.
AnySwizzle to_elements(const AnySwizzle& of_bytes, int element_bytes);

/// "none", "32B", "64B" or "128B"; nothing when TMA has no such mode.
std::optional<std::string> tma_mode(const AnySwizzle& of_bytes);
/// Throws Error for another name.
AnySwizzle of_tma_mode(std::string_view name);

/// Throws Error where the three are no powers of two, or a row has fewer than max_phase chunks.
AnySwizzle of_triton(const TritonSwizzle& triton, std::int64_t row_elements);
/// Nothing, and why, when Triton's three numbers cannot say it.
struct TritonAnswer {
  std::optional<TritonSwizzle> swizzle;
  std::string why_not;
};
TritonAnswer to_triton(const AnySwizzle& swizzle, std::int64_t row_elements);

/// What a user has: "Swizzle<3,2,3>" of elements, "bytes:Swizzle<3,4,3>", "triton:4,1,8",
/// "tma:128B". As a swizzle of bytes. Triton's needs the row's length in elements, otherwise 0.
AnySwizzle parse_any_swizzle(std::string_view text, int element_bytes, std::int64_t row_elements);

/// One swizzle in all words, for one size of element.
struct Conversion {
  int element_bytes = 4;
  std::int64_t row_elements = 0;  ///< 0: no row, so nothing of Triton's
  AnySwizzle of_bytes;
  std::optional<AnySwizzle> cute;  ///< in elements; nothing when it tears them apart
  TritonAnswer triton;
  std::optional<std::string> tma;

  std::string to_text() const;
  std::string to_json() const;
};
/// `row_bytes`: 0 when unknown.
Conversion convert(const AnySwizzle& of_bytes, int element_bytes, std::int64_t row_bytes);

}  // namespace cornerturn::lab
