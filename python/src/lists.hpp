// Copies between arrays of which an axis comes from a table.
#pragma once

#include <nanobind/nanobind.h>

namespace cornerturn::python {

/// Adds `TableOf` and `copy_listed` to the module.
void bind_lists(nanobind::module_& module);

}  // namespace cornerturn::python
