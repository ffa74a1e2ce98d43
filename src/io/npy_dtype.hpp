// NumPy's dtype descriptions: '<f4', '|S12', '<M8[ns]', [('x', '<f8'), ('rgb', '|u1', (3,))] ...
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "cornerturn/element_type.hpp"
#include "io/python_literal.hpp"

namespace cornerturn::io {

/// Bytes that one element described by `descr` takes. Any fixed-size dtype is understood: numbers
/// of both byte orders, strings, void, datetimes with units, and nested structures with sub-arrays.
/// Throws Error for dtypes that hold Python objects and for anything that NumPy does not write.
std::int64_t dtype_size(const Literal& descr);

/// The size of a description's text: "'<f4'", "[('x', '<f8')]", or "<f4" without quotes.
std::int64_t dtype_size(std::string_view descr);

/// The named element type of a number in either order of bytes ("<f4" is f32, ">f4" the same
/// swapped), otherwise `size` plain bytes.
/// Throws Error unless 1 <= size <= ElementType::max_size.
ElementType element_type_of(std::string_view descr, std::int64_t size);

/// The type of values that are to be converted: that of element_type_of(). Throws Error where the
/// elements have no values, as text, dates and structures; `what` is what the error calls them:
/// "--to = 'f32': the elements of IN".
ElementType value_type_of(std::string_view descr, std::int64_t size, std::string_view what);

/// What a .npy header calls elements of `type`, as a Python literal: "'<f4'". Types that NumPy
/// knows from ml_dtypes alone are plain bytes, as numpy.save writes them: bf16 is "'<V2'".
std::string descr_of(ElementType type);

}  // namespace cornerturn::io
