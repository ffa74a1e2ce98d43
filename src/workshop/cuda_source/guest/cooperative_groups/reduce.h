// cooperative_groups.h has what CUDA's header of this name declares.
#pragma once

#include <cooperative_groups.h>
