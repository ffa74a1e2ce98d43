// half and half2.
#pragma once

#include "cornerturn_guest.hpp"
#include "cornerturn_guest_small_names.hpp"

using __half = ::cornerturn::guest::Small<::cornerturn::guest::HalfFormat>;
using __half2 = ::cornerturn::guest::Pair<::cornerturn::guest::HalfFormat>;
using half = __half;
using half2 = __half2;
using __nv_half = __half;
using __nv_half2 = __half2;
using nv_half = __half;
using nv_half2 = __half2;
using __ct_half = __half;
using __ct_half2 = __half2;
struct __half_raw {
  unsigned short x;
  CT_GUEST_INLINE operator __half() const { return __half::from(x); }
};
struct alignas(4) __half2_raw {
  unsigned short x, y;
  CT_GUEST_INLINE operator __half2() const { return __half2(__half::from(x), __half::from(y)); }
};

CT_GUEST_SMALL_NAMES(half)
