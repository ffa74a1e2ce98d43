// Quantising in blocks, once all is numbers.
#pragma once

#include <nanobind/nanobind.h>

namespace cornerturn::python {

void add_blocks(nanobind::module_& module);

}  // namespace cornerturn::python
