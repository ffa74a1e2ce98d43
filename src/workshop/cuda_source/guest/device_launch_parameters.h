// The prelude has what CUDA's device_launch_parameters.h declares, as far as programs use it.
#pragma once

#include "cornerturn_guest.hpp"
