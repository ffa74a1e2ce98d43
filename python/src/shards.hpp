// Redistributions between devices: plans, and the copies on this device's side.
#pragma once

#include <nanobind/nanobind.h>

namespace cornerturn::python {

void add_shards(nanobind::module_& module);

}  // namespace cornerturn::python
