// Python functions whose calls try the fast path before their own code runs.
#pragma once

#include <nanobind/nanobind.h>

namespace cornerturn::python {

/// quick_transpose_first and quick_copy_first: `function` is cornerturn.transpose or copy, written
/// in Python. A call then goes to quick_transpose, without a frame of Python, and to the function
/// where that returns None. The function stays what it was for all who look at it, torch.compile
/// among them. They return False, and change nothing, before Python 3.12, which cannot do that.
void add_quick_first(nanobind::module_& module);

}  // namespace cornerturn::python
