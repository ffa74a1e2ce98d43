// pack: short runs, small extents, many modes. A block takes a box of the tensor: all or some of
// the indices of some modes, chosen so that it is made of long contiguous pieces on both sides. The
// pieces of the source go to shared memory as they are; then each vector of the destination is
// gathered from there, element by element.
//
// Where an element lies in shared memory is a sum over its indices. Along a run of the destination
// the sum grows by the same amount from period to period: the indices of all modes of the run but
// the last. The aligned form looks it up in a table of one period, the other form works it out once
// for all runs.
//
//   run of the destination   | period | period | period | ...
//   table                    |--------|+V
//
// Values may change their type: the box is staged as it was read, and its elements are converted as
// vectors of the destination are gathered.
#pragma once

#include <cstdint>

#include "kernels/casts.hpp"
#include "kernels/elements.hpp"
#include "kernels/pack_aligned.hpp"
#include "kernels/pack_anywhere.hpp"
#include "kernels/pack_args.hpp"

namespace cornerturn::kernels {

template <class Visit>
void dispatch(const PackArgs& a, Visit&& visit) {
  const auto with_form = [&]<class Change>() {
    a.anywhere ? visit.template operator()<PackAnywhere<Change>>()
               : visit.template operator()<PackAligned<Change>>();
  };
  if (!a.values.converts) {
    return with_element(a.element_bytes, [&]<class T>(T) {
      if constexpr (int{sizeof(T)} <= most_single_bytes) {
        if (a.single) return visit.template operator()<PackAnywhere<Move<T>, true>>();
      }
      with_form.template operator()<Move<T>>();
    });
  }
  if (with_common_cast(a.values.src, a.values.dst, with_form)) return;
  with_sizes<4>(a.src_element_bytes, a.element_bytes, [&]<int src_size, int dst_size>() {
    visit.template operator()<PackAnywhere<AnyCast<src_size, dst_size>>>();
  });
}

}  // namespace cornerturn::kernels
