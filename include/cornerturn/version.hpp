// The version of the headers, and that of the library at run time. It is written here and nowhere
// else: the build, the packages and the documents read it from this file.
#pragma once

#include "cornerturn/export.hpp"

#define CORNERTURN_VERSION_MAJOR 0
#define CORNERTURN_VERSION_MINOR 1
#define CORNERTURN_VERSION_PATCH 0

namespace cornerturn {

/// The version of the library that is loaded, as "major.minor.patch".
CT_API const char* version() noexcept;

}  // namespace cornerturn
