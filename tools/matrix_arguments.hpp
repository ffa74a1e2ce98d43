// What `ladder` and `analyse` are told about the matrix and the rung. All functions throw Error.
#pragma once

#include <string>

#include "workshop/ladder/rung.hpp"

namespace cornerturn::cli {

/// "--shape M,N" and "--dtype TYPE", of which the size alone matters.
ladder::Matrix parse_matrix(const std::string& shape, const std::string& dtype);

/// Throws when the emulator needs more memory for the matrix than is free.
void require_memory(const ladder::Matrix& matrix);

/// Says that there is no such rung, and which there are.
[[noreturn]] void refuse_rung(const std::string& argument, const std::string& name);

}  // namespace cornerturn::cli
