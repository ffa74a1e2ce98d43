// pack, for values that change: the box is staged as it was read, and its elements are converted
// one by one as vectors of the destination are gathered.
#pragma once

#include "kernels/casts.hpp"
#include "kernels/pack.hpp"

namespace cornerturn::kernels {

struct PackConvertArgs : PackArgs {
  ValueArgs values;
};

template <class Visit>
void dispatch(const PackConvertArgs& a, Visit&& visit) {
  const auto form = [&]<class Change>() {
    if (a.shifted) {
      visit.template operator()<Pack<Change>>();
    } else {
      visit.template operator()<PackAligned<Change>>();
    }
  };
  if (with_common_cast(a.values.src_kind, a.values.dst_kind, form)) return;
  with_sizes<4>(a.src_element_bytes, a.element_bytes, [&]<int src_size, int dst_size>() {
    visit.template operator()<Pack<AnyCast<src_size, dst_size>>>();
  });
}

}  // namespace cornerturn::kernels
