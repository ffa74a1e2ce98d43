// Must not compile, and must say why.
#include "maps/swizzle.hpp"

cornerturn::Swizzle<3, 2, 1> overlapping;
