// Transposes .npy files, also larger than memory.
#pragma once

#include <nanobind/nanobind.h>

namespace cornerturn::python {

void add_files(nanobind::module_& module);

}  // namespace cornerturn::python
