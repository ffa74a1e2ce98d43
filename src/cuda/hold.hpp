// A stream that is kept busy for a moment.
#pragma once

#include "cuda/stream.hpp"

namespace cornerturn::cuda {

/// Keeps the stream busy for so long, that the host can enqueue what follows. Never throws.
void hold(double seconds, Stream stream);

}  // namespace cornerturn::cuda
