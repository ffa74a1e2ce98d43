// The prelude has what CUDA's cuda_runtime.h declares, as far as programs use it.
#pragma once

#include "cornerturn_guest.hpp"
