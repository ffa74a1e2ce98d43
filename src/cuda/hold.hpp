// A stream that is kept busy for a moment.
#pragma once

#include "cuda/stream.hpp"

namespace cornerturn::cuda {

/// What is enqueued after it starts so much later.
void hold(Stream stream, unsigned microseconds);

}  // namespace cornerturn::cuda
