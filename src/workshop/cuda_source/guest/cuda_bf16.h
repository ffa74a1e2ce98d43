// bfloat16 and pairs of it.
#pragma once

#include "cornerturn_guest.hpp"
#include "cornerturn_guest_small_names.hpp"

using __nv_bfloat16 = ::cornerturn::guest::Small<::cornerturn::guest::Bfloat16Format>;
using __nv_bfloat162 = ::cornerturn::guest::Pair<::cornerturn::guest::Bfloat16Format>;
using nv_bfloat16 = __nv_bfloat16;
using nv_bfloat162 = __nv_bfloat162;
using __ct_bfloat16 = __nv_bfloat16;
using __ct_bfloat162 = __nv_bfloat162;
struct __nv_bfloat16_raw {
  unsigned short x;
  CT_GUEST_INLINE operator __nv_bfloat16() const { return __nv_bfloat16::from(x); }
};
struct alignas(4) __nv_bfloat162_raw {
  unsigned short x, y;
  CT_GUEST_INLINE operator __nv_bfloat162() const {
    return __nv_bfloat162(__nv_bfloat16::from(x), __nv_bfloat16::from(y));
  }
};

CT_GUEST_SMALL_NAMES(bfloat16)
