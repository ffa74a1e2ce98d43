// The version of the headers, and that of the library at run time.
#pragma once

#include "cornerturn/export.hpp"

#define CORNERTURN_VERSION_MAJOR 0
#define CORNERTURN_VERSION_MINOR 1
#define CORNERTURN_VERSION_PATCH 0

namespace cornerturn {

/// "0.1.0": the version of the library that is loaded.
CT_API const char* version() noexcept;

}  // namespace cornerturn
