// The prelude has what CUDA's cuda.h declares, as far as programs use it.
#pragma once

#include "cornerturn_guest.hpp"
