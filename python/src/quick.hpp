// The fast path: a NumPy array or a PyTorch tensor without anything special, transposed in one call
// from Python.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <vector>

namespace cornerturn::python {

/// `x` with its axes in the order `axes` (a tuple or a list of ints; None: reversed), packed in a
/// new array, or in `out`. `dtype` is None, or a dtype of NumPy's to which the values of a NumPy
/// array are converted. Returns None, and has done nothing, when `x` is neither of the two, when it
/// has to be looked at more closely (gradients, lazy conjugation, references to objects, a meta
/// tensor, ...), or when another argument is wrong: the general path says why.
nanobind::object quick_transpose(nanobind::handle x, nanobind::handle axes, nanobind::handle out,
                                 nanobind::handle dtype);

/// quick_transpose(), with the values of NumPy arrays multiplied by `alpha`.
nanobind::object quick_convert(nanobind::handle x, nanobind::handle axes, nanobind::handle out,
                               nanobind::handle dtype, double alpha);

/// A new array of `shape` in which the arrays of a list take turns, a row of `row` elements each,
/// in the order of `numbers`, `rows` times. Returns None, and has done nothing, unless all are
/// packed arrays of one shape and type in host memory, as quick_transpose takes them.
nanobind::object quick_interleave(nanobind::handle list, std::vector<std::int64_t> numbers,
                                  std::int64_t rows, std::int64_t row,
                                  std::vector<std::int64_t> shape);

}  // namespace cornerturn::python
