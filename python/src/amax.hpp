// The largest magnitude, and quantising by it, once all is numbers.
#pragma once

#include <nanobind/nanobind.h>

namespace cornerturn::python {

void add_amax(nanobind::module_& module);

}  // namespace cornerturn::python
