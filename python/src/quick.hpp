// The short way: a NumPy array or a PyTorch tensor without anything special, transposed in one call
// from Python.
#pragma once

#include <nanobind/nanobind.h>

namespace cornerturn::python {

/// `x` with its axes in the order `axes` (a tuple or a list of ints; None: reversed), packed in a
/// new array, or in `out`. Returns None, and has done nothing, when `x` is neither of the two, has
/// to be looked at more closely (gradients, lazy conjugation, references to objects, a meta tensor,
/// ...), or when `axes` or `out` is not right: the long way says why.
nanobind::object quick_transpose(nanobind::handle x, nanobind::handle axes, nanobind::handle out);

/// The same of a NumPy array whose elements become those of `dtype`, which is one of NumPy's.
nanobind::object quick_convert(nanobind::handle x, nanobind::handle axes, nanobind::handle out,
                               nanobind::handle dtype);

}  // namespace cornerturn::python
