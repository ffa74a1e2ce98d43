// All that a kernel in the kernel form needs, and the emulator that runs it: see
// docs/your-own-kernel.md. With nvcc the same kernel takes kernels/gpu_context.cuh.
#pragma once

#include "kernels/context.hpp"
#include "maps/tile_maps.hpp"
#include "workshop/ladder/check_kernel.hpp"
#include "workshop/rungs/matrix.hpp"
#include "workshop/simt/emulator.hpp"

// What kernels are written in; namespaces of kernels are their authors'.
using cornerturn::as_vec;
using cornerturn::cast;
using cornerturn::Dim3;
using cornerturn::Launch;
using cornerturn::Vec;
using cornerturn::ladder::MatrixArgs;
using cornerturn::ladder::Tile;
using cornerturn::ladder::tile_of;
using cornerturn::ladder::tiled_launch;
