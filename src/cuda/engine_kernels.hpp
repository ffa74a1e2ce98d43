// The launches of the engine's kernels, one overload a family, each compiled in a file of its own.
#pragma once

#include "cuda/engine.hpp"
#include "kernels/amax.hpp"
#include "kernels/blocks.hpp"
#include "kernels/dequantise.hpp"
#include "kernels/quantise.hpp"

namespace cornerturn::cuda {

void launch_kernel(const kernels::TileArgs& args, const Launch& launch, Stream stream);
void launch_kernel(const kernels::SkewArgs& args, const Launch& launch, Stream stream);
void launch_kernel(const kernels::PackArgs& args, const Launch& launch, Stream stream);
void launch_kernel(const kernels::GatherArgs& args, const Launch& launch, Stream stream);
void launch_kernel(const kernels::CopyArgs& args, const Launch& launch, Stream stream);
void launch_kernel(const kernels::RowsArgs& args, const Launch& launch, Stream stream);
void launch_kernel(const kernels::BoxesArgs& args, const Launch& launch, Stream stream);
void launch_kernel(const kernels::StructuresArgs& args, const Launch& launch, Stream stream);
void launch_kernel(const kernels::RowsConvertArgs& args, const Launch& launch, Stream stream);
void launch_kernel(const kernels::TileConvertArgs& args, const Launch& launch, Stream stream);
void launch_kernel(const kernels::StructuresConvertArgs& args, const Launch& launch, Stream stream);
void launch_kernel(const kernels::SkewConvertArgs& args, const Launch& launch, Stream stream);
void launch_kernel(const kernels::PackConvertArgs& args, const Launch& launch, Stream stream);
void launch_kernel(const kernels::BlocksArgs& args, const Launch& launch, Stream stream);
void launch_kernel(const kernels::QuantiseArgs& args, const Launch& launch, Stream stream);
void launch_kernel(const kernels::DequantiseArgs& args, const Launch& launch, Stream stream);
void launch_kernel(const kernels::GatherConvertArgs& args, const Launch& launch, Stream stream);
void launch_kernel(const kernels::AmaxArgs& args, const Launch& launch, Stream stream);

}  // namespace cornerturn::cuda
