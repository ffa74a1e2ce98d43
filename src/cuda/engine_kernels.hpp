// The launches of the engine's kernels, each compiled in a file of its own.
#pragma once

#include "cuda/engine.hpp"

namespace cornerturn::cuda {

/// The launches of a family's plan (launch.cuh).
template <class Family>
void launch_family(const plan::Plan& plan, const Buffers& buffers, Stream stream);

/// Whether the kernels of a family's plan were launched before (launch.cuh).
template <class Family>
bool family_is_loaded(const plan::Plan& plan);

}  // namespace cornerturn::cuda
