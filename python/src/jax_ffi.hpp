// What XLA calls: the handlers behind cornerturn.jax.
#pragma once

#include <nanobind/nanobind.h>

namespace cornerturn::python {

/// Adds `jax_targets()`: for each platform that this build serves, its handler in a capsule.
void bind_jax(nanobind::module_& module);

}  // namespace cornerturn::python
