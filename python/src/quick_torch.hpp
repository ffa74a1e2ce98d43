// Plain tensors of PyTorch, read through its DLPack exchange interface.
#pragma once

#include "quick_array.hpp"

namespace cornerturn::python {

/// `tensor_type` is torch.Tensor. Never given back.
QuickArrays* quick_torch(nanobind::handle tensor_type);

}  // namespace cornerturn::python
