// Plain arrays of NumPy, read where their fields lie.
#pragma once

#include "quick_array.hpp"

namespace cornerturn::python {

/// `x` is any plain array. Never given back.
QuickArrays* quick_numpy(nanobind::handle x);

}  // namespace cornerturn::python
