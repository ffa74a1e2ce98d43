// skew for values that change their type: its kernel for small elements, which converts on the side
// where fewer bytes lie in shared memory.
#pragma once

#include "kernels/skew_turned.hpp"

namespace cornerturn::kernels {

/// Of skew's turned shapes.
inline constexpr int skew_convert_shapes[] = {0, 2};

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
    a.shape == skew_convert_shapes[0] ? with_shape.template operator()<skew_convert_shapes[0]>()
                                      : with_shape.template operator()<skew_convert_shapes[1]>();
  });
}

}  // namespace cornerturn::kernels
