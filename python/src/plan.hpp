// Plans for Python: what the library would do, and why.
#pragma once

#include <nanobind/nanobind.h>

namespace cornerturn::python {

/// Adds the class `Plan` and the function `make_plan` to the module.
void add_plans(nanobind::module_& module);

}  // namespace cornerturn::python
