// Permutations within the memory of an array.
#pragma once

#include <nanobind/nanobind.h>

namespace cornerturn::python {

/// Adds `permute_in_place` to the module.
void add_in_place(nanobind::module_& module);

}  // namespace cornerturn::python
