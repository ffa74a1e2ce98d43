// Layouts as CuTe writes them: (8,(2,4)):(1,(8,32)) and Swizzle<3,3,3> o (8,64):(64,1).
//
// Read: blanks anywhere; CuTe's _8 for a constant 8; Sw<3,3,3> and S<3,3,3> for Swizzle<3,3,3>; an
// offset between, Swizzle<3,3,3> o 16 o (8,64):(64,1); a shape alone, whose strides are then the
// column-major ones. So is what CuTe prints where it knows the pointer or its elements:
//
//   Sw<3,4,3> o smem_ptr[16b](unset) o (_8,_64):(_64,_1)
//   Sw<3,4,3>_smem_ptr[16b](0x7f8800000400) o (_8,_64):(_64,_1)
//   tensor<ptr<f16, smem, align<1024>, S<3,4,3>> o (8,64):(64,1)>
//
// There the swizzle counts bytes; the layout that is read counts elements as ever.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "cornerturn/error.hpp"
#include "maps/composed.hpp"

namespace cornerturn {

/// A mistake in a layout's text. what() says in one line what is wrong and where.
class NotationError : public Error {
 public:
  NotationError(std::string_view text, std::size_t position, const std::string& problem);

  std::size_t position() const { return position_; }  ///< of the character, from 0
  /// The text and, below it, a caret under the character.
  const std::string& picture() const { return picture_; }

 private:
  std::size_t position_;
  std::string picture_;
};

/// Larger layouts are refused: whoever reads one may walk over all of it.
inline constexpr std::int64_t most_layout_elements = std::int64_t{1} << 24;

/// What a text says: the layout, and how many bits an element has where a pointer says that, else
/// 0.
struct PrintedLayout {
  SwizzledLayout layout;
  int element_bits = 0;
};

/// Throws NotationError.
Layout parse_layout(std::string_view text);
/// A layout, or one under a swizzle.
SwizzledLayout parse_swizzled_layout(std::string_view text);
PrintedLayout parse_printed_layout(std::string_view text);
/// The layout, whose elements have `bytes` bytes, or with 0 those that a pointer in the text says,
/// else `usual`. Throws Error where the two differ.
SwizzledLayout parse_layout_of(std::string_view text, int& bytes, int usual = 4);
AnySwizzle parse_swizzle(std::string_view text);

std::string to_string(const Layout& layout);
std::string to_string(const AnySwizzle& swizzle);
/// Without the swizzle when it changes nothing, without the offset when it is 0.
std::string to_string(const SwizzledLayout& layout);

}  // namespace cornerturn
