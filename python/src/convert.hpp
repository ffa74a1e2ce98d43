// Values that change on their way, once all is numbers.
#pragma once

#include <nanobind/nanobind.h>

namespace cornerturn::python {

/// Adds the class `Epilogue` and the function `convert` to the module.
void add_convert(nanobind::module_& module);

}  // namespace cornerturn::python
