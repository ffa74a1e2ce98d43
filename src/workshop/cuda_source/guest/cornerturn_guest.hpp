// What nvcc knows without any #include, for a CUDA source that is compiled as plain C++. The
// compiler includes this file before the user's first line.
#pragma once

#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <type_traits>
#include <utility>

#include "cornerturn_guest_assembly.hpp"
#include "cornerturn_guest_math.hpp"
#include "cornerturn_guest_memory.hpp"
#include "cornerturn_guest_refused.hpp"
