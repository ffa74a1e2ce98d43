// skew for values that change their type: its kernel for small elements, which converts on the side
// where fewer bytes lie in shared memory.
#pragma once

#include "kernels/skew_turned.hpp"

namespace cornerturn::kernels {

struct SkewConvertArgs : SkewArgs {
  ValueArgs values;
};

template <class Visit>
void dispatch(const SkewConvertArgs& a, Visit&& visit) {
  with_common_cast(a.values.src_kind, a.values.dst_kind, [&]<class Change>() {
    const auto with_shape = [&]<int shape>() {
      if (a.rows.modes == 1 && a.cols.modes == 1) {
        visit.template operator()<SkewTurned<Change, shape, true>>();
      } else {
        visit.template operator()<SkewTurned<Change, shape, false>>();
      }
    };
    switch (a.shape) {
      case 0:
        return with_shape.template operator()<0>();
      case 1:
        return with_shape.template operator()<1>();
      default:
        return with_shape.template operator()<2>();
    }
  });
}

}  // namespace cornerturn::kernels
