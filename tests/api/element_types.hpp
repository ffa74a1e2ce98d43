// Types of elements by short names.
#pragma once

#include "cornerturn/cornerturn.hpp"

namespace cornerturn {

inline const ElementType f32(Kind::f32);
inline const ElementType f64(Kind::f64);
inline const ElementType i8(Kind::i8);
inline const ElementType u8(Kind::u8);
inline const ElementType e4m3(Kind::f8_e4m3);
inline const ElementType e5m2(Kind::f8_e5m2);

}  // namespace cornerturn
