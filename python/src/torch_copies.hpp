// cornerturn.torch.enable(): PyTorch's copies, done by Cornerturn.
#pragma once

#include <nanobind/nanobind.h>

namespace cornerturn::python {

/// Adds the class TorchCopies and the function torch_copies_done to the module.
void add_torch_copies(nanobind::module_& module);

}  // namespace cornerturn::python
