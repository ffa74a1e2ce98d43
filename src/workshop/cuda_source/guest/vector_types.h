// The prelude has what CUDA's vector_types.h declares, as far as programs use it.
#pragma once

#include "cornerturn_guest.hpp"
