// structures, for values that change their type on their way to planes.
#pragma once

#include "kernels/structures.hpp"

namespace cornerturn::kernels {

struct StructuresConvertArgs : StructuresArgs {
  ValueArgs values;
};

/// Calls call.operator()<length>() where structures of so many elements have a kernel.
template <class Call>
bool with_converted_length(int length, Call&& call) {
  switch (length) {
    case 2:
      return call.template operator()<2>(), true;
    case 3:
      return call.template operator()<3>(), true;
    case 4:
      return call.template operator()<4>(), true;
    case 8:
      return call.template operator()<8>(), true;
    default:
      return false;
  }
}

template <class Visit>
void dispatch(const StructuresConvertArgs& a, Visit&& visit) {
  with_common_cast(a.values.src_kind, a.values.dst_kind, [&]<class Change>() {
    with_converted_length(
        a.length, [&]<int length>() { visit.template operator()<ToPlanes<Change, length>>(); });
  });
}

}  // namespace cornerturn::kernels
