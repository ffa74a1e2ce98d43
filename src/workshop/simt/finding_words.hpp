// Words by which a finding is known besides its kind.
#pragma once

namespace cornerturn::simt {

/// Of a store that is out of bounds because its buffer may only be read.
inline constexpr const char* into_input = "it is an input, which a kernel may only read";

}  // namespace cornerturn::simt
