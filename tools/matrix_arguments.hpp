// What `ladder` and `analyse` are told about the matrix and the rung. All functions throw Error.
#pragma once

#include <string>

#include "workshop/ladder/rung.hpp"

namespace cornerturn::cli {

/// "--shape M,N" and "--dtype TYPE", of which the size alone matters.
ladder::Matrix parse_matrix(const std::string& shape, const std::string& dtype);

/// Throws when the matrix is too large for the emulator, or for the memory that is free.
void require_emulation(const ladder::Matrix& matrix);

/// Says that there is no such rung, and which there are.
[[noreturn]] void refuse_rung(const std::string& argument, const std::string& name);

}  // namespace cornerturn::cli
